# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# One process with others that bring an LLVM, imported before and after, all used.
# JAX is not among Debian's packages; torch, torch_mlir and triton are used if there.
# REQUIRES: jax
# RUN: %python %s | FileCheck %s
# CHECK: gpu_async first: {{.*}}jax
# CHECK: gpu_async last: {{.*}}jax
import importlib.util
import subprocess
import sys

USES = {
    "gpu_async": """
import array, gpu_async
exe = gpu_async.compile("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { %r = arith.addf %x, %x : tensor<4xf32> return %r : tensor<4xf32> }",
                        device="cpu")
assert memoryview(exe.f(array.array("f", [1, 2, 3, 4]))).tolist() == [2, 4, 6, 8]
""",
    "jax": """
import jax, jax.numpy
assert jax.jit(lambda x: x + x)(jax.numpy.ones(3)).tolist() == [2, 2, 2]
""",
    "torch_mlir": """
from torch_mlir import ir
with ir.Context():
    ir.Module.parse("func.func private @f()")
""",
    "torch": """
import torch
assert (torch.ones(3) + 1).tolist() == [2, 2, 2]
""",
    "triton": """
import triton, triton._C.libtriton
""",
}
there = [name for name in USES if importlib.util.find_spec(name)]
others = there[1:]
for title, order in (("gpu_async first", there), ("gpu_async last", others + there[:1])):
    # Each is used again when all are loaded.
    program = "\n".join(USES[name] for name in order + order)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=280)
    print("%s: %s" % (title, " ".join(order)) if done.returncode == 0 else done.stderr + str(done.returncode))
