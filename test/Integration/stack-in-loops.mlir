// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops of the host do not use up the stack, however many rounds they have: one
// slot in the entry block, one that each round frees since its size or who
// knows it is not known, and what registers memory in each round.
// RUN: gpu-runner --device=cpu -O0 -e slot %s --input=3000000 | FileCheck %s --check-prefix=SLOT
// RUN: gpu-runner --device=cpu -e unknown %s --input=3000000 | FileCheck %s --check-prefix=UNKNOWN
// RUN: gpu-runner --device=cpu -O0 -e registered %s --input=400000 --input=4xf32=1 --output=arg1=- | FileCheck %s --check-prefix=REGISTERED
// RUN: gpu-opt %s -gpu-async-hoist-allocas | FileCheck %s

// SLOT: i64=4499998500000
// CHECK-LABEL: func.func @slot
// CHECK-NEXT: memref.alloca
// CHECK-NOT: stacksave
// CHECK: return
func.func @slot(%n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> i64 {
    %m = memref.alloca() : memref<16xi64>
    %v = arith.index_cast %i : index to i64
    %at = arith.remui %i, %c1 : index
    memref.store %v, %m[%at] : memref<16xi64>
    %w = memref.load %m[%at] : memref<16xi64>
    %now = arith.addi %before, %w : i64
    scf.yield %now : i64
  }
  return %sum : i64
}

// UNKNOWN: i64
// CHECK-LABEL: func.func @unknown
// CHECK: scf.for
// CHECK-NEXT: %[[STACK:.*]] = llvm.intr.stacksave
// CHECK: memref.alloca
// CHECK: llvm.intr.stackrestore %[[STACK]]
// CHECK-NEXT: scf.yield
func.func private @rand_r(!llvm.ptr) -> i32
func.func @unknown(%n: index) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> i64 {
    %at = arith.remui %i, %c1 : index
    %size = arith.addi %at, %c1 : index
    %m = memref.alloca(%size) : memref<?xi64>
    %v = arith.index_cast %i : index to i64
    memref.store %v, %m[%at] : memref<?xi64>
    %address = memref.extract_aligned_pointer_as_index %m : memref<?xi64> -> index
    %number = arith.index_cast %address : index to i64
    %pointer = llvm.inttoptr %number : i64 to !llvm.ptr
    func.call @rand_r(%pointer) : (!llvm.ptr) -> i32
    %w = memref.load %m[%at] : memref<?xi64>
    %now = arith.addi %before, %w : i64
    scf.yield %now : i64
  }
  return %sum : i64
}

// REGISTERED: 4xf32=2 2 2 2
func.func @registered(%n: index, %x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %two = arith.constant 2.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %all = memref.cast %x : memref<4xf32> to memref<*xf32>
    gpu.host_register %all : memref<*xf32>
    gpu.host_unregister %all : memref<*xf32>
  }
  %all = memref.cast %x : memref<4xf32> to memref<*xf32>
  gpu.host_register %all : memref<*xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
    memref.store %two, %x[%tx] : memref<4xf32>
    gpu.terminator
  }
  gpu.host_unregister %all : memref<*xf32>
  return
}
