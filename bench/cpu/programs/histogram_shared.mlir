// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// 256 bins in workgroup memory, added to the global ones at the end of a block;
// 64 blocks of 256 threads stride over the values.

func.func @histogram_shared(%values: memref<?xi32>, %bins: memref<256xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c256 = arith.constant 256 : index
  %zero = arith.constant 0 : i32
  %n = memref.dim %values, %c0 : memref<?xi32>
  gpu.memset %bins, %zero : memref<256xi32>, i32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c64, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c256, %nty = %c1, %ntz = %c1)
             workgroup(%own : memref<256xi32, #gpu.address_space<workgroup>>) {
    %none = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    memref.store %none, %own[%tx] : memref<256xi32, #gpu.address_space<workgroup>>
    gpu.barrier
    %base = arith.muli %bx, %ntx : index
    %i = arith.addi %base, %tx : index
    %stride = arith.muli %nbx, %ntx : index
    scf.for %at = %i to %n step %stride {
      %v = memref.load %values[%at] : memref<?xi32>
      %bin = arith.index_castui %v : i32 to index
      %old = memref.atomic_rmw addi %one, %own[%bin] : (i32, memref<256xi32, #gpu.address_space<workgroup>>) -> i32
    }
    gpu.barrier
    %count = memref.load %own[%tx] : memref<256xi32, #gpu.address_space<workgroup>>
    %before = memref.atomic_rmw addi %count, %bins[%tx] : (i32, memref<256xi32>) -> i32
    gpu.terminator
  }
  return
}
