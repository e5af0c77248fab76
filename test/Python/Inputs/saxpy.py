# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a program, and says which of our libraries came from another folder.

usage: saxpy.py <folder of the package>
"""
import os
import sys

import gpu_async as ga
import numpy as np

exe = ga.compile("""
func.func @saxpy(%a: f32, %x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %s = tensor.splat %a : tensor<4xf32>
  %p = arith.mulf %s, %x : tensor<4xf32>
  %r = arith.addf %p, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}""", device="cpu")
print(np.asarray(exe.saxpy(2, np.arange(1, 5, dtype="f"), np.full(4, 10, "f"))).tolist())
folder = os.path.realpath(sys.argv[1])
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "gpuasync" in line or "_binding" in line}
others = sorted(name for name in loaded if not name.startswith(folder))
print("of ours from elsewhere: %s" % (" ".join(others) or "none"))
