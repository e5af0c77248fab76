// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 256 bins, one atomic addition to global memory for each value; blocks of 256.

func.func @histogram(%values: memref<?xi32>, %bins: memref<256xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %values, %c0 : memref<?xi32>
  %blocks = arith.ceildivui %n, %c256 : index
  gpu.memset %bins, %zero : memref<256xi32>, i32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %blocks, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1) {
    %one = arith.constant 1 : i32
    %base = arith.muli %bx, %ntx : index
    %i = arith.addi %base, %tx : index
    %inside = arith.cmpi ult, %i, %n : index
    scf.if %inside {
      %v = memref.load %values[%i] : memref<?xi32>
      %bin = arith.index_castui %v : i32 to index
      %old = memref.atomic_rmw addi %one, %bins[%bin] : (i32, memref<256xi32>) -> i32
    }
    gpu.terminator
  }
  return
}
