# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call costs, in microseconds: the least and the median of rounds."""

import importlib.util
import os
import time

import gpu_async as ga
import numpy as np

SHAPES = [(64,), (8, 8), (8, 8), (4, 4, 4)]
exe = ga.compile("""
func.func @memrefs(%a: memref<64xf32>, %b: memref<8x8xf32>, %c: memref<?x8xf32>, %d: memref<4x4x4xf32>) { return }
func.func @tensors(%a: tensor<64xf32>, %b: tensor<8x8xf32>, %c: tensor<?x8xf32>, %d: tensor<4x4x4xf32>) { return }
""", device="cpu")


def measure(title, function, arguments, calls=20000):
    times = []
    for _ in range(31):
        start = time.perf_counter()
        for _ in range(calls):
            function(*arguments)
        times.append((time.perf_counter() - start) / calls * 1e6)
    times.sort()
    print("%-44s %7.3f us a call, median %7.3f" % (title, times[0], times[len(times) // 2]))
    return times[0]


def protocol(*arguments):
    """What the producers themselves do in a call."""
    for x in arguments:
        x.__dlpack_device__()
        x.__dlpack__(max_version=(1, 1))


class Only:
    """An array that shows DLPack alone, without a step of Python between."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


arrays = [np.zeros(shape, "float32") for shape in SHAPES]
measure("gpu_async, NumPy", exe.memrefs, arrays)
measure("gpu_async, NumPy, by attribute", lambda *arguments: exe.memrefs(*arguments), arrays)
measure("gpu_async, NumPy, out by DLPack", exe.memrefs, list(map(Only, arrays)))
if importlib.util.find_spec("jax"):
    os.environ.setdefault("JAX_PLATFORMS", "cpu")  # as the program's arrays are
    import jax
    import jax.numpy as jnp

    theirs = [jnp.zeros(shape, "float32") for shape in SHAPES]
    measure("gpu_async, JAX's arrays", exe.tensors, theirs)
    empty = jax.jit(lambda *arguments: None)
    measure("JAX, an empty jax.jit, JAX's arrays", empty, theirs)
    measure("JAX, an empty jax.jit, NumPy", empty, arrays)
if importlib.util.find_spec("torch"):
    import torch

    theirs = [torch.zeros(shape) for shape in SHAPES]
    call = measure("gpu_async, PyTorch's tensors", exe.memrefs, theirs)
    own = measure("PyTorch, __dlpack__ alone", protocol, theirs)
    print("%-44s %7.3f us" % ("  beyond it", call - own))
    measure("PyTorch, torch.add of two tensors", torch.add, theirs[:1] * 2)
    if torch.cuda.is_available():
        twice = ga.compile("""
func.func @twice(%x: tensor<256xf32>) -> tensor<256xf32> {
  %r = arith.addf %x, %x : tensor<256xf32>
  return %r : tensor<256xf32>
}
""", device="cuda", place="off", stream="caller").twice
        x, y = torch.ones(256, device="cuda"), torch.ones(256, device="cuda")
        current = torch.cuda.current_stream()
        measure("gpu_async, one kernel on PyTorch's stream", lambda: twice(x, out=y, stream=current), (), calls=2000)
        measure("PyTorch, torch.add(x, x, out=y) there", lambda: torch.add(x, x, out=y), (), calls=2000)
        torch.cuda.synchronize()
