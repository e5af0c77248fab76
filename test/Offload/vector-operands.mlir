// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product that takes each element of its matrix once computes the element where it takes it.
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -canonicalize -cse | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=gpu -canonicalize -cse | FileCheck %s --check-prefix=THREADS

#left = affine_map<(i, j, c) -> (i, c)>
#right = affine_map<(i, j, c) -> (j, c)>
#all = affine_map<(i, j, c) -> (i, j, c)>
#pairs = affine_map<(i, j, c) -> (i, j)>

// Differences of all pairs, in a distance and in a sum of their own: nowhere are they stored.
// CHECK-LABEL: func.func @forces
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: math.exp
// CHECK: arith.subf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
// THREADS-LABEL: func.func @forces
// THREADS-COUNT-1: gpu.launch
// THREADS-NOT: gpu.launch
// THREADS: return
func.func @forces(%x: tensor<1000x3xf32>) -> tensor<1000x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e3 = tensor.empty() : tensor<1000x1000x3xf32>
  %d = linalg.generic {indexing_maps = [#right, #left, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %x : tensor<1000x3xf32>, tensor<1000x3xf32>) outs(%e3 : tensor<1000x1000x3xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.subf %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<1000x1000x3xf32>
  %e2 = tensor.empty() : tensor<1000x1000xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
  %squares = linalg.generic {indexing_maps = [#all, #pairs], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%d : tensor<1000x1000x3xf32>) outs(%f2 : tensor<1000x1000xf32>) {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %a, %a : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<1000x1000xf32>
  %w = math.exp %squares : tensor<1000x1000xf32>
  %e1 = tensor.empty() : tensor<1000x3xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1000x3xf32>) -> tensor<1000x3xf32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, c, j) -> (i, j, c)>, affine_map<(i, c, j) -> (i, j)>, affine_map<(i, c, j) -> (i, c)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%d, %w : tensor<1000x1000x3xf32>, tensor<1000x1000xf32>) outs(%f1 : tensor<1000x3xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32):
    %p = arith.mulf %a, %b : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<1000x3xf32>
  return %sum : tensor<1000x3xf32>
}

// -----

// The elements of a matrix of bytes are cast and scaled once each. Those of the vector would be
// computed for each result.
// CHECK-LABEL: func.func @dequantized
// CHECK: linalg.generic
// CHECK: math.tanh
// CHECK: linalg.generic
// CHECK-SAME: "reduction"
// CHECK: arith.sitofp
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @dequantized(%x: tensor<768xf32>, %w: tensor<768x3072xi8>, %scale: tensor<3072xf32>, %out: tensor<3072xf32>) -> tensor<3072xf32> {
  %e = tensor.empty() : tensor<768x3072xf32>
  %t = math.tanh %x : tensor<768xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(k, j) -> (k, j)>, affine_map<(k, j) -> (j)>, affine_map<(k, j) -> (k, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%w, %scale : tensor<768x3072xi8>, tensor<3072xf32>) outs(%e : tensor<768x3072xf32>) {
  ^bb0(%a: i8, %b: f32, %o: f32):
    %f = arith.sitofp %a : i8 to f32
    %r = arith.mulf %f, %b : f32
    linalg.yield %r : f32
  } -> tensor<768x3072xf32>
  %r = linalg.vecmat ins(%t, %m : tensor<768xf32>, tensor<768x3072xf32>) outs(%out : tensor<3072xf32>) -> tensor<3072xf32>
  return %r : tensor<3072xf32>
}

// -----

// A product of matrices takes each element many times.
// CHECK-LABEL: func.func @matrices
// CHECK-COUNT-2: linalg.generic
// CHECK: return
func.func @matrices(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>, %out: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %m = arith.addf %w, %w : tensor<64x64xf32>
  %r = linalg.matmul ins(%x, %m : tensor<64x64xf32>, tensor<64x64xf32>) outs(%out : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// Sums of columns: a block of a GPU has eight side by side.
// THREADS-LABEL: func.func @columns
// THREADS: gpu.launch blocks({{.*}}) in (%{{.*}} = %c512,
func.func @columns(%x: tensor<3000x4096xf32>, %out: tensor<4096xf32>) -> tensor<4096xf32> {
  %r = linalg.reduce {arith.addf} ins(%x : tensor<3000x4096xf32>) outs(%out : tensor<4096xf32>) dimensions = [0]
  return %r : tensor<4096xf32>
}
