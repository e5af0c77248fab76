// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An entry point of another name with a result of its own.
// RUN: gpu-runner --device=cpu -e answer --entry-point-result=i32 %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda -e answer --entry-point-result=i32 %s | FileCheck %s %}

// CHECK: 42
func.func @answer() -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %n = arith.constant 42 : index
  %h = memref.alloc() : memref<1xi32>
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %zero : memref<1xi32>, i32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %n, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %one = arith.constant 1 : i32
    %old = memref.atomic_rmw addi %one, %x[%c0] : (i32, memref<1xi32>) -> i32
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  %v = memref.load %h[%c0] : memref<1xi32>
  memref.dealloc %h : memref<1xi32>
  return %v : i32
}
