// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the pipeline as a whole refuses.
// RUN: gpu-opt %s --gpu-async-pipeline="targets=cpu" -split-input-file -verify-diagnostics

// expected-error @below {{works on tensors; the pipeline takes programs on memrefs: bufferize first}}
func.func @tensors(%t: tensor<4xf32>) -> tensor<4xf32> {
  return %t : tensor<4xf32>
}

// -----

func.func @unknown(%m: memref<4xf32>) {
  // expected-error @below {{has no lowering to LLVM dialect}}
  acc.wait
  return
}
