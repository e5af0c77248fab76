// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-avoid-faults | FileCheck %s

// Nothing of the index dialect is left, in kernels either.
// CHECK-LABEL: func.func @index
// CHECK-NOT: index.
// CHECK: arith.constant 3 : index
// CHECK: arith.constant true
// CHECK: arith.constant 64 : index
// CHECK: arith.index_cast %{{.*}} : i32 to index
// CHECK: arith.index_castui %{{.*}} : index to i8
// CHECK: arith.subi
// CHECK: arith.cmpi ule
// CHECK: arith.ceildivsi
// CHECK: arith.floordivsi
// CHECK: arith.shrui
func.func @index(%a: index, %b: index, %c: i32) -> (index, i1, index, index, i8, i1, index, index, index) {
  %0 = index.constant 3
  %1 = index.bool.constant true
  %2 = index.sizeof
  %3 = index.casts %c : i32 to index
  %4 = index.castu %a : index to i8
  %5 = index.sub %a, %b
  %6 = index.cmp ule(%5, %0)
  %7 = index.ceildivs %a, %b
  %8 = index.floordivs %a, %b
  %9 = index.shru %a, %b
  return %0, %1, %2, %3, %4, %6, %7, %8, %9 : index, i1, index, index, i8, i1, index, index, index
}

// The bounds are as the op says them, flags stay.
// CHECK-LABEL: func.func @clamp
// CHECK-SAME: (%[[X:.*]]: f32, %[[LOW:.*]]: f32, %[[HIGH:.*]]: f32)
// CHECK: %[[M:.*]] = arith.minimumf %[[X]], %[[HIGH]] fastmath<nnan> : f32
// CHECK: arith.maximumf %[[M]], %[[LOW]] fastmath<nnan> : f32
func.func @clamp(%x: f32, %low: f32, %high: f32) -> f32 {
  %0 = math.clampf %x to [%low, %high] fastmath<nnan> : f32
  return %0 : f32
}

// CHECK-LABEL: gpu.func @kernel
// CHECK: arith.ceildivsi
gpu.module @k {
  gpu.func @kernel(%m: memref<?xindex>) kernel {
    %t = gpu.thread_id x
    %c7 = index.constant 7
    %0 = memref.load %m[%t] : memref<?xindex>
    %1 = index.ceildivs %0, %c7
    memref.store %1, %m[%t] : memref<?xindex>
    gpu.return
  }
}
