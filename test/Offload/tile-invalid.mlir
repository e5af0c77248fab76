// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -verify-diagnostics
// RUN: gpu-opt %s -split-input-file -gpu-async-form-groups -verify-diagnostics
// RUN: gpu-opt %s -split-input-file -gpu-async-offload -verify-diagnostics
//
// A tile that does not fit the loops of its op.

func.func @too_many(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{has 'gpu_async.tile = array<i64: 1, 2, 3>'; it is array<i64: ...> of 2 numbers, one for each loop (0: not cut)}}
  %r = linalg.exp {gpu_async.tile = array<i64: 1, 2, 3>} ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @too_few(%x: memref<4x4xf32>) {
  // expected-error @+1 {{of 2 numbers, one for each loop}}
  linalg.exp {gpu_async.tile = array<i64: 1>} ins(%x : memref<4x4xf32>) outs(%x : memref<4x4xf32>)
  return
}

// -----

func.func @other_numbers(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{has 'gpu_async.tile = array<i32: 2, 2>'; it is array<i64: ...> of 2 numbers}}
  %r = math.exp %x {gpu_async.tile = array<i32: 2, 2>} : tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @negative(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{has 'gpu_async.tile' with -2 for loop 1; sizes are 1 or more, 0 does not cut}}
  %r = linalg.exp {gpu_async.tile = array<i64: 1, -2>} ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}

// -----

func.func @reduction(%x: tensor<4x4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has 'gpu_async.tile' with 2 for loop 1, a reduction, which tiles do not cut: give it 0}}
  %r = linalg.reduce {arith.addf} ins(%x : tensor<4x4xf32>) outs(%z : tensor<4xf32>) dimensions = [1] {gpu_async.tile = array<i64: 2, 2>}
  return %r : tensor<4xf32>
}

// -----

func.func @no_loops(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{has 'gpu_async.tile', which linalg ops of loops and elementwise ops on tensors have}}
  %r = linalg.softmax {gpu_async.tile = array<i64: 2, 0>} dimension(1) ins(%x : tensor<4x4xf32>) outs(%x : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
