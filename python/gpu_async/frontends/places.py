# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The lines of a Python program that operations come from, as JAX and torch-mlir write them into locations."""

import inspect
import os
import re
import sysconfig

FILE = re.compile(r'(?:"([^"]*)"|^[^" ]*):(\d+):(\d+)')
PYTHON = tuple(
    os.path.join(os.path.realpath(sysconfig.get_path(each)), "") for each in ("stdlib", "platstdlib", "purelib", "platlib")
)
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
# These files call JAX's tracing.
OURS = ("from_jax.py", "on_mesh.py", "jax_calls.py", "host_calls.py", "lower_jax.py", "lower_torch.py", "from_torch.py")


def is_of_user(path):
    """Whether a file is neither Python's nor of a package that is installed."""
    return not path.startswith(PYTHON) and "site-packages" not in path and "dist-packages" not in path


def find_line(location, calling=False):
    """The file, line and column of the innermost line of the user's that a location names, of the innermost one of a
    package if it names none of the user's, or None. Lines that call what is traced are none of it, but with `calling`."""
    found = []
    for path, line, column in FILE.findall(str(location)):
        if not (path.startswith(HERE) and os.path.basename(path) in OURS):
            found.append((unescape(path), int(line), int(column)))
        elif not calling:
            break
    # "-" is a text that was parsed, which may be one of these files'.
    python = [each for each in found if each[0] != "-"]
    return next((each for each in python if is_of_user(each[0])), next(iter(python + found), None))


def describe(location):
    """Where a message is about: " at net.py:12", " at line 12" of a file of MLIR's, or nothing."""
    line = find_line(location, calling=True)
    if line is None:
        return ""
    return " at %s:%d" % (os.path.basename(line[0]), line[1]) if line[0] not in ("", "-") else " at line %d" % line[1]


def read_lines(text):
    """The line of each operation, in order, of a module's text with locations: what find_line returns of each."""
    inner = {number or "": parts for number, parts in re.findall(r"^#loc(\d*) = loc\((.*)\)$", text, re.MULTILINE)}
    known = {}

    def expand(number):
        # Python's stack is as deep as a location, which has one level for each frame of a call.
        if number not in known:
            known[number] = re.sub(r"#loc(\d*)", lambda match: expand(match[1]), inner[number])
        return known[number]

    lines = {number: find_line(expand(number)) for number in inner}
    return [lines[number] for number in re.findall(r" loc\(#loc(\d*)\)$", text, re.MULTILINE)]


def unescape(text):
    """A string of MLIR's text: bytes that cannot be printed are two hexadecimal digits."""
    if "\\" not in text:
        return text
    plain = re.sub(rb"\\([0-9A-Fa-f]{2}|\\)", lambda match: escaped(match[1]), os.fsencode(text))
    return os.fsdecode(plain)


def escaped(code):
    return b"\\" if code == b"\\" else bytes([int(code, 16)])


def give(location, op):
    """Makes it the location of an operation and of all below."""
    op.location = location
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                give(location, inner.operation)


def keep_lines(operations, otherwise=None):
    """Gives each operation the line alone for its location: a program is not to hold the stack of each call. Those that
    know none get the line `otherwise`, of a file."""
    lines = {}
    for op in operations:
        location = op.location
        text = str(location)
        if text not in lines:
            make, line = type(location), find_line(text) or otherwise
            lines[text] = make.file(*line, context=op.context) if line else make.unknown(context=op.context)
        op.location = lines[text]


def line_of(function):
    """The file, line and column at which a function of Python's begins, or None of what is none."""
    try:
        code = getattr(inspect.unwrap(function), "__code__", None)
    except ValueError:  # it wraps itself
        code = None
    return (code.co_filename, code.co_firstlineno, 1) if code else None
