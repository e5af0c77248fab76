# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the blocks of README.md and docs/ as they are written.

usage: commands.py <source folder> <build folder> <scratch folder> [<page>..]

Each page has a checkout of its own in the scratch folder, whose build/release is
<build folder>, and an empty $HOME: who reads it has read README.md, whose exports
they all have, and none of the others. What a fenced block is, its language says; a
comment before it, <!-- test: ... -->, says more:

  ```sh         commands; they must succeed
  ```           what the commands before it print. Numbers stand for any numbers,
                ... for anything, a line of ... for any lines
  ```mlir       gpu-opt must take it
  ```c++        compiled in a template of Inputs/snippets, and linked if that has a main
  ```c          a file, which commands compile
  ```cmake      a file, or configured and built in a template of Inputs/snippets

  skip REASON           is not run
  fails                 the commands must fail
  exact                 the output is this one
  as s/A/B/             the commands are changed: a thousand programs are too many
  with NAME=PATH        NAME is a copy of the project's file PATH
  file NAME             the block is written to NAME, for what follows
  in TEMPLATE           of c++ and cmake

Several are separated by semicolons. A block of another kind, and code that is
indented in place of being fenced, is an error.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

source, build, scratches = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
llvm = pathlib.Path("/usr/lib/llvm-22")
snippets = pathlib.Path(__file__).resolve().parent / "snippets"
problems, lines = [], []


class Block:
    def __init__(self, page, number, kind, directives, text):
        self.page, self.number, self.kind, self.text = page, number, kind, text
        self.directives = {}
        for directive in directives.split(";") if directives else []:
            name, _, value = directive.strip().partition(" ")
            if name not in ("skip", "fails", "exact", "as", "with", "file", "in"):
                problem(self, "there is no directive '%s'" % name)
            if name == "skip":
                value = directives.partition("skip")[2].strip()
                if not value:
                    problem(self, "skip wants a reason")
                self.directives["skip"] = value
                break
            self.directives.setdefault(name, []).append(value)


def problem(block, text):
    problems.append("%s:%d: %s" % (block.page, block.number, text))


def blocks(page):
    """The fenced blocks of a page."""
    found, fence, comment = [], None, ""
    text = (source / page).read_text().splitlines()
    for number, line in enumerate(text, 1):
        if fence is None:
            opened = re.match(r"( *)```(\S*)\s*$", line)
            marker = re.match(r"\s*<!-- test: (.*) -->\s*$", line)
            if opened:
                fence, start, kind, body = opened.group(1), number, opened.group(2), []
            elif marker:
                comment = marker.group(1)
            elif line.strip():
                comment = ""
                if line.startswith("    ") and not text[number - 2].strip():
                    problems.append("%s:%d: code that is indented; use a fence and say what it is" % (page, number))
        elif line.strip() == "```":
            found.append(Block(page, start, kind, comment, "".join(l[len(fence):] + "\n" for l in body)))
            fence, comment = None, ""
        else:
            body.append(line)
    if fence is not None:
        problems.append("%s:%d: a block that does not end" % (page, start))
    return found


def expected(text, exact):
    """A pattern of what a block shows."""
    if exact:
        return re.escape(text)
    pattern = ""
    for line in text.splitlines():
        if line.strip() == "...":
            pattern += r"(.*\n)*?"
            continue
        pattern += " *"
        parts = re.split(r"(\d+(?:\.\d+)?| +|\.\.\.)", line.strip())
        for part in parts:
            pattern += (r"\d+(\.\d+)?" if re.match(r"\d", part) else r"\s+" if part.isspace()
                        else r".*" if part == "..." else re.escape(part))
        pattern += r"\s*\n"
    return pattern


def prepare(scratch):
    """A checkout with a build folder of its own, which is the one that is tested."""
    checkout, tools = scratch / "checkout", scratch / "tools"
    (checkout / "build").mkdir(parents=True)
    tools.mkdir()
    (scratch / "home").mkdir()
    for entry in source.iterdir():
        if entry.name not in ("build", "dist", ".git"):
            (checkout / entry.name).symlink_to(entry)
    (checkout / "build/release").symlink_to(build)
    # Everything is built already, and another program may be building.
    # $HOME may lie below this build folder: only its own name as an argument counts.
    (tools / "ninja").write_text("#!/bin/sh\nfor a; do [ \"$a\" != build/release ] || exit 0; done\nexec /usr/bin/ninja \"$@\"\n")
    (tools / "ninja").chmod(0o755)
    path = [tools, "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIT_")}
    environment.update(PATH=":".join(map(str, path)), HOME=str(scratch / "home"), CXX="clang++-22", CC="clang-22")
    return checkout, environment


