# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks docs/reference/Contract.md against the tests, and the tests for gaps without reasons.

usage: contract.py <source folder> [<folder of the docs>]
"""
import fnmatch
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
docs = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "docs"
counts = {"D": 20, "C": 18, "S": 11, "X": 12, "M": 10, "E": 7, "L": 10, "T": 8, "B": 6, "G": 11}
wanted = ["%s%02d" % (letter, n) for letter, most in counts.items() for n in range(1, most + 1)]
problems = []

# Suite.Case -> the file that defines it.
defined, gaps = {}, 0
for path in sorted((root / "test/runtime").rglob("*.[ch]*")):
    text = path.read_text()
    for suite, case in re.findall(r"^ *TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", text, re.M):
        defined["%s.%s" % (suite, case)] = text
    for suite, case in re.findall(r"^FRESH_PROCESS_TEST\((\w+), (\w+)\)", text, re.M):
        defined["%s.%s" % (suite, case)] = text
    for match in re.finditer(r"^( *)TEST\w*\(.*DISABLED_\w+.*$|GTEST_SKIP\(\)(.*)", text, re.M):
        gaps += 1
        line = text.count("\n", 0, match.start())
        before = text.splitlines()[line - 1]
        reason = "<<" in match.group(0) if "GTEST_SKIP" in match.group(0) else before.lstrip().startswith("//")
        if "##" not in match.group(0) and not reason:
            problems.append("%s:%d: a test is skipped or disabled without a reason" % (path.relative_to(root), line + 1))
for path in sorted((root / "test").rglob("*")):
    if path.suffix not in (".mlir", ".test") or "Inputs" in path.parts:
        continue
    lines = path.read_text().splitlines()
    for number, line in enumerate(lines):
        if re.match(r"(//|#) (REQUIRES|UNSUPPORTED|XFAIL):", line):
            gaps += 1
            before = lines[number - 1]
            if not re.match(r"(//|#) ", before) or "RUN:" in before or "SPDX" in before:
                problems.append("%s:%d: no reason before it" % (path.relative_to(root), number + 1))

suites = re.findall(r"^    \"([\w-]+)\": \(", (root / "test/suites.py").read_text(), re.M)
rows, names = {}, 0
for line in (docs / "reference/Contract.md").read_text().splitlines():
    match = re.match(r"\| ([DCSXMELTBG]\d\d) \|[^|]*\| (.*) \|$", line)
    if not match:
        continue
    number, held = match.groups()
    if number in rows:
        problems.append("%s: two rows" % number)
    rows[number] = held
    named = False  # some file of a test names the number
    for name in re.findall(r"`([^`]+)`", held):
        if name == "DeviceTest":
            continue
        names += 1
        if name.startswith("./dev test "):
            if name.split()[-1] not in suites:
                problems.append("%s: there is no suite %s" % (number, name))
        elif "/" in name:
            path = root / name if name.startswith("bench/") else root / "test" / name
            if not path.exists():
                problems.append("%s: there is no file %s" % (number, name))
            else:
                named |= number in path.read_text()
        else:
            found = [text for test, text in defined.items() if fnmatch.fnmatchcase(test, name)]
            if not found:
                problems.append("%s: there is no test %s" % (number, name))
            named |= any(re.search(r"(?<![A-Za-z0-9])%s(?![0-9])" % number, text) for text in found)
    for page in re.findall(r"(Runtime|Testing)\.md", held):
        if number not in (docs / "reference" / (page + ".md")).read_text():
            problems.append("%s: docs/reference/%s.md does not name it" % (number, page))
        named = True
    if not named:
        problems.append("%s: no file of its tests names it" % number)
problems += ["%s: no row" % number for number in wanted if number not in rows]
problems += ["%s: no such line" % number for number in rows if number not in wanted]

for problem in problems:
    print(problem)
    print(problem, file=sys.stderr)  # what a failing test shows
print("%d lines, %d names of tests, %d gaps with reasons" % (len(rows), names, gaps))
sys.exit(1 if problems else 0)
