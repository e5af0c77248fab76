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
