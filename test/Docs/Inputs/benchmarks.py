# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the heads of bench/*/run against the list of `./dev bench --help` and a build.

usage: benchmarks.py <bench folder> <list> <build folder>
"""
import pathlib
import re
import subprocess
import sys

bench, listed, build = map(pathlib.Path, sys.argv[1:])
lines = dict(re.findall(r"^  ([\w-]+) +(\S.*)$", listed.read_text(), re.M))
names = sorted(path.parent.name for path in bench.glob("*/run"))
assert names and sorted(lines) == names, (names, lines)
targets = subprocess.run(["ninja", "-C", build, "-t", "targets", "all"], check=True, capture_output=True, text=True).stdout
targets = set(re.findall(r"^([\w-]+): phony$", targets, re.M)) | set(re.findall(r"^(?:.*/)?(?:lib)?([\w-]+)(?:\.so)?: ", targets, re.M))
for name in names:
    text = (bench / name / "run").read_text()
    about, needs = (re.findall(r"^# %s: (.*)$" % key, text, re.M) for key in ("About", "Needs"))
    assert about == [lines[name]] and len(needs) == 1, (name, about, needs)
    unknown = [target for target in needs[0].split() if target not in targets]
    assert not unknown, (name, unknown)
