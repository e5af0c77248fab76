// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-offload=device=gpu | FileCheck %s

// A constant that kernels read and that is returned: no op of the dialect is in
// the input, so its steps have to load it.
// CHECK-LABEL: func.func @main
// CHECK: %[[C:.*]] = gpu_async.constant @[[NAME:.*]] : memref<2x3xf32>
// CHECK: gpu.launch
// CHECK: gpu.memcpy %arg1, %[[C]]
func.func @main() -> (tensor<3x2x3xf32>, tensor<2x3xf32>) {
  %c = arith.constant dense<[[0.5, -1.75, -0.25], [0.25, 2.0, 0.25]]> : tensor<2x3xf32>
  %e = tensor.empty() : tensor<3x2x3xf32>
  %r = linalg.broadcast ins(%c : tensor<2x3xf32>) outs(%e : tensor<3x2x3xf32>) dimensions = [0]
  return %r, %c : tensor<3x2x3xf32>, tensor<2x3xf32>
}
