# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that each statistic of Passes.td is counted by its pass, under its name, and that each count has a statistic.

usage: statistics.py ROOT
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
declared, counted, problems = {}, {}, []
for path in sorted(root.glob("include/GPUAsync/*/Passes.td")):
    for text in re.split(r"^def ", path.read_text(), flags=re.M)[1:]:
        found = set(re.findall(r'Statistic<"(\w+)",\s*"([\w-]+)"', text))
        if found:
            declared[re.match(r"\w+", text)[0].upper()] = found
for path in sorted((root / "lib").rglob("*.cpp")):
    text = path.read_text()
    found = set(re.findall(r'\.count\(\s*(num\w+),\s*"([\w-]+)"', text))
    names = re.findall(r"GEN_PASS_DEF_(\w+)", text)
    for each in found:
        # A file may have several passes.
        name = next((name for name in names if each in declared.get(name, ())), names[0])
        counted.setdefault(name, set()).add(each)
for name in sorted(declared.keys() | counted.keys()):
    for member, word in sorted(declared.get(name, set()) ^ counted.get(name, set())):
        where = "Passes.td" if (member, word) in declared.get(name, set()) else "lib"
        problems.append('%s: %s "%s" is in %s only' % (name, member, word, where))
print("\n".join(problems))
print("%d statistics of %d passes, %d problems" % (sum(map(len, declared.values())), len(declared), len(problems)))
sys.exit(bool(problems) or not declared)
