// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Five-point stencil inside a rectangle, blocks of 64 x 4 threads.

func.func @stencil(%in: memref<?x?xf32>, %out: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %rows = memref.dim %in, %c0 : memref<?x?xf32>
  %columns = memref.dim %in, %c1 : memref<?x?xf32>
  %bxs = arith.ceildivui %columns, %c64 : index
  %bys = arith.ceildivui %rows, %c4 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %bxs, %nby = %bys, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c64, %nty = %c4, %ntz = %c1) {
    %xbase = arith.muli %bx, %ntx : index
    %x = arith.addi %xbase, %tx : index
    %ybase = arith.muli %by, %nty : index
    %y = arith.addi %ybase, %ty : index
    %lastx = arith.subi %columns, %c1 : index
    %lasty = arith.subi %rows, %c1 : index
    %a = arith.cmpi uge, %x, %c1 : index
    %b = arith.cmpi ult, %x, %lastx : index
    %c = arith.cmpi uge, %y, %c1 : index
    %d = arith.cmpi ult, %y, %lasty : index
    %ab = arith.andi %a, %b : i1
    %cd = arith.andi %c, %d : i1
    %inside = arith.andi %ab, %cd : i1
    scf.if %inside {
      %half = arith.constant 0.5 : f32
      %eighth = arith.constant 0.125 : f32
      %left = arith.subi %x, %c1 : index
      %right = arith.addi %x, %c1 : index
      %up = arith.subi %y, %c1 : index
      %down = arith.addi %y, %c1 : index
      %m = memref.load %in[%y, %x] : memref<?x?xf32>
      %l = memref.load %in[%y, %left] : memref<?x?xf32>
      %r = memref.load %in[%y, %right] : memref<?x?xf32>
      %u = memref.load %in[%up, %x] : memref<?x?xf32>
      %o = memref.load %in[%down, %x] : memref<?x?xf32>
      %lr = arith.addf %l, %r : f32
      %uo = arith.addf %u, %o : f32
      %around = arith.addf %lr, %uo : f32
      %p = arith.mulf %around, %eighth : f32
      %q = arith.mulf %m, %half : f32
      %s = arith.addf %p, %q : f32
      memref.store %s, %out[%y, %x] : memref<?x?xf32>
    }
    gpu.terminator
  }
  return
}
