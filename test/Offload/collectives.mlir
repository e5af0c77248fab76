// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels are made of what is around collectives of tensors, and the collectives are on memory of
// the device.
// RUN: gpu-opt %s -split-input-file --gpu-async-offload=device=cpu -verify-diagnostics | FileCheck %s
// RUN: gpu-opt %s -split-input-file --gpu-async-offload="device=gpu offload=error" | FileCheck %s --check-prefix=GPU

// CHECK-LABEL: func.func @between
// GPU-LABEL: func.func @between
func.func @between(%x: tensor<4xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %f = tensor.empty() : tensor<8xf32>
  // CHECK: %[[A:.*]] = gpu.alloc () : memref<4xf32>
  // CHECK: gpu.launch {{.*}} function(@mul_4)
  // GPU: gpu.memcpy %[[X:.*]], %arg0
  // GPU: gpu.launch {{.*}} function(@mul_4)
  %y = arith.mulf %x, %x : tensor<4xf32>
  // CHECK: gpu_async.collective all_reduce<sum> %[[B:.*]], %[[A]] : memref<4xf32>, memref<4xf32>
  // GPU: gpu_async.collective all_reduce<sum>
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%y : tensor<4xf32>) outs(%e : tensor<4xf32>)
  // CHECK: gpu.launch {{.*}} function(@add_4)
  // CHECK: memref.load %[[B]]
  // GPU: gpu.launch {{.*}} function(@add_4)
  %z = arith.addf %r, %x : tensor<4xf32>
  // CHECK: gpu_async.collective all_gather %arg1, %{{.*}} : memref<8xf32>, memref<4xf32>
  // GPU: gpu_async.collective all_gather %[[R:.*]], %{{.*}} : memref<8xf32>, memref<4xf32>
  // GPU: gpu.memcpy %arg1, %[[R]]
  %g = gpu_async.tensor_collective all_gather ins(%z : tensor<4xf32>) outs(%f : tensor<8xf32>)
  return %g : tensor<8xf32>
}

// -----

// A program of collectives only: they are on memory of the device, too.
// CHECK-LABEL: func.func @alone
// CHECK-COUNT-2: gpu.host_register
// CHECK: gpu_async.collective all_reduce<sum> %arg1, %arg0
// GPU-LABEL: func.func @alone
// GPU: gpu.memcpy %[[X:.*]], %arg0
// GPU: gpu_async.collective all_reduce<sum> %[[R:.*]], %[[X]]
// GPU: gpu.memcpy %arg1, %[[R]]
func.func @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
  return %r : tensor<4xf32>
}

// -----

// A part with gaps between its rows is copied. In place are only kinds that may be, of elements that
// nobody needs any more; all_to_all gets memory of its own.
// CHECK-LABEL: func.func @places
// CHECK: %[[P:.*]] = memref.subview %arg0
// CHECK: gpu.memcpy %[[A:.*]], %[[P]]
// CHECK: gpu_async.collective all_reduce<sum> %[[B:.*]], %[[A]]
// CHECK: gpu_async.collective all_reduce<max> %[[B]], %[[B]]
// CHECK: gpu_async.collective all_to_all %[[C:.*]], %[[B]]
// CHECK: gpu.launch
// GPU-LABEL: func.func @places
func.func @places(%x: tensor<4x6xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %s = tensor.extract_slice %x[0, 1] [4, 3] [1, 1] : tensor<4x6xf32> to tensor<4x3xf32>
  %e = tensor.empty() : tensor<4x3xf32>
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%s : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>)
  %t = gpu_async.tensor_collective all_reduce<max> ins(%r : tensor<4x3xf32>) outs(%r : tensor<4x3xf32>)
  %a = gpu_async.tensor_collective all_to_all ins(%t : tensor<4x3xf32>) outs(%t : tensor<4x3xf32>)
  %b = arith.addf %a, %s : tensor<4x3xf32>
  return %b, %a : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Results that are used no more, and equal collectives, stay.
// CHECK-LABEL: func.func @unused
// CHECK-COUNT-2: gpu_async.collective all_reduce<max>
// CHECK-NOT: gpu_async.collective
// GPU-LABEL: func.func @unused
func.func @unused(%x: tensor<4xf32>) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = gpu_async.tensor_collective all_reduce<max> ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
  %1 = gpu_async.tensor_collective all_reduce<max> ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>)
  return
}
