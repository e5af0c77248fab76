// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-place-memory=device=gpu -verify-diagnostics | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: gpu-opt %s -split-input-file -gpu-async-place-memory=device=cpu -verify-diagnostics | FileCheck %s --check-prefixes=CHECK,CPU

// What a kernel reads is copied to the device, what it writes back, a result
// only back; what only kernels touch is the device's from the start.
// CHECK-LABEL: func.func @arguments
// GPU-DAG: gpu.memcpy %[[A:.*]], %arg0
// GPU-DAG: gpu.memcpy %{{.*}}, %arg1 : memref<?xf32>, memref<?xf32>
// CPU-COUNT-3: gpu.host_register
// CPU: gpu.alloc () : memref<4xf32>
// GPU-NOT: gpu.memcpy %{{.*}}, %arg2
// CHECK: gpu.launch
// GPU: memref.load %[[A]]
// CPU: memref.load %arg0
// GPU-NOT: gpu.memcpy %arg0
// GPU-DAG: gpu.memcpy %arg1, %{{.*}} : memref<?xf32>, memref<?xf32>
// GPU-DAG: gpu.memcpy %arg2, %{{.*}} : memref<4xf32>, memref<4xf32>
// CPU-COUNT-3: gpu.host_unregister
// CHECK: return
func.func @arguments(%a: memref<4xf32>, %b: memref<?xf32>, %c: memref<4xf32> {gpu_async.result = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc() : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %a[%c0] : memref<4xf32>
    memref.store %v, %t[%c0] : memref<4xf32>
    memref.store %v, %b[%c0] : memref<?xf32>
    memref.store %v, %c[%c0] : memref<4xf32>
    gpu.terminator
  }
  memref.dealloc %t : memref<4xf32>
  return
}

// -----

// An element that the host reads, and a constant.
// CHECK-LABEL: func.func @elements
// GPU: %[[T:.*]] = gpu.alloc () : memref<4xf32>
// GPU-NOT: gpu.memcpy
// CHECK: gpu.launch
// GPU: memref.get_global @w
// GPU: %[[V:.*]] = memref.subview %{{.*}}[%c0] [1] [1] : memref<4xf32> to memref<f32, strided<[], offset: ?>>
// GPU: gpu.memcpy %[[E:.*]], %[[V]]
// GPU: memref.load %[[E]][]
// CPU: memref.load %{{.*}}[%c0]
// CHECK: return
memref.global "private" constant @w : memref<4xf32> = dense<1.0>
func.func @elements() -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = memref.get_global @w : memref<4xf32>
  %t = memref.alloc() : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %w[%c0] : memref<4xf32>
    memref.store %v, %t[%c0] : memref<4xf32>
    gpu.terminator
  }
  %r = memref.load %t[%c0] : memref<4xf32>
  memref.dealloc %t : memref<4xf32>
  return %r : f32
}

// -----

// No kernel touches it.
// CHECK-LABEL: func.func @host_only
// CHECK: memref.alloc
// CHECK: memref.dealloc
func.func @host_only(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc() : memref<4xf32>
  memref.store %v, %t[%c0] : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    gpu.terminator
  }
  memref.dealloc %t : memref<4xf32>
  return
}

// -----

// A constant that is large is copied.
// CHECK-LABEL: func.func @large
// GPU: gpu.memcpy %{{.*}}, %{{.*}} : memref<20000xf32>, memref<20000xf32>
// CHECK: gpu.launch
memref.global "private" constant @w : memref<20000xf32> = dense<1.0>
func.func @large(%a: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = memref.get_global @w : memref<20000xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %w[%c0] : memref<20000xf32>
    memref.store %v, %a[%c0] : memref<4xf32>
    gpu.terminator
  }
  return
}

// -----

// And so is one that the host has a use of, too.
// CHECK-LABEL: func.func @both
// GPU: %[[W:.*]] = memref.get_global @w
// GPU: %[[D:.*]] = gpu.alloc
// GPU: gpu.memcpy %[[D]], %[[W]]
// CHECK: gpu.launch
// GPU: memref.load %[[D]][
memref.global "private" constant @w : memref<4xf32> = dense<1.0>
func.func @both(%a: memref<4xf32>, %b: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = memref.get_global @w : memref<4xf32>
  %again = memref.get_global @w : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %w[%c0] : memref<4xf32>
    memref.store %v, %a[%c0] : memref<4xf32>
    gpu.terminator
  }
  memref.copy %again, %b : memref<4xf32> to memref<4xf32>
  return
}
