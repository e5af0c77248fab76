# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A consumer in C lets go after Python has ended, and arrays of all kinds are left."""
import ctypes

import gpu_async as ga
import numpy as np
from producer import NAMES, USED, Legacy, P, Versioned, pointer_of, rename

exe = ga.compile("""
func.func @view(%x: memref<2x3xf32>) -> memref<2x3xf32> { return %x : memref<2x3xf32> }
func.func @twice(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %r = arith.addf %x, %x : tensor<2x3xf32>
  return %r : tensor<2x3xf32>
}
""", device="cpu")
libc = ctypes.CDLL(None)
x = np.arange(6, dtype="f").reshape(2, 3)
arrays = [exe.twice(x), exe.view(x)]
for array in arrays:
    for versioned in (False, True):
        capsule = array.__dlpack__(max_version=(1, 0) if versioned else None)
        address = pointer_of(capsule, NAMES[versioned])
        rename(capsule, USED[versioned])
        managed = ctypes.cast(address, P(Versioned if versioned else Legacy)).contents
        deleter = ctypes.cast(managed.deleter, ctypes.c_void_p)
        assert libc.__cxa_atexit(deleter, ctypes.c_void_p(address), None) == 0
del capsule
token = exe.twice.start(x)
print("left", flush=True)
