// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-check-tensors -verify-diagnostics -o /dev/null

func.func @product(%x: tensor<4x5xf32>, %y: tensor<5x7xf32>) -> tensor<4x7xf32> {
  // expected-note @+1 {{made here}}
  %e = tensor.empty() : tensor<4x7xf32>
  // expected-warning @+1 {{computes with the elements of a tensor.empty, which may be anything: fill it first (linalg.fill)}}
  %r = linalg.matmul ins(%x, %y : tensor<4x5xf32>, tensor<5x7xf32>) outs(%e : tensor<4x7xf32>) -> tensor<4x7xf32>
  return %r : tensor<4x7xf32>
}

// -----

// What is there is not used in the first round.
func.func @guarded(%x: tensor<4x5xf32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %none = arith.constant -1 : i32
  %e = tensor.empty() : tensor<4xf32>
  %i = tensor.empty() : tensor<4xi32>
  %f = linalg.fill ins(%none : i32) outs(%i : tensor<4xi32>) -> tensor<4xi32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4x5xf32>) outs(%e, %f : tensor<4xf32>, tensor<4xi32>) {
  ^bb0(%in: f32, %most: f32, %at: i32):
    %larger = arith.cmpf oge, %in, %most : f32
    %first = arith.cmpi eq, %at, %none : i32
    %take = arith.ori %larger, %first : i1
    %index = linalg.index 1 : index
    %here = arith.index_cast %index : index to i32
    %value = arith.select %take, %in, %most : f32
    %place = arith.select %take, %here, %at : i32
    linalg.yield %value, %place : f32, i32
  } -> (tensor<4xf32>, tensor<4xi32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<4xi32>
}

// -----

// Such a call has no memory for what it returns.
func.func private @again(%x: tensor<4xf32>) -> tensor<4xf32> attributes {gpu_async.offloaded} {
  // expected-error @below {{@again calls itself and returns a tensor of constant size, for which no memory is known: use a loop, or have it write to a memref}}
  %r = call @other(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> attributes {gpu_async.offloaded} {
  %r = call @again(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// A tensor of a size that is known at run time is returned as memory.
func.func private @open(%x: tensor<?xf32>) -> tensor<?xf32> attributes {gpu_async.offloaded} {
  %r = call @open(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// Nothing is offloaded.
func.func private @plain(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = call @plain(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
