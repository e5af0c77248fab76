// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y = a * x + y, one thread an element, blocks of 256.

func.func @saxpy(%a: f32, %x: memref<?xf32>, %y: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %n = memref.dim %y, %c0 : memref<?xf32>
  %blocks = arith.ceildivui %n, %c256 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %blocks, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1) {
    %base = arith.muli %bx, %ntx : index
    %i = arith.addi %base, %tx : index
    %inside = arith.cmpi ult, %i, %n : index
    scf.if %inside {
      %u = memref.load %x[%i] : memref<?xf32>
      %v = memref.load %y[%i] : memref<?xf32>
      %p = arith.mulf %a, %u : f32
      %r = arith.addf %p, %v : f32
      memref.store %r, %y[%i] : memref<?xf32>
    }
    gpu.terminator
  }
  return
}
