// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block's threads share the steps of a small tile's sums: 16 of them have the same
// 4 x 4 here, the first with what the sums begin with, and the lanes add them up.
// Threads side by side have different places and the same step. What a fill wrote is
// where the sums begin: it is neither stored nor loaded.
// Sums of a type that lanes do not pass on, and few steps, are not shared so.
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=gpu -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func @small(
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%[[ROWS:.*]] : memref<128x20xf32, {{.*}}>, %[[COLUMNS:.*]] : memref<128x20xf32,
// CHECK-NOT: memref.store
// CHECK: memref.subview
// CHECK: memref.subview
// CHECK: memref.subview
// CHECK: %[[LANE:.*]] = arith.remui %[[THREAD:.*]], %c2 : index
// CHECK: %[[SQUARE:.*]] = arith.divui %[[THREAD]], %c2 : index
// CHECK: %[[SHARER:.*]] = arith.remui %[[SQUARE]], %c16 : index
// CHECK: %[[SUBGROUP:.*]] = arith.divui %[[SQUARE]], %c16 : index
// CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[SHARER]], %{{.*}} : index
// CHECK: %[[BEGIN:.*]] = arith.select %[[FIRST]], %{{.*}}, %{{.*}} : f32
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[BEGIN]],
// CHECK: gpu.barrier
// CHECK: scf.for %[[STEP:.*]] = %c0{{.*}} to %c8{{.*}} step %c4
// CHECK: %[[PLACE:.*]] = arith.muli %[[STEP]], %c16 : index
// CHECK: %[[MINE:.*]] = arith.addi %[[PLACE]], %[[SHARER]] : index
// CHECK: vector.load %[[ROWS]][%[[MINE]], %{{.*}}] {alignment = 16 : i64} : {{.*}}, vector<4xf32>
// CHECK-COUNT-16: gpu.subgroup_reduce add %{{.*}} uniform cluster(size = 16, stride = 2) : (f32) -> f32
// CHECK: scf.if %[[FIRST]]
func.func @small(%x: tensor<64x1024xf32>, %w: tensor<1024x512xf32>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x512xf32>) -> tensor<64x512xf32>
  %p = linalg.matmul ins(%x, %w : tensor<64x1024xf32>, tensor<1024x512xf32>)
      outs(%f : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %p : tensor<64x512xf32>
}

// -----

// CHECK-LABEL: func @doubles(
// CHECK-NOT: gpu.subgroup_reduce
// CHECK: return
func.func @doubles(%x: tensor<64x1024xf64>, %w: tensor<1024x512xf64>) -> tensor<64x512xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<64x512xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<64x512xf64>) -> tensor<64x512xf64>
  %p = linalg.matmul ins(%x, %w : tensor<64x1024xf64>, tensor<1024x512xf64>)
      outs(%f : tensor<64x512xf64>) -> tensor<64x512xf64>
  return %p : tensor<64x512xf64>
}

// -----

// Of 16 steps each of four threads has four; none are loaded that do not exist.
// CHECK-LABEL: func @fewSteps(
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%{{.*}} : memref<16x20xf32,
// CHECK: gpu.subgroup_reduce add %{{.*}} uniform cluster(size = 4, stride = 8) : (f32) -> f32
func.func @fewSteps(%x: tensor<64x16xf32>, %w: tensor<16x512xf32>) -> tensor<64x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x512xf32>) -> tensor<64x512xf32>
  %p = linalg.matmul ins(%x, %w : tensor<64x16xf32>, tensor<16x512xf32>)
      outs(%f : tensor<64x512xf32>) -> tensor<64x512xf32>
  return %p : tensor<64x512xf32>
}
