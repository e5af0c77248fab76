# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Running a random module with gpu-runner: what differential.py and
# differential-kernels.py share.

import os
import re
import struct
import subprocess
import sys
import tempfile


class Failure(Exception):
    """kind: refused, crashed, hung, wrong. Of wrong results, `which` are wrong."""

    def __init__(self, kind, text, which=None):
        self.kind, self.text, self.which = kind, text, which


def fixSchedule():
    """Gives the cpu device a schedule that repeats, unless the environment names one.
    Returns the words that repeat it."""
    schedule = os.environ.setdefault("GPU_ASYNC_CPU_SCHEDULE", "adversarial:1")
    return "GPU_ASYNC_CPU_SCHEDULE=" + schedule


def addOptions(parser, features, batch, size, of):
    """`of`: what is drawn, in the plural."""
    parser.add_argument("gpu_runner")
    parser.add_argument("--features", default="", help="only these of %s; -NAME: all but this" % ", ".join(features))
    parser.add_argument("--size", type=int, default=size, help="most statements of each")
    parser.add_argument("--batch", type=int, default=batch, help="%s in a module" % of)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--minimise", type=int, default=60, help="seconds for making a failure smaller")
    parser.add_argument("--max-failures", type=int, default=3)
    parser.add_argument("--keep", default="fuzz-failures", help="folder of what failed")
    parser.add_argument("--print", action="store_true", help="print the %s and end" % of)


def chosen(option, features, default):
    """The features that --features asks for; without a name, `default`."""
    named = [f for f in option.split(",") if f]
    wanted = {f for f in named if f[0] != "-"} or set(default)
    without = {f[1:] for f in named if f[0] == "-"}
    if unknown := (wanted | without) - set(features):
        sys.exit("no feature %s" % ", ".join(sorted(unknown)))
    return wanted - without


def errors(text):
    """The first error with its line of the module and notes."""
    at = text.find("error:")
    start = text.rfind("\n", 0, max(at, 0)) + 1
    return text[start:start + 900]


def readNpy(path, count):
    with open(path, "rb") as file:
        data = file.read()
    header = struct.unpack_from("<H", data, 8)[0]
    return struct.unpack_from("<%dI" % count, data, 10 + header)


def run(text, size, limit, command, environment=None):
    """The `size` words that the module leaves. `command(file, out)` is what runs it.
    Raises a Failure."""
    with tempfile.TemporaryDirectory() as folder:
        file, out = os.path.join(folder, "f.mlir"), os.path.join(folder, "out.npy")
        with open(file, "w") as f:
            f.write(text)
        try:
            done = subprocess.run(command(file, out), env=environment, timeout=limit, capture_output=True,
                                  text=True, errors="replace")
        except subprocess.TimeoutExpired:
            raise Failure("hung", "no end after %d s" % limit)
        if done.returncode:
            kind = "refused"
            if done.returncode < 0 or re.search("crash|fault at|Stack dump|PLEASE submit", done.stderr):
                kind = "crashed"
            elif "timed out" in done.stderr:
                kind = "hung"
            raise Failure(kind, "exit code %d\n%s" % (done.returncode, errors(done.stderr)))
        return readNpy(out, size)


def keep(folder, name, command, again, text):
    """Writes a module that fails, with the command and what it said. Returns the path."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write("// %s\n" % command)
        if again:
            file.write("".join("// %s\n" % line for line in again.text.splitlines()))
        file.write(text)
    return path
