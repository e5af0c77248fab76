#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the wheel of gpu_async from a build folder: one for Python 3.11 and later.

usage: wheel.py <build folder> <dist folder> [--fast]      (called by ./dev package)

In it are the package, libgpuasync.so and the runtime, the commands gpu-runner, gpu-opt and
gpu-async-timeline, and what these need that is neither glibc nor the C++ library. --fast compresses little, for tests. Wants strip and patchelf; downloads nothing.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile

LIMIT = 60_000_000
GLIBC = (2, 36)
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux\S*)\.so")
# Does not import the package, which would load all of it.
COMMAND = """#!python
import importlib.util, os, sys
folder = importlib.util.find_spec("gpu_async").submodule_search_locations[0]
os.execv(os.path.join(folder, "bin", "%s"), sys.argv)
"""
root = pathlib.Path(__file__).resolve().parent.parent


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def needed(library):
    """The files of libraries that a library loads, by the names it asks for."""
    return dict(re.findall(r"^\s*(\S+) => (/\S+)", run("ldd", library), re.M))


def place(source, target, runpath):
    shutil.copyfile(source, target)
    run("strip", "--strip-unneeded", target)
    run("patchelf", "--set-rpath", runpath, target)


def main():
    build, dist = map(pathlib.Path, sys.argv[1:3])
    level = 1 if "--fast" in sys.argv[3:] else 9
    version = re.search(r"^CMAKE_PROJECT_VERSION:STATIC=(.*)$", (build / "CMakeCache.txt").read_text(), re.M).group(1)
    machine = os.uname().machine
    package = build / "python/gpu_async"
    binding = package / "_binding.abi3.so"
    if not binding.exists():
        sys.exit("wheel.py: there is no %s; Python's headers are missing (python3-dev), or libgpuasync.so is" % binding)
    with tempfile.TemporaryDirectory() as scratch:
        stage = pathlib.Path(scratch)
        shutil.copytree(package, stage / "gpu_async", ignore=shutil.ignore_patterns("__pycache__", binding.name, "bin"))
        libraries = stage / "gpu_async/lib"
        libraries.mkdir()
        place(binding, stage / "gpu_async" / binding.name, "$ORIGIN/lib")
        for name, path in needed(binding).items():
            if not SYSTEM.match(name):
                place(path, libraries / name, "$ORIGIN")
                # Opened, where blas="auto" asks for it.
                blas = pathlib.Path(path).parent / name.replace("gpuasync_runtime", "gpuasync_blas")
                if name.startswith("libgpuasync_runtime.") and blas.exists():
                    place(blas, libraries / blas.name, "$ORIGIN")
        # Libraries that the runtime and gpu-runner open on demand, and the one that --emit=shared and exe link.
        for opened in "check", "diskcache", "ranks", "trace":
            place(build / ("lib/libgpuasync_%s.so" % opened), libraries / ("libgpuasync_%s.so.0" % opened), "$ORIGIN")
        shutil.copyfile(build / "lib/libgpuasync_aot.a", libraries / "libgpuasync_aot.a")
        commands = stage / "gpu_async/bin"
        commands.mkdir()
        for command in "gpu-runner", "gpu-opt":
            place(package / "bin" / command, commands / command, "$ORIGIN/../lib")
        for file in [stage / "gpu_async" / binding.name, *libraries.glob("*.so*"), *commands.iterdir()]:
            asked = {tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([\d.]+)", run("objdump", "-T", file))}
            if max(asked) > GLIBC:
                sys.exit("wheel.py: %s needs glibc %s" % (file.name, ".".join(map(str, max(asked)))))

        tag = "cp311-abi3-manylinux_%d_%d_%s" % (*GLIBC, machine)
        # pip puts them where commands are, with its Python in the first line.
        scripts = stage / ("gpu_async-%s.data/scripts" % version)
        scripts.mkdir(parents=True)
        for command in "gpu-runner", "gpu-opt":
            (scripts / command).write_text(COMMAND % command)
        timeline = (package / "timeline.py").read_text()
        (scripts / "gpu-async-timeline").write_text("#!python\n" + timeline.partition("\n")[2])
        info = stage / ("gpu_async-%s.dist-info" % version)
        info.mkdir()
        (info / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: gpu-async\nVersion: %s\nSummary: GPU programs in MLIR, compiled and called from Python\n"
            "License: Apache-2.0 WITH LLVM-exception\nRequires-Python: >=3.11\nLicense-File: LICENSE\n" % version)
        (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: gpu-async\nRoot-Is-Purelib: false\nTag: %s\n" % tag)
        shutil.copyfile(root / "LICENSE", info / "LICENSE")

        dist.mkdir(parents=True, exist_ok=True)
        wheel = dist / ("gpu_async-%s-%s.whl" % (version, tag))
        record = []
        # It has its name once it is complete; nobody can guess where it is before.
        with tempfile.TemporaryDirectory(prefix=".gpu-async-", dir=dist) as folder:
            made = pathlib.Path(folder) / wheel.name
            with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
                for file in sorted(path for path in stage.rglob("*") if path.is_file()):
                    data, name = file.read_bytes(), str(file.relative_to(stage))
                    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                    record.append("%s,sha256=%s,%d\n" % (name, digest, len(data)))
                    entry = zipfile.ZipInfo(name)  # of 1980: the same bytes each time
                    entry.external_attr = (0o100755 if re.search(r"\.so|/bin/|/scripts/", name) else 0o100644) << 16
                    archive.writestr(entry, data, zipfile.ZIP_DEFLATED, compresslevel=level)
                own = "%s/RECORD" % info.name
                archive.writestr(zipfile.ZipInfo(own), "".join(record) + own + ",,\n", zipfile.ZIP_DEFLATED)
            made.replace(wheel)
    size = wheel.stat().st_size
    print("%s: %d.%d MB" % (wheel, size // 1000000, size // 100000 % 10))
    if size > LIMIT:
        sys.exit("wheel.py: it is over %d MB" % (LIMIT // 1000000))


main()
