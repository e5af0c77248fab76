// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each column of a product of few rows is used once: it is read where it is. At the edge, where
// vectors would reach over the end, columns are copied as always.
// RUN: gpu-opt %s -split-input-file -gpu-async-offload="device=cpu vector-registers=32 vector-bits=512" | FileCheck %s

// CHECK-LABEL: func.func @few(
// CHECK-SAME: %{{.*}}: memref<8x100xf32>, %[[W:[a-z0-9]*]]: memref<100x250xf32>
// CHECK: %[[PACKED:.*]] = memref.alloca() {{.*}} : memref<100x[[COLUMNS:[0-9]+]]xf32>
// CHECK: scf.if
// CHECK-NOT: %[[PACKED]]
// CHECK: scf.for
// CHECK-NOT: %[[PACKED]]
// CHECK: vector.load %{{.*}} : memref<{{.*}}strided<[250, 1]{{.*}}>, vector<[[COLUMNS]]xf32>
// CHECK-NOT: %[[PACKED]]
// CHECK: } else {
// CHECK: memref.store %{{.*}}, %[[PACKED]]
// CHECK: vector.load %[[PACKED]]
func.func @few(%x: tensor<8x100xf32>, %w: tensor<100x250xf32>, %y: tensor<8x250xf32>) -> tensor<8x250xf32> {
  %r = linalg.matmul ins(%x, %w : tensor<8x100xf32>, tensor<100x250xf32>) outs(%y : tensor<8x250xf32>) -> tensor<8x250xf32>
  return %r : tensor<8x250xf32>
}

// -----
// With more rows each column is used again.
// CHECK-LABEL: func.func @more(
// CHECK: %[[PACKED:.*]] = memref.alloca() {{.*}} : memref<100x{{[0-9]+}}xf32>
// CHECK: vector.store %{{.*}}, %[[PACKED]]
// CHECK: vector.load %[[PACKED]]
func.func @more(%x: tensor<9x100xf32>, %w: tensor<100x250xf32>, %y: tensor<9x250xf32>) -> tensor<9x250xf32> {
  %r = linalg.matmul ins(%x, %w : tensor<9x100xf32>, tensor<100x250xf32>) outs(%y : tensor<9x250xf32>) -> tensor<9x250xf32>
  return %r : tensor<9x250xf32>
}
