// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Columns whose steps follow each other in memory are read by vectors of steps, and squares of
// them are turned: 4 x 4 of NEON and SSE2 here.
// RUN: gpu-opt %s -split-input-file -gpu-async-offload="device=cpu vector-registers=16 vector-bits=128" | FileCheck %s

// CHECK-LABEL: func.func @transposed
// CHECK: %[[PACKED:.*]] = memref.alloca() {{.*}} : memref<[[STEPS:[0-9]+]]x[[COLUMNS:[0-9]+]]xf32>
// CHECK: %[[A:.*]] = vector.load %{{.*}} : memref<{{.*}}>, vector<4xf32>
// CHECK: %[[B:.*]] = vector.load %{{.*}} : memref<{{.*}}>, vector<4xf32>
// CHECK: %[[C:.*]] = vector.load %{{.*}} : memref<{{.*}}>, vector<4xf32>
// CHECK: %[[D:.*]] = vector.load %{{.*}} : memref<{{.*}}>, vector<4xf32>
// CHECK: %[[AB0:.*]] = vector.shuffle %[[A]], %[[B]] [0, 4, 2, 6]
// CHECK: %[[AB1:.*]] = vector.shuffle %[[A]], %[[B]] [1, 5, 3, 7]
// CHECK: %[[CD0:.*]] = vector.shuffle %[[C]], %[[D]] [0, 4, 2, 6]
// CHECK: %[[CD1:.*]] = vector.shuffle %[[C]], %[[D]] [1, 5, 3, 7]
// CHECK: vector.shuffle %[[AB0]], %[[CD0]] [0, 1, 4, 5]
// CHECK: vector.shuffle %[[AB0]], %[[CD0]] [2, 3, 6, 7]
// CHECK: vector.shuffle %[[AB1]], %[[CD1]] [0, 1, 4, 5]
// CHECK: vector.shuffle %[[AB1]], %[[CD1]] [2, 3, 6, 7]
// CHECK-COUNT-4: vector.store {{.*}}, %[[PACKED]]
#rows = affine_map<(m, n, k) -> (m, k)>
#steps = affine_map<(m, n, k) -> (n, k)>
#columns = affine_map<(m, n, k) -> (k, n)>
#result = affine_map<(m, n, k) -> (m, n)>
func.func @transposed(%x: tensor<64x300xf32>, %w: tensor<100x300xf32>, %y: tensor<64x100xf32>) -> tensor<64x100xf32> {
  %r = linalg.generic {indexing_maps = [#rows, #steps, #result], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x300xf32>, tensor<100x300xf32>) outs(%y : tensor<64x100xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<64x100xf32>
  return %r : tensor<64x100xf32>
}

// -----
// Those that lie side by side are copied as they are.
// CHECK-LABEL: func.func @plain
// CHECK-NOT: vector.shuffle
func.func @plain(%x: tensor<64x300xf32>, %w: tensor<300x100xf32>, %y: tensor<64x100xf32>) -> tensor<64x100xf32> {
  %r = linalg.matmul ins(%x, %w : tensor<64x300xf32>, tensor<300x100xf32>) outs(%y : tensor<64x100xf32>) -> tensor<64x100xf32>
  return %r : tensor<64x100xf32>
}

// -----
// The steps of a convolution are a nest of loops, and its filters are copied one by one.
// CHECK-LABEL: func.func @filters
// CHECK-NOT: vector.shuffle
func.func @filters(%x: tensor<1x16x20x8xf32>, %w: tensor<32x3x3x8xf32>, %y: tensor<1x14x18x32xf32>) -> tensor<1x14x18x32xf32> {
  %r = linalg.conv_2d_nhwc_fhwc ins(%x, %w : tensor<1x16x20x8xf32>, tensor<32x3x3x8xf32>) outs(%y : tensor<1x14x18x32xf32>) -> tensor<1x14x18x32xf32>
  return %r : tensor<1x14x18x32xf32>
}
