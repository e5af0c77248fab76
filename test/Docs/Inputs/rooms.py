# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks which rooms (folders) of runtime/ include which.

usage: rooms.py ROOT

MAY_INCLUDE says for each room what it may include: a room may not include one that stands on it. back-edges.txt, next
to this file, lists the includes that break the rule today. The list may only shrink: a new back edge is a problem, and
so is a line whose include is gone.
"""

import pathlib
import re
import sys

BASE = ["shim/base"]
PROCESS = BASE + ["shim/process"]
DEVICE = PROCESS + ["device"]
COMMANDS = DEVICE + ["shim/command"]
POINTS = COMMANDS + ["shim/timepoint"]
POOLS = POINTS + ["shim/pool"]
MODULES = POOLS + ["shim/module"]
CONTEXTS = MODULES + ["shim/context"]
ENTRIES = CONTEXTS + ["shim/abi"]
MAY_INCLUDE = {
    # The base of every room, then devices, then the shim.
    "shim/base": [],
    "shim/process": BASE,
    "device": BASE,
    "shim/command": BASE + ["device"],
    "device/vendor": COMMANDS,
    "device/cuda": COMMANDS + ["device/vendor"],
    "device/hip": COMMANDS + ["device/vendor"],
    "device/cpu": COMMANDS,
    "shim/timepoint": COMMANDS,
    "shim/pool": POINTS,
    "shim/module": POOLS,
    "shim/context": MODULES,
    "shim/abi": CONTEXTS,
    "shim/diskcache": DEVICE,
    # Services stand on the shim.
    "services": PROCESS,
    "services/modulepolicy": ENTRIES,
    "services/mirrors": ENTRIES,
    "services/capture": ENTRIES,
    "services/fallback": ENTRIES + ["services/session"],
    "services/hostcopy": ENTRIES,
    "services/graphs": ENTRIES + ["services/hostcopy"],
    "services/stats": ENTRIES,
    "services/session": ENTRIES,
    "services/trace": ENTRIES,
    "services/diskcache": DEVICE + ["shim/diskcache"],
    # Libraries of their own.
    "libs/check": ENTRIES,
    "libs/check/adversary": COMMANDS + ["device/cpu"],
    "libs/mgpu": ENTRIES + ["services/session"],
    "libs/diskcache": BASE + ["shim/diskcache"],
    "libs/trace": POINTS + ["services/trace"],
    "libs/trace/shared": ["libs/trace"],
    "libs/blas": BASE,
    "libs/launcher": BASE,
    "libs/ranks": BASE + ["libs/launcher"],
    "libs/aot": BASE + ["libs/launcher"],
}

root = pathlib.Path(sys.argv[1])
library = root / "runtime"
listed = (pathlib.Path(__file__).parent / "back-edges.txt").read_text().splitlines()
listed = [line for line in listed if line and not line.startswith("#")]

problems, found, count = [], [], 0
for path in sorted(library.rglob("*")):
    if (library / "include") in path.parents or path.suffix not in (".h", ".cpp", ".inc", ".def"):
        continue
    count += 1
    room = str(path.parent.relative_to(library))
    if room not in MAY_INCLUDE:
        problems.append("%s: no line of MAY_INCLUDE says what this folder may include" % room)
        continue
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
        included = next((base / name for base in (path.parent, library) if (base / name).is_file()), None)
        if not included:
            if not (root / "runtime/include" / name).is_file():
                problems.append("%s includes %s, which is not there" % (path.relative_to(library), name))
            continue
        other = str(included.parent.resolve().relative_to(library.resolve()))
        if other != room and other not in MAY_INCLUDE[room]:
            found.append("%s -> %s" % (path.relative_to(library), included.resolve().relative_to(library.resolve())))

for edge in found:
    if edge not in listed:
        problems.append("%s: this include goes up. Move what is shared down, or pass it in" % edge)
for edge in listed:
    if edge not in found:
        problems.append("%s: gone. Delete its line in back-edges.txt" % edge)
if "--list" in sys.argv:
    print("\n".join(found))
for problem in problems:
    print(problem)
    print(problem, file=sys.stderr)  # shown by a test that fails
print("%d files, %d back edges, %d problems" % (count, len(found), len(problems)))
sys.exit(1 if problems else 0)
