// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-offload=device=cpu | FileCheck %s
//
// Vectors of columns are no wider than there are columns.

// CHECK-LABEL: func.func @narrow
// CHECK: memref.alloca() {{.*}} : memref<2048x4xf32>
// CHECK: vector.broadcast %{{.*}} : f32 to vector<4xf32>
func.func @narrow(%a: tensor<40x500xf32>, %b: tensor<500x3xf32>, %z: tensor<40x3xf32>) -> tensor<40x3xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<40x500xf32>, tensor<500x3xf32>) outs(%z : tensor<40x3xf32>) -> tensor<40x3xf32>
  return %r : tensor<40x3xf32>
}
// CHECK-LABEL: func.func @wide
// CHECK: vector.broadcast %{{.*}} : f32 to vector<32xf32>
func.func @wide(%a: tensor<40x500xf32>, %b: tensor<500x33xf32>, %z: tensor<40x33xf32>) -> tensor<40x33xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<40x500xf32>, tensor<500x33xf32>) outs(%z : tensor<40x33xf32>) -> tensor<40x33xf32>
  return %r : tensor<40x33xf32>
}
// One column is a sum of each row, in registers.
// CHECK-LABEL: func.func @column
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}) -> (f32)
// CHECK: arith.addf {{.*}} fastmath<reassoc>
func.func @column(%a: tensor<40x500xf32>, %b: tensor<500x1xf32>, %z: tensor<40x1xf32>) -> tensor<40x1xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<40x500xf32>, tensor<500x1xf32>) outs(%z : tensor<40x1xf32>) -> tensor<40x1xf32>
  return %r : tensor<40x1xf32>
}
// Integers of few bits are added up in vectors of wider ones.
// CHECK-LABEL: func.func @bytes
// CHECK: %[[COLUMNS:.*]] = vector.load %{{.*}} : memref<1024x32xi8>, vector<32xi8>
// CHECK: %[[ROW:.*]] = vector.broadcast %{{.*}} : i8 to vector<32xi8>
// CHECK-DAG: arith.extsi %[[ROW]] : vector<32xi8> to vector<32xi32>
// CHECK-DAG: arith.extsi %[[COLUMNS]] : vector<32xi8> to vector<32xi32>
func.func @bytes(%a: tensor<40x500xi8>, %b: tensor<500x33xi8>, %z: tensor<40x33xi32>) -> tensor<40x33xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<40x500xi8>, tensor<500x33xi8>) outs(%z : tensor<40x33xi32>) -> tensor<40x33xi32>
  return %r : tensor<40x33xi32>
}
