# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# For ../cache*.mlir: usage: cache.py RUNNER FILE WORK-FOLDER TEST [ARGUMENT..]
#   keys        what changes the result is in the key, and nothing else is
#   damage      every entry that is there is changed by one byte
#   foreign     an entry that is whole but holds no program
#   together    processes that start at the same time
#   addresses   processes at other addresses write the same bytes

import ctypes
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys

runner, file, work, test = sys.argv[1:5]
os.makedirs(work, exist_ok=True)
cache = os.path.join(work, "cache")
stats = os.path.join(work, "stats.json")


def command(arguments, folder=cache, program=file):
    return [runner, "--cache=" + folder, "--stats=" + stats, "--device=cpu", program] + arguments


def run(arguments, environment={}, **rest):
    """What the run did with the cache."""
    done = subprocess.run(command(arguments, **rest), stdin=open(file), capture_output=True,
                          text=True, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    with open(stats) as lines:
        return json.loads(lines.readline())["disk_cache"]


def machine_code(arguments):
    return subprocess.run([runner, "--emit=object", file] + arguments, capture_output=True, check=True).stdout


def entries(folder=cache):
    return sorted(os.listdir(folder))


def expect(what, use, program):
    jobs = {"hit": 0, "miss": 1}[program]
    assert (use["program"], use["compile_jobs"]) == (program, jobs), "%s: %s" % (what, use)


def other_values():
    """(argument, whether its option is in the key) for each option of Options.def that gpu-runner takes."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 4)
    spec = importlib.util.spec_from_file_location("options", os.path.join(root, "docs", "options.py"))
    options = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(options)
    words = {}
    rows = options.read(root)
    for kind, row in rows:
        if kind == "WORD":
            words.setdefault(row["type"], {})["%s::%s" % (row["type"], row["value"])] = row["word"]
    for kind, row in rows:
        if kind not in ("OPTION", "TOOL_OPTION") or "Runner" not in row["tools"]:
            continue
        number = {"WholeNumber": ("0", "2"), "SubgroupSize": ("16",)}
        known = words.get(row["type"]) or {value: value for value in number.get(row["range"], ())}
        assert known or row["type"] == "bool", "no value is known of the range %(range)s of --%(name)s" % row
        name, isCode = "--" + row["name"], row["changes"] == "Code"
        for value, word in known.items() if row["type"] != "bool" else ():
            if value != row["default"]:
                yield name + "=" + word, isCode
        if row["type"] == "bool":
            yield name, isCode


def keys():
    shutil.rmtree(cache, ignore_errors=True)
    base = ["--input=3"]
    expect("first", run(base), "miss")
    expect("again", run(base), "hit")

    # What only says how to run.
    for same in (["--repeat=3"], ["--benchmark"], ["--timeout=100"], ["--leak-check=error"],
                 ["--output=-"], ["--shared-libs=" + sys.argv[5]], ["-O3"], ["--targets=cpu"],
                 ["--entry-point=main"]):
        expect(same, run(base + same), "hit")
    expect("another input", run(["--input=4"]), "hit")
    expect("the order of options", run(["--repeat=2"] + base), "hit")
    for name in ("GPU_ASYNC_SPIN_US", "GPU_ASYNC_SYNC_LAUNCHES", "UNKNOWN"):
        expect(name, run(base, {name: "1"}), "hit")
    assert len(entries()) == 1, entries()

    # What decides the result: the first run with it compiles, the second not.
    changed = os.path.join(work, "changed.mlir")
    with open(file) as before, open(changed, "w") as after:
        after.write(before.read() + "// One more comment.\n")
    renamed = os.path.join(work, "renamed.mlir")
    shutil.copy(file, renamed)
    toolkit = os.path.join(work, "toolkit")
    os.makedirs(os.path.join(toolkit, "bin"), exist_ok=True)
    os.makedirs(os.path.join(toolkit, "nvvm", "libdevice"), exist_ok=True)
    for tool in ("bin/ptxas", "nvvm/libdevice/libdevice.10.bc"):
        path = os.path.join(toolkit, tool)
        with open(path, "w") as text:
            text.write("#!/bin/false\n")
        os.chmod(path, 0o755)
    tools = {"CUDA_ROOT": toolkit, "PATH": os.path.join(toolkit, "bin") + ":" + os.environ["PATH"]}
    rocm = os.path.join(work, "rocm")
    bitcode = os.path.join(rocm, "amdgcn", "bitcode")
    os.makedirs(bitcode, exist_ok=True)
    for library in ("ocml.bc", "ockl.bc"):
        with open(os.path.join(bitcode, library), "w") as text:
            text.write("no bitcode\n")
    different = [("-O0", base + ["-O0"], {}), ("-O1", base + ["-O1"], {}), ("-O2", base + ["-O2"], {}),
                 ("entry point", ["-e", "other"], {}),
                 ("entry point's result", base + ["--entry-point-result=i32"], {}),
                 ("targets", base + ["--targets=cpu,nvptx:sm_90"], {}),
                 ("another target", base + ["--targets=cpu,nvptx:sm_80"], {}),
                 ("a toolkit", base, tools),
                 ("ROCm", base, {"ROCM_PATH": rocm}),
                 ("loaded code", base, {"LD_PRELOAD": sys.argv[5]})]
    programs = [("another file", changed), ("file name", renamed), ("standard input", "-")]
    number = 1
    for what, arguments, environment in different:
        expect(what, run(arguments, environment), "miss")
        number += 1
        assert len(entries()) == number, what
        expect(what + " again", run(arguments, environment), "hit")
    # The table says which options are in the key, and the object which ones have to be.
    plain, count = machine_code([]), 0
    for argument, isCode in other_values():
        count += 1
        if argument in ("--place=off", "--stream=caller"):  # not for programs that run here
            continue
        expect(argument, run(base + [argument]), "miss" if isCode else "hit")
        number += isCode
        assert len(entries()) == number, argument
        expect(argument + " again", run(base + [argument]), "hit")
        assert isCode or machine_code([argument]) == plain, argument + " changes the object, but is not in the key"
    assert count > 10, count
    for what, program in programs:
        expect(what, run(base, program=program), "miss")
        number += 1
        assert len(entries()) == number, what
        expect(what + " again", run(base, program=program), "hit")
    # Contents count, not their place alone.
    with open(changed, "a") as text:
        text.write("// And another one.\n")
    expect("a change in place", run(base, program=changed), "miss")
    with open(os.path.join(toolkit, "bin", "ptxas"), "a") as text:
        text.write("# new version\n")
    expect("another ptxas", run(base, tools), "miss")
    with open(os.path.join(toolkit, "nvvm/libdevice/libdevice.10.bc"), "a") as text:
        text.write("# new version\n")
    expect("another libdevice", run(base, tools), "miss")
    with open(os.path.join(bitcode, "ockl.bc"), "a") as text:
        text.write("new version\n")
    expect("another ockl.bc", run(base, {"ROCM_PATH": rocm}), "miss")
    with open(os.path.join(bitcode, "oclc_isa_version_942.bc"), "w") as text:
        text.write("no bitcode\n")
    expect("one chip more", run(base, {"ROCM_PATH": rocm}), "miss")
    expect("one chip more again", run(base, {"ROCM_PATH": rocm}), "hit")
    expect("first", run(base), "hit")


def damage():
    for name in entries():
        with open(os.path.join(cache, name), "r+b") as entry:
            data = bytearray(entry.read())
            data[len(data) // 2] ^= 1
            entry.seek(0)
            entry.write(data)


def foreign():
    """The form of an entry is in runtime/shim/diskcache/DiskCache.cpp."""
    for name in entries():
        for payload in (b"", b"x" * 7, b"\xff" * 64, (1).to_bytes(8, "little") + b"9"):
            head = b"GPUACACH" + (1).to_bytes(8, "little") + bytes.fromhex(name)
            head += len(payload).to_bytes(8, "little")
            with open(os.path.join(cache, name), "wb") as entry:
                entry.write(head + hashlib.sha256(head + payload).digest() + payload)
            use = run(["--input=3"])
            assert (use["hits"], use["damaged"]) == (1, 0), use
            expect("no program inside", use, "miss")
            expect("rewritten", run(["--input=3"]), "hit")


def together():
    shutil.rmtree(cache, ignore_errors=True)
    for rest in ("", " again"):
        started = [subprocess.Popen(command(["--input=3"]), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True) for _ in range(6)]
        for process in started:
            out, err = process.communicate()
            assert (process.returncode, out) == (0, "result[0]: i32=10\n"), (out, err)
            assert "error" not in err and "warning" not in err, err
        assert len(entries()) == 1, entries()
    expect("after them", run(["--input=3"]), "hit")


def addresses():
    fixed = 0x0040000  # ADDR_NO_RANDOMIZE
    seen = {}
    for number, how in enumerate((0, 0, fixed)):
        folder = os.path.join(work, "cache%d" % number)
        shutil.rmtree(folder, ignore_errors=True)
        set_personality = ctypes.CDLL(None).personality
        done = subprocess.run(command(["--input=3"], folder), capture_output=True, text=True,
                              preexec_fn=lambda: set_personality(how))
        assert done.returncode == 0, done.stderr
        for name in entries(folder):
            with open(os.path.join(folder, name), "rb") as entry:
                seen.setdefault(name, set()).add(entry.read())
    assert len(seen) == 1 and len(list(seen.values())[0]) == 1, seen.keys()
    # Nor the folder that it was made in, or the time.
    data = list(seen.values())[0].pop()
    assert work.encode() not in data and os.getcwd().encode() not in data


{"keys": keys, "damage": damage, "foreign": foreign, "together": together, "addresses": addresses}[test]()
