# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the generated reference has every op and pass, and says what each is.

usage: reference.py <source folder> <folder of the pages>
"""
import pathlib
import re
import sys

root, pages = map(pathlib.Path, sys.argv[1:])
problems = []


def sections(page):
    """The text below each `### ` heading, by the name in it."""
    parts = re.split(r"^### `-?([\w.-]+)`.*\n", (pages / page).read_text(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def check(kind, names, found, needs):
    for name in names:
        text = found.get(name)
        if text is None:
            problems.append("%s %s is not in the reference" % (kind, name))
            continue
        summary = re.search(r"^_(.+)_$", text, re.M)
        # What remains without code, tables and lists of traits is prose.
        prose = re.sub(r"```.*?```", "", text[summary.end():] if summary else "", flags=re.S)
        prose = re.sub(r"^(####|\||<t|Syntax:|Traits:|Interfaces:|Effects:).*", "", prose, flags=re.M)
        if not summary or not re.search(r"\w+ \w+", prose):
            problems.append("%s %s is not described" % (kind, name))
        if needs and needs not in text:
            problems.append("%s %s has no example" % (kind, name))
    problems.extend("the reference has %s %s, which there is not" % (kind, name) for name in sorted(set(found) - set(names)))
    return len(names)


source = "".join(path.read_text() for path in sorted((root / "include/GPUAsync/IR").glob("*Ops.td")))
ops = ["gpu_async." + name for name in re.findall(r'^def \w+\s*: GPUAsync_\w*Op<"([\w.]+)"', source, re.M)]
passes = [name for path in sorted((root / "include/GPUAsync").glob("*/Passes.td"))
          for name in re.findall(r': Pass<"([\w-]+)"', path.read_text())]
counted = (check("op", ops, sections("Dialect.md"), "```mlir"), check("pass", passes, sections("Passes.md"), None))
print("\n".join(problems), file=sys.stderr)  # what a failing test shows
print("\n".join(problems + ["%d ops, %d passes" % counted]))
sys.exit(1 if problems else 0)
