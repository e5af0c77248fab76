// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A layer of a network, relu(x * w + b), for any number of rows. docs/how-to/AheadOfTime.md
// compiles it ahead of time for main.c, and as a program of its own.

func.func @layer(%x: tensor<?x4xf32>, %w: tensor<4x3xf32>, %b: tensor<3xf32>) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %rows = tensor.dim %x, %c0 : tensor<?x4xf32>
  %empty = tensor.empty(%rows) : tensor<?x3xf32>
  %start = linalg.broadcast ins(%b : tensor<3xf32>) outs(%empty : tensor<?x3xf32>) dimensions = [0]
  %sum = linalg.matmul ins(%x, %w : tensor<?x4xf32>, tensor<4x3xf32>) outs(%start : tensor<?x3xf32>) -> tensor<?x3xf32>
  %y = linalg.map ins(%sum : tensor<?x3xf32>) outs(%empty : tensor<?x3xf32>)
    (%s: f32, %old: f32) {
      %positive = arith.maximumf %s, %zero : f32
      linalg.yield %positive : f32
    }
  return %y : tensor<?x3xf32>
}
