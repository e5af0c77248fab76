# Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# stripped.py GPU-RUNNER MLIR-OPT FOLDER: runs each program of the folder's tests
# as its first plain RUN line does, once as it is and once without locations. Both
# must print the same.

import concurrent.futures
import glob
import os
import re
import shlex
import subprocess
import sys

runner, opt, folder = sys.argv[1:]


def run_line(path):
    """The options of the file's first RUN line that does no more than run it on the cpu device."""
    with open(path, encoding="utf-8") as file:
        text = re.sub(r"\\\n// RUN:", " ", file.read())
    if "// -----" in text:
        return None
    for line in re.findall(r"^// RUN: (.*)$", text, re.M):
        match = re.fullmatch(r"gpu-runner ([^|;&<>%]*)%s([^|;&<>%]*)(?:\| FileCheck.*)?", line)
        # What the compiler says of places, and times, are not results.
        if match and not re.search(r"--(emit|benchmark|print|trace|stats|profile|check)", line):
            return shlex.split(match[1] + match[2])
    return None


def run(command, text=None):
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300)


def results(process):
    """What it printed; where memory lies is another place each time."""
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", process.stdout)


def compare(path):
    """What is wrong with the program without locations; None if it is left out, "" if nothing."""
    options = run_line(path)
    stripped = run([opt, "--strip-debuginfo", "--mlir-print-debuginfo", path])
    if options is None or stripped.returncode:
        return None
    wanted = run([runner, path, *options])
    if wanted.returncode:
        return None
    got = run([runner, "-", *options], stripped.stdout)
    if got.returncode or results(got) != results(wanted):
        return f"{path} {shlex.join(options)}:\n{got.stdout}{got.stderr}instead of\n{wanted.stdout}"
    return ""


files = sorted(glob.glob(os.path.join(folder, "**", "*.mlir"), recursive=True))
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    checked = [each for each in pool.map(compare, files) if each is not None]
wrong = [each for each in checked if each]
print("\n".join(wrong), end="")
print(f"{len(checked)} programs without locations, {len(wrong)} wrong")
sys.exit(bool(wrong) or len(checked) < 50)
