# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong, as exceptions. Messages say what, where, why and what to do."""

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


class CompileWarning(UserWarning):
    """A program that was compiled, but with a warning, or with work that stays on the host."""


class CompileError(Error, ValueError):
    """A program that cannot be compiled, or a function of JAX's or PyTorch's that has no lowering."""

    def __init__(self, message, code=1):  # GPUASYNC_INVALID_ARGUMENT
        super().__init__(message, code)

    @property
    def diagnostics(self):
        """The compiler's messages, one an item, with their places."""
        return tuple(re.split(r";? +(?=\S+:\d+:\d+: (?:error|warning|remark|note): )", self.args[0]))
