// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transposition: tiles of 32 x 32 go through workgroup memory of 32 x 33, so
// that global memory is read and written along rows; blocks of 32 x 8. The sizes
// are multiples of 32.

func.func @transpose(%in: memref<?x?xf32>, %out: memref<?x?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %rows = memref.dim %in, %c0 : memref<?x?xf32>
  %columns = memref.dim %in, %c1 : memref<?x?xf32>
  %bxs = arith.divui %columns, %c32 : index
  %bys = arith.divui %rows, %c32 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %bxs, %nby = %bys, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c32, %nty = %c8, %ntz = %c1)
             workgroup(%tile : memref<32x33xf32, #gpu.address_space<workgroup>>) {
    %x0 = arith.muli %bx, %c32 : index
    %y0 = arith.muli %by, %c32 : index
    %x = arith.addi %x0, %tx : index
    scf.for %r = %c0 to %c32 step %c8 {
      %ty0 = arith.addi %ty, %r : index
      %y = arith.addi %y0, %ty0 : index
      %v = memref.load %in[%y, %x] : memref<?x?xf32>
      memref.store %v, %tile[%ty0, %tx] : memref<32x33xf32, #gpu.address_space<workgroup>>
    }
    gpu.barrier
    %ox = arith.addi %y0, %tx : index
    scf.for %r = %c0 to %c32 step %c8 {
      %ty0 = arith.addi %ty, %r : index
      %oy = arith.addi %x0, %ty0 : index
      %v = memref.load %tile[%tx, %ty0] : memref<32x33xf32, #gpu.address_space<workgroup>>
      memref.store %v, %out[%oy, %ox] : memref<?x?xf32>
    }
    gpu.terminator
  }
  return
}
