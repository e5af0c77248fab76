// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of products in which each element of the matrix is used once.
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -gpu-async-form-groups=device=cpu -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -gpu-async-form-groups=device=gpu -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=gpu -canonicalize -cse | FileCheck %s --check-prefix=THREADS

// Blocks of a GPU have eight results. 32 threads share the steps of each, which lie side by
// side in memory.
// CHECK-LABEL: func.func @along
// CPU: scf.forall (%{{.*}}) = (0) to (50257) step (85)
// GPU: scf.forall (%{{.*}}) = (0) to (50257) step (8)
// THREADS-LABEL: func.func @along
// THREADS: %[[RESULT:.*]] = arith.divui %{{.*}}, %c32
// THREADS: gpu.subgroup_reduce add %{{.*}} uniform cluster(size = 32)
func.func @along(%e: tensor<50257x768xf32>, %x: tensor<768xf32>, %out: tensor<50257xf32>) -> tensor<50257xf32> {
  %r = linalg.matvec ins(%e, %x : tensor<50257x768xf32>, tensor<768xf32>) outs(%out : tensor<50257xf32>) -> tensor<50257xf32>
  return %r : tensor<50257xf32>
}

// -----

// Results lie side by side. A block of a CPU has some pages of each row, eight rows at a time.
// CHECK-LABEL: func.func @across
// CPU: scf.forall (%{{.*}}) = (0) to (50257) step (2048)
// GPU: scf.forall (%{{.*}}) = (0) to (50257) step (32)
// THREADS-LABEL: func.func @across
// THREADS: %[[LANE:.*]] = arith.divui %{{.*}}, %c32
// THREADS: %[[OWN:.*]] = arith.minui %[[LANE]], %c7
// THREADS: scf.for %{{.*}} = %[[OWN]] to %c768 step %c128
func.func @across(%x: tensor<768xf32>, %e: tensor<768x50257xf32>, %out: tensor<50257xf32>) -> tensor<50257xf32> {
  %r = linalg.vecmat ins(%x, %e : tensor<768xf32>, tensor<768x50257xf32>) outs(%out : tensor<50257xf32>) -> tensor<50257xf32>
  return %r : tensor<50257xf32>
}

// -----

// A row of one dimension more is the same.
// CHECK-LABEL: func.func @one_row
// CPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (1, 50257) step (1, 2048)
// GPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (1, 50257) step (1, 32)
// THREADS-LABEL: func.func @one_row
// THREADS: %[[LANE:.*]] = arith.divui %{{.*}}, %c32
// THREADS: %[[OWN:.*]] = arith.minui %[[LANE]], %c7
// THREADS: scf.for %{{.*}} = %[[OWN]] to %c768 step %c128
func.func @one_row(%x: tensor<1x768xf32>, %e: tensor<768x50257xf32>, %out: tensor<1x50257xf32>) -> tensor<1x50257xf32> {
  %r = linalg.matmul ins(%x, %e : tensor<1x768xf32>, tensor<768x50257xf32>) outs(%out : tensor<1x50257xf32>) -> tensor<1x50257xf32>
  return %r : tensor<1x50257xf32>
}

// -----

// Twelve products of a vector by a matrix: few results, so that a block of a GPU has eight.
// CHECK-LABEL: func.func @batch
// CPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (12, 256) step (1, 256)
// GPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (12, 256) step (1, 8)
func.func @batch(%q: tensor<12x64xf32>, %k: tensor<12x256x64xf32>, %out: tensor<12x256xf32>) -> tensor<12x256xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(b, j, k) -> (b, k)>, affine_map<(b, j, k) -> (b, j, k)>, affine_map<(b, j, k) -> (b, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%q, %k : tensor<12x64xf32>, tensor<12x256x64xf32>) outs(%out : tensor<12x256xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<12x256xf32>
  return %r : tensor<12x256xf32>
}

// -----

// Scalar products of three elements are reductions. Each thread has one.
// CHECK-LABEL: func.func @scalar_products
// CPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (400, 500) step (10, 500)
// GPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (400, 500) step (1, 256)
func.func @scalar_products(%x: tensor<400x500x3xf32>, %y: tensor<400x500x3xf32>, %out: tensor<400x500xf32>) -> tensor<400x500xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<400x500x3xf32>, tensor<400x500x3xf32>) outs(%out : tensor<400x500xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<400x500xf32>
  return %r : tensor<400x500xf32>
}

// -----

// Rows of three results: a block has two of them.
// CHECK-LABEL: func.func @few_columns
// GPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (100, 3) step (2, 3)
func.func @few_columns(%x: tensor<100x3x64xf32>, %v: tensor<100x64xf32>, %out: tensor<100x3xf32>) -> tensor<100x3xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(b, j, k) -> (b, j, k)>, affine_map<(b, j, k) -> (b, k)>, affine_map<(b, j, k) -> (b, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %v : tensor<100x3x64xf32>, tensor<100x64xf32>) outs(%out : tensor<100x3xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<100x3xf32>
  return %r : tensor<100x3xf32>
}

// -----

// CHECK-LABEL: func.func @open_sizes
// CPU: scf.forall (%{{.*}}) = (0) to (%{{.*}}) step (512)
// GPU: scf.forall (%{{.*}}) = (0) to (%{{.*}}) step (32)
func.func @open_sizes(%x: tensor<?xf32>, %e: tensor<?x?xf32>, %out: tensor<?xf32>) -> tensor<?xf32> {
  %r = linalg.vecmat ins(%x, %e : tensor<?xf32>, tensor<?x?xf32>) outs(%out : tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// Rows and columns, though of numbers that no product of matrices takes.
// CHECK-LABEL: func.func @complex
// CPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (128, 128) step (
// GPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (128, 128) step (16, 16)
func.func @complex(%x: tensor<128x32xcomplex<f32>>, %y: tensor<32x128xcomplex<f32>>, %out: tensor<128x128xcomplex<f32>>) -> tensor<128x128xcomplex<f32>> {
  %r = linalg.matmul ins(%x, %y : tensor<128x32xcomplex<f32>>, tensor<32x128xcomplex<f32>>) outs(%out : tensor<128x128xcomplex<f32>>) -> tensor<128x128xcomplex<f32>>
  return %r : tensor<128x128xcomplex<f32>>
}
