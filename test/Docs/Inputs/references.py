# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Looks after what the project's files refer to.

- No file refers to anything outside of the project, or to an issue by number.
- A link of a page leads to a file of the project, and to a heading that is there.
- What docs/Map.md names is there, and it names every folder.

usage: references.py <source folder>
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1]).resolve()
skipped = {".git", "build", "dist", "__pycache__", ".cache"}
outside = re.compile(r"\.\./shared\b|\b[Ii]ssue #?[0-9]+|\bREQUIREMENTS\b|\bDESIGN(\.md| section)|\bSTYLE\.md|(?<![\w.])/work/")
problems = []


def files(folder):
    for path in sorted(folder.iterdir()):
        if path.name in skipped or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", text, re.M)}


def checkLinks(page, text):
    text = re.sub(r"^(```+).*?^\1", "", text, flags=re.M | re.S)  # a lambda of C++ looks like a link
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (page.parent / name).resolve() if name else page
        if root not in path.parents:
            problems.append("%s: the link %s leads out of the project" % (page.relative_to(root), target))
        elif not path.exists():
            problems.append("%s: the link %s leads nowhere" % (page.relative_to(root), target))
        elif anchor and anchor not in anchors(path):
            problems.append("%s: no heading for the link %s" % (page.relative_to(root), target))


count = 0
for path in files(root):
    data = path.read_bytes()
    if b"\0" in data or path == pathlib.Path(__file__).resolve():
        continue
    count += 1
    text = data.decode("utf-8", "replace")
    for match in outside.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        problems.append("%s:%d: refers to what is not in the project: %s" % (path.relative_to(root), line, match.group(0)))
    if path.suffix == ".md":
        checkLinks(path, text)

map_page = (root / "docs/Map.md").read_text()
rows = [line.split("|")[1] for line in map_page.splitlines() if line.startswith("| `")]
named = {name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)}
for name in sorted(named):
    if not (root / name).exists():
        problems.append("docs/Map.md names %s, which is not there" % name)
# Folders that hold folders are named by these, folders like Inputs by their test.
for pattern in ("*", "include/GPUAsync/*", "lib/*", "tools/*", "runtime/*", "runtime/*/*",
                "test/*", "test/runtime/*", "bench/*", "examples/*"):
    for folder in sorted(root.glob(pattern)):
        name = str(folder.relative_to(root))
        if not folder.is_dir() or folder.name in skipped or folder.name.startswith("."):
            continue
        if name not in named and not any(other.startswith(name + "/") for other in named) \
                and "`%s/`" % folder.name not in map_page:
            problems.append("docs/Map.md does not name %s/" % name)
# A library's README names the rooms of the library.
for folder in sorted(root.glob("lib/*/*/")):
    if folder.is_dir() and "`%s/`" % folder.name not in (folder.parent / "README.md").read_text():
        problems.append("%s/README.md does not name `%s/`" % (folder.parent.relative_to(root), folder.name))

for problem in problems:
    print(problem)
    print(problem, file=sys.stderr)  # what a failing test shows
print("%d files, %d folders in the map" % (count, len(named)))
sys.exit(1 if problems else 0)
