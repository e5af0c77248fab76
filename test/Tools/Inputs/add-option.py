# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds the options `probe` and `planted` to a copy of the sources, and asks every tool for them (AddOption.cpp).

usage: add-option.py <source folder> <build folder> <empty folder>
"""
import json
import pathlib
import shlex
import shutil
import subprocess
import sys

root, build, work = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
folders = ("include/GPUAsync", "lib/Execution", "lib/Library", "lib/Pipelines", "tools/gpu-runner", "docs/reference")
for folder in folders:
    shutil.copytree(root / folder, work / folder)
shutil.copy(root / "docs/options.py", work / "docs")


def edit(name, before, after):
    text = (work / name).read_text()
    assert text.count(before) == 1, "%s: %r is there %d times" % (name, before, text.count(before))
    (work / name).write_text(text.replace(before, after))


# The edits of somebody who adds an option. The mark of `planted` is wrong.
edit("include/GPUAsync/Options.def", "// Formats of a drawn schedule.\n", """\
GPUASYNC_ENUM_BEGIN(ProbeMode)
GPUASYNC_WORD(ProbeMode, Off, "off", "nothing")
GPUASYNC_WORD(ProbeMode, On, "on", "a pass more")
GPUASYNC_ENUM_END(ProbeMode)

// Formats of a drawn schedule.
""")
edit("include/GPUAsync/Options.def", "// libgpuasync decides it by the device;", """\
GPUASYNC_OPTION(ProbeMode, probe, "probe", ProbeMode::Off, Any, Code,
                Runner | Library, "", "tests how options are added")
GPUASYNC_OPTION(bool, planted, "planted", false, Any, Nothing, Nobody, "",
                "is marked wrong")
// libgpuasync decides it by the device;""")
edit("lib/Pipelines/Pipelines.cpp", "  pm.addPass(createGPUAsyncCheckSizes());\n", """\
  pm.addPass(createGPUAsyncCheckSizes());
  if (options.probe == ProbeMode::On || options.planted)
    pm.addPass(createGPUAsyncCheckSizes());
""")
subprocess.run([sys.executable, work / "docs/options.py"], check=True)

changed = sorted(str(path.relative_to(work)) for folder in folders for path in (work / folder).rglob("*")
                 if path.is_file() and path.read_bytes() != (root / folder / path.relative_to(work / folder)).read_bytes())
print("changed: " + ", ".join(changed))
print(*[line for line in (work / "docs/reference/Options.md").read_text().splitlines() if line.startswith("| `probe`")])

# The build's own commands, with the copies in front.
commands = {entry["file"]: entry for entry in json.loads((build / "compile_commands.json").read_text())}
sources = ["lib/Execution/CompileOptions.cpp", "lib/Library/Options.cpp", "lib/Pipelines/Pipelines.cpp",
           "tools/gpu-runner/Options.cpp"]
objects = []
for name in sources + ["test/Tools/Inputs/AddOption.cpp"]:
    entry = commands[str(root / (name if name in sources else sources[-1]))]
    words = shlex.split(entry["command"])
    first = next(i for i, word in enumerate(words) if word.startswith(("-D", "-I")))
    source = (work if name in sources else root) / name
    objects.append(work / (name.replace("/", "-") + ".o"))
    words[words.index("-o") + 1:] = [objects[-1], "-c", source]
    words[first:first] = ["-I%s/%s" % (work, folder) for folder in ("include", "lib", "tools/gpu-runner")]
    subprocess.run(words, cwd=entry["directory"], check=True)
link = subprocess.run(["ninja", "-C", build, "-t", "commands", "-s", "bin/gpu-runner"], check=True, capture_output=True,
                      text=True).stdout.splitlines()[-1]
words = [word for word in shlex.split(link) if word not in (":", "&&") and not word.endswith(".cpp.o")]
words[words.index("-o"):words.index("-o") + 2] = [*objects, "-o", work / "add-option"]
subprocess.run(words + ["-Wl,-rpath,%s" % (build / "lib")], cwd=build, check=True)
sys.stdout.flush()
subprocess.run([work / "add-option"], check=True)