def exported(text):
    """Its exports, which hold for the commands behind it."""
    return "".join(re.findall(r"^export .*\n", text, re.M))


def execute(command, cwd, environment):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=cwd, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=500)
    return done.returncode, done.stdout


def fill(block, suffix):
    """The template that a block names, with the block in it."""
    (name,) = block.directives["in"]
    text = (snippets / (name + suffix)).read_text()
    includes = "".join(re.findall(r"^#include .*\n", block.text, re.M))
    rest = re.sub(r"^#include .*\n", "", block.text, flags=re.M)
    if "@BLOCK@" not in text:
        problem(block, "the template has no @BLOCK@")
    for place, code in ("INCLUDES", includes), ("BLOCK", rest):
        text = re.sub(r"^\W* @%s@\n" % place, lambda match: code, text, flags=re.M)
    return name, text


def run(page):
    scratch = scratches / page.removesuffix(".md").replace("/", "-")  # pages of two folders may share a name
    checkout, environment = prepare(scratch)
    readme = source / "README.md"
    exports = exported(readme.read_text()) if page != "README.md" and readme.exists() else ""
    printed = None
    for block in blocks(page):
        skip = block.directives.get("skip")
        before = len(problems)
        for pair in block.directives.get("with", []):
            name, _, path = pair.partition("=")
            shutil.copy(source / path, checkout / name)
        if "file" in block.directives:
            (checkout / block.directives["file"][0]).write_text(block.text)
        if skip is not None:
            printed = None
        elif block.kind == "sh":
            command = block.text
            for change in block.directives.get("as", []):
                _, old, new, _ = change.split(change[1])
                if old not in command:
                    problem(block, "'%s' is not in the commands" % old)
                command = command.replace(old, new)
            code, printed = execute(exports + command, checkout, environment)
            exports += exported(command)
            if (code != 0) != ("fails" in block.directives):
                problem(block, "exit code %d\n%s\n%s" % (code, command, printed[-3000:]))
        elif block.kind in ("", "text"):
            if printed is None:
                problem(block, "output of nothing: no commands before it were run")
            elif not re.search(r"(^|\n)" + expected(block.text, "exact" in block.directives), printed):
                problem(block, "the commands before it print something else:\n%s" % printed[-3000:])
        elif block.kind == "mlir":
            (scratch / "block.mlir").write_text(block.text)
            code, output = execute("'%s/bin/gpu-opt' '%s' -o /dev/null" % (build, scratch / "block.mlir"), checkout, environment)
            if code != 0:
                problem(block, output)
        elif block.kind == "c++" and ("in" in block.directives or "file" in block.directives):
            if "in" in block.directives:
                name, text = fill(block, ".cpp")
                (scratch / (name + ".cpp")).write_text(text)
                command = "clang++-22 -std=c++17 -Wall -Werror -I'%s/runtime/include' '%s.cpp' " % (source, scratch / name)
                if "int main(" in text:
                    command += "-L'%s/lib' -lgpuasync_runtime -Wl,-rpath,'%s/lib' -o '%s'" % (build, build, scratch / name)
                else:
                    command += "-fsyntax-only -I'%s/include' -I'%s/include' -isystem %s/include" % (source, build, llvm)
                code, output = execute(command, checkout, environment)
                if code != 0:
                    problem(block, output)
        elif block.kind == "cmake" and "in" in block.directives:
            name, text = fill(block, ".cmake")
            folder = scratch / name
            folder.mkdir()
            (folder / "CMakeLists.txt").write_text(text)
            code, output = execute("cmake -S '%s' -B '%s/build' -G Ninja && ninja -C '%s/build'" % (folder, folder, folder),
                                   checkout, environment)
            if code != 0:
                problem(block, output[-3000:])
        elif block.kind in ("c", "cmake") and "file" in block.directives:
            pass  # the commands behind it compile it
        else:
            problem(block, "what is a block of '%s'? See Inputs/commands.py" % block.kind)
        outcome = "skipped: " + skip if skip is not None else "wrong" if len(problems) > before else "ok"
        lines.append("%s:%d: %s: %s" % (page, block.number, block.kind or "output", outcome))


shutil.rmtree(scratches, ignore_errors=True)
pages = sys.argv[4:] or ["README.md"] + sorted(str(page.relative_to(source)) for page in (source / "docs").rglob("*.md"))
for page in pages:
    run(page)
print("\n".join(lines))
sys.stdout.flush()
print("\n".join(problems), file=sys.stderr)  # what a failing test shows whole
sys.stderr.flush()
print("%d blocks, %d skipped, %d problems" % (len(lines), sum("skipped:" in line for line in lines), len(problems)))
sys.exit(1 if problems else 0)
