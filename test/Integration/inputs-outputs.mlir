// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments from --input, changed arguments and results to --output.
// RUN: gpu-runner --device=cpu -e scale --input=4xf32=1,2,3,4 --input=f32=2.5 --output=arg0=- --output=result0=- %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda -e scale --input=4xf32=1,2,3,4 --input=f32=2.5 --output=arg0=- --output=result0=- %s | FileCheck %s %}

// CHECK: 4xf32=2.5 5 7.5 10
// CHECK: i32=4
func.func @scale(%x: memref<?xf32>, %factor: f32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xf32>
  %start = gpu.wait async
  %d, %t0 = gpu.alloc async [%start] (%n) : memref<?xf32>
  %t1 = gpu.memcpy async [%t0] %d, %x : memref<?xf32>, memref<?xf32>
  %t2 = gpu.launch async [%t1]
      blocks(%bx, %by, %bz) in (%nbx = %n, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %v = memref.load %d[%bx] : memref<?xf32>
    %w = arith.mulf %v, %factor : f32
    memref.store %w, %d[%bx] : memref<?xf32>
    gpu.terminator
  }
  %t3 = gpu.memcpy async [%t2] %x, %d : memref<?xf32>, memref<?xf32>
  %t4 = gpu.dealloc async [%t3] %d : memref<?xf32>
  gpu.wait [%t4]
  %count = arith.index_cast %n : index to i32
  return %count : i32
}
