# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that pages and code know the same options, environment variables and names.

usage: options.py <source folder> [<folder of the docs>]
"""
import importlib.util
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
docs = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else root / "docs"
problems = []


spec = importlib.util.spec_from_file_location("made", root / "docs/options.py")
made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)


def page(name):
    return (docs / "reference" / name).read_text()


def text(*folders):
    return "\n".join(path.read_text(errors="replace") for folder in folders for path in sorted((root / folder).rglob("*"))
                     if path.is_file() and path.suffix in (".cpp", ".h", ".td", ".def", ".py", ".cmake", ""))


def compare(what, code, where, documented):
    problems.extend("%s %s is not in %s" % (what, name, where) for name in sorted(set(code) - set(documented)))
    problems.extend("%s has %s %s, which there is not" % (where, what, name) for name in sorted(set(documented) - set(code)))
    return len(set(code))


# Environment: what the runtime and the tools read is in one table, what tests and
# scripts read in Testing.md.
counted = []
variable = r"\bGPU_ASYNC_[A-Z_]+[A-Z]\b"
read = set(re.findall('"(%s)"' % variable, text("runtime", "lib", "tools")))
table = page("Runtime.md").split("## Environment", 1)[1].split("\n## ", 1)[0]
rows = "\n".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| `"))
counted.append("%d variables" % compare("variable", read, "Runtime.md's table", re.findall(variable, rows)))
tested = set(re.findall(r'(?:getenv|environ\.get)\("(GPU_?ASYNC_[A-Z_]+)"', text("test"))) - read
problems += ["variable %s is not in Testing.md" % name for name in sorted(tested) if name not in page("Testing.md")]
# The environment of a setuid program is ignored: there is one place in the runtime
# and one in the compiler that ask it.
asking = r"\b(?:std::|secure_)?getenv\(|Process::GetEnv\(|findProgramByName\(|\bcreateTemporaryFile\("
places = {"runtime/shim/base/Settings.h", "lib/Kernels/Common/Environment.cpp"}
for folder in "runtime", "lib", "tools", "python/binding":
    for path in sorted((root / folder).rglob("*.*")):
        name = str(path.relative_to(root))
        if path.suffix in (".cpp", ".h") and name not in places and re.search(asking, path.read_text()):
            problems.append("%s asks the environment itself; Settings.h or Environment.h do it" % name)
every = set(re.findall(variable, "\n".join(path.read_text() for path in docs.rglob("*.md"))))
# The package for Python has its own, in its page.
packaged = set(re.findall('"(%s)"' % variable, "\n".join(path.read_text() for path in (root / "python").rglob("*.py"))))
problems += ["variable %s is not in Python.md" % name for name in sorted(packaged) if name not in page("Python.md")]
known = read | tested | packaged | set(re.findall(variable, (root / "dev").read_text()))
problems += ["the pages name %s, which nobody reads" % name for name in sorted(every - known)]

# Options of compilations: one table, of which their page is made.
table = made.read(root)
if made.replace(page("Options.md"), made.tables(root)) != page("Options.md"):
    problems.append("Options.md is not what docs/options.py makes of Options.def")
shared = {"--" + row["name"] for kind, row in table if kind in ("OPTION", "TOOL_OPTION") and "Runner" in row["tools"]}
counted.append("%d options of compilations" % sum(kind.endswith("OPTION") for kind, row in table))

# An option that is no row of the table is not in the disk cache's key.
for name, struct, reports in (("lib/Execution/CompileOptions.h", "CompileOptions", {"printIRAfter", "printSchedule", "writeFile"}),
                              ("lib/Library/Options.h", "LibraryOptions", {"compile", "keepsArrays"})):
    body = (root / name).read_text().split("struct %s {\n" % struct, 1)[1].split("\n};", 1)[0]
    body = re.sub(r"^#(?:.*\\\n)*.*|//.*", "", body, flags=re.M)
    members = set(re.findall(r"(\w+)(?: = [^;]*)?;", body))
    problems += ["%s has a member %s, which is no row of Options.def, so the disk cache's key lacks it" % (struct, member)
                 for member in sorted(members - reports)]

# gpu-runner: its own options, in its help and on its page.
source = (root / "tools/gpu-runner/Options.cpp").read_text()
own = {"--" + name if len(name) > 1 else "-" + name for name in re.findall(r'^      \{"([\w-]+)",\s+Value::', source, re.M)}
own -= {"--help", "-h", "--version"}
help_text = source.split('help = R"(')[1].split(')"')[0]
compare("option", own, "gpu-runner --help", set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*(?=[ =,\[])", help_text)) - {"--help", "--version"})
in_tables = "\n".join(line.split("|")[1] for line in page("gpu-runner.md").replace("\\|", "/").splitlines() if line.startswith("| `-"))
counted.append("%d options of gpu-runner" % compare(
    "option", own, "gpu-runner.md", set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", in_tables)) - shared))

# Passes and their options; options of the pipeline.
passes = {}
for path in sorted((root / "include/GPUAsync").glob("*/Passes.td")):
    for part in re.split(r"^def ", path.read_text(), flags=re.M)[1:]:
        name = re.search(r'Pass<"([\w-]+)"', part)
        if name:
            passes[name.group(1)] = set(re.findall(r'Option<"\w+",\s*"([\w-]+)"', part))
about = page("Passes.md")
problems += ["pass %s is not in Passes.md" % name for name in passes if "`%s`" % name not in about]
listed = {}
for line in about.split("Options of the passes", 1)[1].splitlines():
    row = re.match(r"\| `([\w-]+)` \| (.*) \|$", line)
    if row:
        listed[row.group(1)] = set(re.findall(r"(?:^|, )`([\w-]+)`", row.group(2)))
for name in sorted(set(passes) | set(listed)):
    compare("option of " + name, passes.get(name, set()), "Passes.md", listed.get(name, set()))
counted.append("%d passes" % len(passes))

# Functions and files of the project that pages name.
headers = text("runtime", "include/GPUAsync-C")
for path in sorted(docs.rglob("*.md")) + [root / "README.md"]:
    body = path.read_text()
    for name in sorted(set(re.findall(r"\bgpuasync_\w+[a-z]\b(?=[(`])", body))):
        if not re.search(r"\b%s\b" % name, headers) and name != "gpuasync_status":
            problems.append("%s names %s, which there is not" % (path.name, name))
    for name in sorted(set(re.findall(r"`((?:lib|include|runtime|test|bench|tools|examples|docs|cmake)/[\w./*{},-]+)`", body))):
        choices = re.match(r"(.*)\{(.*)\}(.*)", name)
        for one in ([choices[1] + part + choices[3] for part in choices[2].split(",")] if choices else [name]):
            if "/X/" not in one and not list(root.glob(one.rstrip("/"))):
                problems.append("%s names %s, which there is not" % (path.name, one))

# Calls of the runtime in examples have as many arguments as the functions.
abi = re.sub(r"//.*|/\*.*?\*/", "", (root / "runtime/include/gpuasync/RuntimeABI.h").read_text())
arity = {name: len([part for part in arguments.split(",") if part.strip() not in ("", "void")])
         for name, arguments in re.findall(r"\b(gpuasync_\w+)\(([^()]*)\)", abi)}
calls = re.findall(r"llvm\.call @(gpuasync_\w+)\(([^()]*)\)", page("ABI.md"))
for name, arguments in calls:
    if arity.get(name) != len(arguments.split(",")):
        problems.append("ABI.md calls %s(%s), which takes %s" % (name, arguments, arity.get(name)))
counted.append("%d calls" % len(calls))

print("\n".join(problems), file=sys.stderr)  # what a failing test shows
print("\n".join(problems + [", ".join(counted)]))
sys.exit(1 if problems else 0)
