// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Long sums of floats are taken in pieces, and the pieces' sums in turn. Those in
// memory have a row for each piece. What is exact, or depends on the order, is not cut.
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=cpu -canonicalize -cse | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=gpu -canonicalize -cse | FileCheck %s --check-prefix=GPU

// 4000 rows are 63 pieces of up to 64, and these 2 pieces of up to 32. Four rows are
// added at a time, in their order, and then what is left.
// CHECK-LABEL: func.func @columns(
// CHECK-DAG: %[[ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK-DAG: %[[ROW:.*]] = memref.alloca() {{.*}} : memref<128xf32>
// CHECK-DAG: %[[ROWS:.*]] = memref.alloca() {{.*}} : memref<128xf32>
// CHECK: scf.for %[[I:.*]] = %c0 to %c4000 step %c2048
// CHECK: memref.store %[[ZERO]], %[[SUMS:.*]][
// CHECK: %[[ENDS:.*]] = arith.minsi %{{.*}}, %c4000
// CHECK: scf.for %[[J:.*]] = %[[I]] to %[[ENDS]] step %c64
// CHECK: memref.store %[[ZERO]], %[[SUM:.*]][
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %c4000
// CHECK: %[[COUNT:.*]] = arith.subi %[[END]], %[[J]]
// CHECK: %[[LEFT:.*]] = arith.remui %[[COUNT]], %c4
// CHECK: %[[LAST:.*]] = arith.subi %[[END]], %[[LEFT]]
// CHECK: scf.for %{{.*}} = %[[J]] to %[[LAST]] step %c4
// CHECK: %[[A:.*]] = memref.load %[[SUM]][
// CHECK: %[[B:.*]] = arith.addf %[[A]],
// CHECK: %[[C:.*]] = arith.addf %[[B]],
// CHECK: %[[D:.*]] = arith.addf %[[C]],
// CHECK: %[[LATEST:.*]] = arith.addf %[[D]],
// CHECK: memref.store %[[LATEST]], %[[SUM]][
// CHECK: scf.for %{{.*}} = %[[LAST]] to %[[END]] step %c1
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %[[SUM]][
// CHECK: memref.load %[[SUMS]][
// CHECK: memref.load %[[SUM]][
// CHECK: arith.addf
// CHECK: memref.store %{{.*}}, %[[SUMS]][
// CHECK: memref.load %[[SUMS]][
// CHECK: arith.addf
// GPU-LABEL: func.func @columns(
func.func @columns(%x: tensor<4000x1024xf32>, %z: tensor<1024xf32>) -> tensor<1024xf32> {
  %r = linalg.reduce {arith.addf} ins(%x : tensor<4000x1024xf32>) outs(%z : tensor<1024xf32>) dimensions = [0]
  return %r : tensor<1024xf32>
}

// -----

// Side by side are 1000 elements each, in two loops: 9 of 100, and pieces of a few.
// CHECK-LABEL: func.func @rows(
// CHECK: %[[ALL:.*]] = scf.for %[[I:.*]] = %c0 to %c50 step %c10 iter_args(%[[SUM:.*]] =
// CHECK: %[[PIECE:.*]] = scf.for %{{.*}} = %[[I]] to %{{.*}} step %c1 iter_args(%[[BEFORE:.*]] = %cst)
// CHECK: scf.for %{{.*}} = %c0 to %c100 step %c1 iter_args(%{{.*}} = %[[BEFORE]])
// CHECK: arith.addf {{.*}} fastmath<reassoc>
// CHECK: arith.addf %[[SUM]], %[[PIECE]]
// GPU-LABEL: func.func @rows(
func.func @rows(%x: tensor<1000x50x100xf32>, %z: tensor<1000xf32>) -> tensor<1000xf32> {
  %r = linalg.reduce {arith.addf} ins(%x : tensor<1000x50x100xf32>) outs(%z : tensor<1000xf32>) dimensions = [1, 2]
  return %r : tensor<1000xf32>
}

// -----

// Each of 256 threads adds up 391 elements of a row, 64 at a time.
// CHECK-LABEL: func.func @lanes(
// GPU-LABEL: func.func @lanes(
// GPU: gpu.launch
// GPU: %[[ALL:.*]] = scf.for %[[I:.*]] = %{{.*}} to %c100000 step %[[PIECE:c16384.*]] iter_args(%[[SUM:.*]] = %[[NEUTRAL:.*]])
// GPU: %[[ON:.*]] = arith.addi %[[I]], %[[PIECE]]
// GPU: %[[END:.*]] = arith.minui %[[ON]], %c100000
// GPU: %[[MINE:.*]] = scf.for %{{.*}} = %[[I]] to %[[END]] step %{{.*}} iter_args(%{{.*}} = %[[NEUTRAL]])
// GPU: %[[NEXT:.*]] = arith.addf %[[SUM]], %[[MINE]] : f32
// GPU: scf.yield %[[NEXT]]
func.func @lanes(%x: tensor<1000x100000xf32>, %z: tensor<1000xf32>) -> tensor<1000xf32> {
  %r = linalg.reduce {arith.addf} ins(%x : tensor<1000x100000xf32>) outs(%z : tensor<1000xf32>) dimensions = [1]
  return %r : tensor<1000xf32>
}

// -----

// CHECK-LABEL: func.func @integers(
// CHECK-NOT: memref.alloca
// CHECK: scf.for %{{.*}} = %c0 to %c4000 step %c4
// GPU-LABEL: func.func @integers(
func.func @integers(%x: tensor<4000x1024xi32>, %z: tensor<1024xi32>) -> tensor<1024xi32> {
  %r = linalg.reduce {arith.addi} ins(%x : tensor<4000x1024xi32>) outs(%z : tensor<1024xi32>) dimensions = [0]
  return %r : tensor<1024xi32>
}

// -----

// Of 262144 elements no part is another block's either.
// CHECK-LABEL: func.func @running(
// CHECK-COUNT-1: gpu.launch
// CHECK: scf.for %{{.*}} = %c0 to %c262144 step %c1 iter_args(
// CHECK-NOT: scf.for
// CHECK-NOT: gpu.launch
// GPU-LABEL: func.func @running(
func.func @running(%x: tensor<262144xf32>, %y: tensor<f32>, %z: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%x : tensor<262144xf32>) outs(%y, %z : tensor<f32>, tensor<f32>) {
  ^bb0(%a: f32, %sum: f32, %sums: f32):
    %s = arith.addf %sum, %a : f32
    %t = arith.addf %sums, %s : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  return %r#0, %r#1 : tensor<f32>, tensor<f32>
}
