// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels are named after what they compute, and the sizes of that.
// RUN: gpu-opt %s -split-input-file -gpu-async-offload="device=gpu" | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-pipeline="targets=cpu ptxas=none" -o %t

// A product, and a function of its results.
// CHECK-LABEL: func.func @layer
// CHECK: gpu.launch {{.*}}function(@matmul_tanh_128x96x64)
#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @layer(%x: tensor<128x64xf32>, %w: tensor<64x96xf32>) -> tensor<128x96xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x96xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x96xf32>) -> tensor<128x96xf32>
  %p = linalg.matmul ins(%x, %w : tensor<128x64xf32>, tensor<64x96xf32>) outs(%f : tensor<128x96xf32>) -> tensor<128x96xf32>
  %r = math.tanh %p : tensor<128x96xf32>
  return %r : tensor<128x96xf32>
}

// -----
// CHECK-LABEL: func.func @softmax
// CHECK: gpu.launch {{.*}}function(@max_exp_sum_Dx300)
func.func @softmax(%x: tensor<?x300xf32>, %e: tensor<?x300xf32>) -> tensor<?x300xf32> {
  %r = linalg.softmax dimension(1) ins(%x : tensor<?x300xf32>) outs(%e : tensor<?x300xf32>) -> tensor<?x300xf32>
  return %r : tensor<?x300xf32>
}

// -----
// Arithmetic is named if there is nothing else.
// CHECK-LABEL: func.func @arithmetic
// CHECK: gpu.launch {{.*}}function(@add_mul_8x16)
// CHECK: gpu.launch {{.*}}function(@transpose_16x8)
func.func @arithmetic(%x: tensor<8x16xf32>, %y: tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32>) {
  %s = arith.addf %x, %y : tensor<8x16xf32>
  %p = arith.mulf %s, %y : tensor<8x16xf32>
  %e = tensor.empty() : tensor<16x8xf32>
  %t = linalg.transpose ins(%x : tensor<8x16xf32>) outs(%e : tensor<16x8xf32>) permutation = [1, 0]
  return %p, %t : tensor<8x16xf32>, tensor<16x8xf32>
}

// -----
// A long sum is one of parts, and one of these.
// CHECK-LABEL: func.func @sum
// CHECK: gpu.launch {{.*}}function(@partial_sum_1000000)
// CHECK: gpu.launch {{.*}}function(@sum_{{[0-9]+}})
func.func @sum(%x: tensor<1000000xf32>) -> tensor<f32> {
  %zero = arith.constant -0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.reduce { arith.addf } ins(%x : tensor<1000000xf32>) outs(%f : tensor<f32>) dimensions = [0]
  return %r : tensor<f32>
}

// -----
// One without results.
// CHECK-LABEL: func.func @fill
// CHECK: gpu.launch {{.*}}function(@fill_4)
func.func @fill(%m: memref<4xf32>) {
  %one = arith.constant 1.0 : f32
  linalg.fill ins(%one : f32) outs(%m : memref<4xf32>)
  return
}
