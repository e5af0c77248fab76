# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that docs/reference/Upstream.md has every option of the upstream passes that it names.

usage: upstream.py <page> <mlir-opt>
"""
import re
import subprocess
import sys

page, opt = sys.argv[1:]
shown = subprocess.run([opt, "--help"], check=True, capture_output=True, text=True).stdout
problems, count = [], 0
text = open(page).read().split("## Passes", 1)[1].split("\n## ", 1)[0]
for table in re.split(r"\n(?=\| `[\w-]+` \| here \|\n)", text)[1:]:
    name = re.match(r"\| `([\w-]+)`", table).group(1)
    rows = re.findall(r"^\| (`.*?) \|", table.split("|---|---|")[1], re.M)
    listed = {option for row in rows for option in re.findall(r"`([\w-]+)`", row)}
    entry = re.search(r"^      --%s +- .*\n((?:        +.*\n)*)" % re.escape(name), shown, re.M)
    if not entry:
        problems.append("mlir-opt has no %s" % name)
        continue
    options = set(re.findall(r"^        --?([\w-]+)", entry.group(1), re.M))
    count += len(options)
    problems += ["option %s of %s is not in the page" % (option, name) for option in sorted(options - listed)]
    problems += ["%s has no option %s" % (name, option) for option in sorted(listed - options)]
print("\n".join(problems), file=sys.stderr)  # what a failing test shows
print("\n".join(problems + ["%d options" % count]))
sys.exit(1 if problems else 0)
