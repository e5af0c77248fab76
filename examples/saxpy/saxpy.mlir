// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y = a * x + y on arrays of the host, without a token: gpu-async finds the order.
// docs/reference/gpu-runner.md compiles it ahead of time for main.cpp.

func.func @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  %u = gpu.alloc (%n) : memref<?xf32>
  %v = gpu.alloc (%n) : memref<?xf32>
  gpu.memcpy %u, %x : memref<?xf32>, memref<?xf32>
  gpu.memcpy %v, %y : memref<?xf32>, memref<?xf32>
  %blocks = arith.ceildivui %n, %c256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %blocks, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1) {
    %base = arith.muli %bx, %ntx : index
    %i = arith.addi %base, %tx : index
    %inside = arith.cmpi ult, %i, %n : index
    scf.if %inside {
      %p = memref.load %u[%i] : memref<?xf32>
      %q = memref.load %v[%i] : memref<?xf32>
      %r = arith.mulf %a, %p : f32
      %s = arith.addf %r, %q : f32
      memref.store %s, %v[%i] : memref<?xf32>
    }
    gpu.terminator
  }
  gpu.memcpy %y, %v : memref<?xf32>, memref<?xf32>
  gpu.dealloc %u : memref<?xf32>
  gpu.dealloc %v : memref<?xf32>
  return
}
