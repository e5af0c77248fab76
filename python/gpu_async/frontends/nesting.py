# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a function of gpu_async.jit knows about the caller that JAX traces."""

import contextlib
import threading

import gpu_async

_state = threading.local()


@contextlib.contextmanager
def inlined():
    """Within it, calls become the functions themselves: gpu_async.jit traces and lowers a caller.

    Tracing makes calls there, too, since JAX keeps what it has traced of an inner jax.jit for other callers.
    """
    before, _state.inlined = is_inlined(), True
    try:
        yield
    finally:
        _state.inlined = before


def is_inlined():
    return getattr(_state, "inlined", False)


class Unfit(gpu_async.ArgumentError):
    """Arguments, results or a function that a call cannot be made of. JAX may still trace the function."""
