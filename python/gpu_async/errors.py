# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong, as exceptions. Messages say what, where, why and what to do."""

import linecache
import re


class Error(Exception):
    """An error of the library's, the device's or the program's: a block too large, a failed assert.

    `code` is the number of a gpuasync_status_code.
    """

    def __init__(self, message, code=0):
        super().__init__(message)
        self.code = code

    def __reduce__(self):
        return type(self), (self.args[0], self.code)


class ArgumentError(Error, ValueError, TypeError):
    """What a call refuses before it runs: an argument's type, sizes, order or device, how many there are, `out`, `stream`."""

    def __init__(self, message, code=1):  # GPUASYNC_INVALID_ARGUMENT
        super().__init__(message, code)


# The place at which each message of the compiler begins.
PLACE = r"(?=\S+:\d+:\d+: (?:error|warning|remark|note): )"


def _in_lines(message):
    """A text of the library, which is one line, with a line for each message, and lines of the source below."""
    messages = re.split(r";?\s+" + PLACE, message)
    for number, text in enumerate(messages):
        place = re.match(r"(\S+):(\d+):(\d+): ", text)
        source = linecache.getline(place[1], int(place[2])).rstrip("\n") if place else ""
        head, found, tail = text.partition(" " + source)
        if source.strip() and found and tail.strip() == "^":
            messages[number] = "%s\n%s\n%s^" % (head.rstrip(), source, " " * (int(place[3]) - 1))
    return "\n".join(messages)


class CompileWarning(UserWarning):
    """A program that was compiled, but with a warning, or with work that stays on the host."""


class CompileError(Error, ValueError):
    """A program that cannot be compiled, or a function of JAX's or PyTorch's that has no lowering."""

    def __init__(self, message, code=1):  # GPUASYNC_INVALID_ARGUMENT
        super().__init__(_in_lines(message), code)

    @property
    def diagnostics(self):
        """The compiler's messages, one an item, with their places."""
        return tuple(re.split(r"\s+" + PLACE, self.args[0]))
