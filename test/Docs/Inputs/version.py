# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that all that says a version says that of runtime/version.txt.

usage: version.py <source folder> <build folder>
"""
import pathlib
import re
import subprocess
import sys

root, build = map(pathlib.Path, sys.argv[1:])
version = (root / "runtime/version.txt").read_text().strip()
problems, places = [], 0


def compare(what, text, pattern):
    global places
    places += 1
    found = re.search(pattern, text)
    if not found or found.group(1) != version:
        problems.append("%s says %s, and runtime/version.txt %s" % (what, found and found.group(1), version))


compare("gpu-runner --version", subprocess.run([build / "bin/gpu-runner", "--version"], capture_output=True, text=True).stdout,
        r"gpu-runner ([\d.]+)")
compare("the package of CMake", (build / "GPUAsyncConfigVersion.cmake").read_text(), r'PACKAGE_VERSION "([\d.]+)"')
compare("gpuasync.pc", (build / "gpuasync.pc").read_text(), r"Version: ([\d.]+)")
package = build / "python/gpu_async/_version.py"
if package.exists():
    compare("the package of Python", package.read_text(), r'__version__ = "([\d.]+)"')

# A section for what is not released is on top of those of versions.
changes = (root / "CHANGELOG.md").read_text() if (root / "CHANGELOG.md").exists() else ""
if not re.search(r"^## \[?%s\b" % re.escape(version), changes, re.M):
    problems.append("CHANGELOG.md has no entry of %s" % version)
# Nobody else says it.
for pattern in ("CMakeLists.txt", "runtime/CMakeLists.txt", "python/**/*.py", "cmake/*"):
    for path in root.glob(pattern):
        for own in re.findall(r"(?:VERSION |__version__ = [\"'])(\d+\.\d+\.\d+)", path.read_text(errors="replace")):
            problems.append("%s says %s itself" % (path.relative_to(root), own))

print("\n".join(problems) or "%d places say %s" % (places, version))
sys.exit(1 if problems else 0)
