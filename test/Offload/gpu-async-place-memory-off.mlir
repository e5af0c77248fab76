// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// With place=off arguments are where the device reaches them: nothing is copied
// or registered but elements that the host looks at.
// RUN: gpu-opt %s "-gpu-async-place-memory=device=gpu place=off" | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: gpu-opt %s "-gpu-async-place-memory=device=cpu place=off" | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: not gpu-runner --device=cpu --place=off %s 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: --place=off: only with --emit

// CHECK-LABEL: func.func @f
// CHECK-SAME: %[[A:.*]]: memref<4xf32>, %[[B:.*]]: memref<?xf32>
// CHECK-NOT: gpu.memcpy
// CHECK-NOT: gpu.host_register
// CHECK: %[[T:.*]] = gpu.alloc
// CHECK: gpu.launch
// CHECK: memref.load %[[A]][
// CHECK: memref.store %{{.*}}, %[[B]][
// GPU: gpu.memcpy %[[E:.*]], %{{.*}} : memref<f32>
// GPU: memref.load %[[E]][]
// CPU-NOT: gpu.memcpy
// CPU: memref.load %[[B]][
// CHECK: gpu.dealloc %[[T]]
// CHECK-NOT: gpu.memcpy
// CHECK: return
func.func @f(%a: memref<4xf32>, %b: memref<?xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc() : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %a[%c0] : memref<4xf32>
    memref.store %v, %t[%c0] : memref<4xf32>
    memref.store %v, %b[%c0] : memref<?xf32>
    gpu.terminator
  }
  %r = memref.load %b[%c0] : memref<?xf32>
  memref.dealloc %t : memref<4xf32>
  return %r : f32
}

// Without a kernel, too, the device copies, and the host looks at copies.
// CHECK-LABEL: func.func @withoutKernels
// CHECK-SAME: %[[X:.*]]: memref<8xf32>, %[[I:.*]]: memref<index>, %[[Y:.*]]: memref<8xf32>
// GPU: %[[V:.*]] = memref.subview %[[I]][]
// GPU-NEXT: gpu.memcpy %[[E:.*]], %[[V]] :
// GPU: memref.load %[[E]][]
// GPU: gpu.memcpy %[[Y]], %[[X]]
// CPU-NOT: gpu.memcpy
// CPU: memref.load %[[I]][]
// CPU: memref.copy %[[X]], %[[Y]]
func.func @withoutKernels(%x: memref<8xf32>, %i: memref<index>, %y: memref<8xf32>) -> index {
  %n = memref.load %i[] : memref<index>
  memref.copy %x, %y : memref<8xf32> to memref<8xf32>
  return %n : index
}

// An argument that kernels do not touch, beside one that they do.
// CHECK-LABEL: func.func @besideAKernel
// CHECK-SAME: %[[X:.*]]: memref<8xf32>, %[[I:.*]]: memref<index>
// GPU: %[[V:.*]] = memref.subview %[[I]][]
// GPU-NEXT: gpu.memcpy %[[E:.*]], %[[V]] :
// GPU: %[[N:.*]] = memref.load %[[E]][]
// CPU: %[[N:.*]] = memref.load %[[I]][]
// CHECK: memref.store %{{.*}}, %[[X]][%[[N]]]
func.func @besideAKernel(%x: memref<8xf32>, %i: memref<index>) {
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  %n = memref.load %i[] : memref<index>
  gpu.launch blocks(%a, %b, %c) in (%p = %c1, %q = %c1, %r = %c1) threads(%d, %e, %f) in (%s = %c1, %t = %c1, %u = %c1) {
    memref.store %v, %x[%n] : memref<8xf32>
    gpu.terminator
  }
  return
}
