// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s "-gpu-async-offload=device=cpu vector-registers=32 vector-bits=512" | FileCheck %s
//
// Vectors of columns are no wider than there are columns.

// CHECK-LABEL: func.func @narrow
// CHECK: memref.alloca() {{.*}} : memref<250x4xf32>
// As many rows at a time as of a wide product.
// CHECK: scf.for {{.*}} to %c40{{.*}} step %c8
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
// Bytes are multiplied as floats, whose sums of up to 258 steps are exact, and
// added up as integers.
// CHECK-LABEL: func.func @bytes
// CHECK: memref.alloca() {{.*}} : memref<125x64xf32>
// CHECK: arith.sitofp %{{.*}} : vector<64xi8> to vector<64xf32>
// CHECK: arith.sitofp %{{.*}} : i8 to f32
// CHECK: %[[ALL:.*]] = vector.broadcast %{{.*}} : f32 to vector<64xf32>
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[ALL]], %{{.*}} : vector<64xf32>
// CHECK: arith.addf %{{.*}}, %[[PRODUCT]] : vector<64xf32>
// CHECK: %[[STEPS:.*]] = arith.fptosi %{{.*}} : vector<64xf32> to vector<64xi32>
// CHECK: arith.addi %{{.*}}, %[[STEPS]] : vector<64xi32>
func.func @bytes(%a: tensor<40x500xi8>, %b: tensor<500x99xi8>, %z: tensor<40x99xi32>) -> tensor<40x99xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<40x500xi8>, tensor<500x99xi8>) outs(%z : tensor<40x99xi32>) -> tensor<40x99xi32>
  return %r : tensor<40x99xi32>
}
// Other integers of few bits are added up in vectors of wider ones.
// CHECK-LABEL: func.func @shorts
// CHECK: %[[COLUMNS:.*]] = vector.load %{{.*}} : memref<{{[0-9]+}}x32xi16>, vector<32xi16>
// CHECK: %[[ROW:.*]] = vector.broadcast %{{.*}} : i16 to vector<32xi16>
// CHECK-DAG: arith.extsi %[[ROW]] : vector<32xi16> to vector<32xi32>
// CHECK-DAG: arith.extsi %[[COLUMNS]] : vector<32xi16> to vector<32xi32>
func.func @shorts(%a: tensor<40x500xi16>, %b: tensor<500x33xi16>, %z: tensor<40x33xi32>) -> tensor<40x33xi32> {
  %r = linalg.matmul ins(%a, %b : tensor<40x500xi16>, tensor<500x33xi16>) outs(%z : tensor<40x33xi32>) -> tensor<40x33xi32>
  return %r : tensor<40x33xi32>
}
