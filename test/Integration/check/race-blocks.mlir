// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names a data race between two blocks, on the heap of one launch: the
// blocks count in a plain variable. The same with atomics is no race.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = gpu.alloc () : memref<2xi32>
  gpu.memset %x, %zero : memref<2xi32>, i32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c4, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // CHECK: race-blocks.mlir:[[#@LINE+1]]:10: error: data race between blocks: read by block (1, 0, 0), thread (0, 0, 0) of kernel @
    %v = memref.load %x[%c0] : memref<2xi32>
    %w = arith.addi %v, %one : i32
    // CHECK: race-blocks.mlir:[[#@LINE+1]]:5: note: the other: {{.*}} by block (0, 0, 0), thread (0, 0, 0) of kernel @
    memref.store %w, %x[%c0] : memref<2xi32>
    %old = memref.atomic_rmw addi %one, %x[%c1] : (i32, memref<2xi32>) -> i32
    gpu.terminator
  }
  // CHECK: race-blocks.mlir:12:8: note: at byte 0 of 8 bytes of device memory that comes from here
  gpu.dealloc %x : memref<2xi32>
  return
}
// CHECK-NOT: :21:
