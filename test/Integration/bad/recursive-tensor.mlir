// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A function that calls itself, by another one too, and returns a tensor.
// RUN: not gpu-runner --device=cpu %s -e again --input=1 2>&1 | FileCheck %s

// CHECK: recursive-tensor.mlir:[[@LINE+6]]:10: error: @again calls itself and returns a tensor of constant size, for which no memory is known: use a loop, or have it write to a memref
func.func @again(%n: i1) -> tensor<4xf32> {
  %r = scf.if %n -> tensor<4xf32> {
    %f = arith.constant dense<1.0> : tensor<4xf32>
    scf.yield %f : tensor<4xf32>
  } else {
    %q = func.call @other(%n) : (i1) -> tensor<4xf32>
    scf.yield %q : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

func.func private @other(%n: i1) -> tensor<4xf32> {
  %r = func.call @again(%n) : (i1) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
