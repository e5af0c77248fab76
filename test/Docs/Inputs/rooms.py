# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks which rooms (folders) of runtime/lib include which.

usage: rooms.py ROOT

MAY_INCLUDE says for each room what it may include: a room may not include one that stands on it. back-edges.txt, next
to this file, lists the includes that break the rule today. The list may only shrink: a new back edge is a problem, and
so is a line whose include is gone.
"""

import pathlib
import re
import sys

BASE = ["core/base"]
PROCESS = BASE + ["core/process"]
DEVICE = PROCESS + ["drivers"]
COMMANDS = DEVICE + ["core/command"]
POINTS = COMMANDS + ["core/timepoint"]
POOLS = POINTS + ["core/pool"]
MODULES = POOLS + ["core/module"]
CONTEXTS = MODULES + ["core/context"]
ENTRIES = CONTEXTS + ["core/abi"]
MAY_INCLUDE = {
    # The base of every room, then devices, then the shim.
    "core/base": [],
    "core/process": BASE,
    "drivers": BASE,
    "core/command": BASE + ["drivers"],
    "drivers/shared": COMMANDS,
    "drivers/cuda": COMMANDS + ["drivers/shared"],
    "drivers/hip": COMMANDS + ["drivers/shared"],
    "drivers/cpu": COMMANDS,
    "core/timepoint": COMMANDS,
    "core/pool": POINTS,
    "core/module": POOLS,
    "core/context": MODULES,
    "core/abi": CONTEXTS,
    # Services stand on the shim.
    "core/services": PROCESS,
    "core/modulepolicy": ENTRIES,
    "core/mirrors": ENTRIES,
    "core/fallback": ENTRIES + ["compat/session"],
    "core/region": ENTRIES,
    "core/stats": ENTRIES,
    "compat/session": ENTRIES,
    "trace": ENTRIES,
    "cache": DEVICE,
    # Libraries of their own.
    "check": ENTRIES,
    "check/adversary": COMMANDS + ["drivers/cpu"],
    "compat": ENTRIES + ["compat/session"],
    "cache/disk": BASE + ["cache"],
    "trace/tracer": POINTS + ["trace"],
    "trace/tracer/shared": ["trace/tracer"],
    "blas": BASE,
    "aot": [],
}

root = pathlib.Path(sys.argv[1])
library = root / "runtime/lib"
listed = (pathlib.Path(__file__).parent / "back-edges.txt").read_text().splitlines()
listed = [line for line in listed if line and not line.startswith("#")]

problems, found, count = [], [], 0
for path in sorted(library.rglob("*")):
    if path.suffix not in (".h", ".cpp", ".inc", ".def"):
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
