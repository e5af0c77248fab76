// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product for tensor cores of few tiles and many steps is cut along its steps: into
// one of so many parts, in f32, and an op that adds these up and rounds once.
// RUN: gpu-opt %s -gpu-async-split-reductions=device=sm_80 | FileCheck %s --check-prefixes=CHECK,SPLIT
// RUN: gpu-opt %s -gpu-async-split-reductions=device=sm_90 | FileCheck %s --check-prefixes=CHECK,SPLIT
// A matrix' product by threads is not on all GPUs (split-words.mlir: where it is), nor
// where a library computes it.
// RUN: gpu-opt %s -gpu-async-split-reductions=device=gpu | FileCheck %s --check-prefixes=CHECK,WHOLE,VECTOR
// RUN: gpu-opt %s -gpu-async-split-reductions=device=cpu | FileCheck %s --check-prefixes=CHECK,WHOLE,CPU
// RUN: gpu-opt %s "-gpu-async-split-reductions=device=sm_80 blas=auto" | FileCheck %s --check-prefixes=CHECK,WHOLE

// SPLIT: #[[$A:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, d0, d3)>
// SPLIT: #[[$B:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>
// SPLIT: #[[$C:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
// SPLIT: #[[$FIRST:.*]] = affine_map<(d0, d1) -> (0, d0, d1)>
// SPLIT: #[[$SECOND:.*]] = affine_map<(d0, d1) -> (1, d0, d1)>

// CHECK-LABEL: func @zeros(
// CHECK-SAME: %[[X:[^:]*]]: tensor<16x4096xf16>, %[[W:[^:]*]]: tensor<4096x4096xf16>
// SPLIT: %[[XP:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2]] output_shape [16, 4, 1024]
// SPLIT: %[[WP:.*]] = tensor.expand_shape %[[W]] {{\[\[}}0, 1], [2]] output_shape [4, 1024, 4096]
// SPLIT: %[[ZEROS:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<4x16x4096xf32>)
// SPLIT: %[[PARTS:.*]] = linalg.generic {indexing_maps = [#[[$A]], #[[$B]], #[[$C]]], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[XP]], %[[WP]] : {{.*}}) outs(%[[ZEROS]]
// SPLIT-COUNT-2: arith.extf
// SPLIT: arith.mulf %{{.*}} : f32
// SPLIT: arith.addf %{{.*}} : f32
// SPLIT: %[[SUM:.*]] = linalg.generic {indexing_maps = [#[[$FIRST]], #[[$SECOND]],
// SPLIT-SAME: ins(%[[PARTS]], %[[PARTS]], %[[PARTS]], %[[PARTS]] : {{.*}}) outs(%{{.*}} : tensor<16x4096xf16>)
// SPLIT-COUNT-3: arith.addf
// SPLIT: arith.truncf %{{.*}} : f32 to f16
// SPLIT: return %[[SUM]]
// WHOLE-NOT: tensor.expand_shape
func.func @zeros(%x: tensor<16x4096xf16>, %w: tensor<4096x4096xf16>) -> tensor<16x4096xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<16x4096xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<16x4096xf16>) -> tensor<16x4096xf16>
  %p = linalg.matmul ins(%x, %w : tensor<16x4096xf16>, tensor<4096x4096xf16>)
      outs(%f : tensor<16x4096xf16>) -> tensor<16x4096xf16>
  return %p : tensor<16x4096xf16>
}

// What it is added to is one more input.
// CHECK-LABEL: func @added(
// CHECK-SAME: %[[C:[^:]*]]: tensor<2x16x64xf32>
// SPLIT: linalg.generic
// SPLIT: %[[SUM:.*]] = linalg.generic
// SPLIT-SAME: %[[C]] : {{.*}}) outs(%{{.*}} : tensor<2x16x64xf32>)
// SPLIT-NOT: arith.truncf
// SPLIT: return %[[SUM]]
// WHOLE-NOT: tensor.expand_shape
func.func @added(%c: tensor<2x16x64xf32>, %x: tensor<2x16x4096xbf16>, %w: tensor<2x4096x64xbf16>) -> tensor<2x16x64xf32> {
  %p = linalg.batch_matmul ins(%x, %w : tensor<2x16x4096xbf16>, tensor<2x4096x64xbf16>)
      outs(%c : tensor<2x16x64xf32>) -> tensor<2x16x64xf32>
  return %p : tensor<2x16x64xf32>
}

// Of few steps, enough tiles, or sizes that are not known.
// CHECK-LABEL: func @whole(
// CHECK-NOT: tensor.expand_shape
// CHECK: return
func.func @whole(%a: tensor<16x512xf16>, %b: tensor<512x4096xf16>, %c: tensor<16x4096xf16>,
    %d: tensor<2048x4096xf16>, %e: tensor<4096x2048xf16>, %f: tensor<2048x2048xf16>,
    %g: tensor<16x?xf16>, %h: tensor<?x4096xf16>) -> (tensor<16x4096xf16>, tensor<2048x2048xf16>, tensor<16x4096xf16>) {
  %p = linalg.matmul ins(%a, %b : tensor<16x512xf16>, tensor<512x4096xf16>) outs(%c : tensor<16x4096xf16>) -> tensor<16x4096xf16>
  %q = linalg.matmul ins(%d, %e : tensor<2048x4096xf16>, tensor<4096x2048xf16>) outs(%f : tensor<2048x2048xf16>) -> tensor<2048x2048xf16>
  %r = linalg.matmul ins(%g, %h : tensor<16x?xf16>, tensor<?x4096xf16>) outs(%c : tensor<16x4096xf16>) -> tensor<16x4096xf16>
  return %p, %q, %r : tensor<16x4096xf16>, tensor<2048x2048xf16>, tensor<16x4096xf16>
}

// A vector's product is cut by threads, too, if its loads would not keep the memory busy.
// CPU-LABEL: func @vector(
// CPU-NOT: tensor.expand_shape
// VECTOR-LABEL: func @vector(
// VECTOR-SAME: %[[X:[^:]*]]: tensor<4096xf32>
// VECTOR: tensor.expand_shape %[[X]] {{\[\[}}0, 1]] output_shape [4, 1024]
// VECTOR: linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]{{.*}} outs(%{{.*}} : tensor<4x4096xf32>)
// VECTOR-NOT: arith.extf
// VECTOR: linalg.generic {{.*}} iterator_types = ["parallel"]
// VECTOR: return
func.func @vector(%x: tensor<4096xf32>, %w: tensor<4096x4096xf32>) -> tensor<4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %p = linalg.vecmat ins(%x, %w : tensor<4096xf32>, tensor<4096x4096xf32>)
      outs(%f : tensor<4096xf32>) -> tensor<4096xf32>
  return %p : tensor<4096xf32>
}

// RUN: gpu-opt %s -gpu-async-split-reductions=device=sm_80 --remarks-filter=gpu-async-split-reductions --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] SplitProduct | Category:gpu-async-split-reductions | Function=zeros | split-products=1{{$}}
