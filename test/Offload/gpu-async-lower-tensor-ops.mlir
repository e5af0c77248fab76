// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -verify-diagnostics -gpu-async-lower-tensor-ops -canonicalize | FileCheck %s

#map = affine_map<(i) -> (i)>

// Threads write different elements of the diagonal, each in its place.
// CHECK-LABEL: func.func @diagonal
// CHECK-SAME: (%[[X:.*]]: tensor<3xi32>, %[[Z:.*]]: tensor<3x3xi32>)
// CHECK: scf.forall (%[[I:.*]]) in (3) shared_outs(%[[O:.*]] = %[[Z]])
// CHECK: %[[S:.*]] = tensor.extract_slice %[[O]][%[[I]], %[[I]]] [1, 1] [1, 1]
// CHECK: %[[V:.*]] = tensor.extract %[[X]][%[[I]]]
// CHECK: %[[R:.*]] = tensor.insert %[[V]] into %[[S]]
// CHECK: tensor.parallel_insert_slice %[[R]] into %[[O]][%[[I]], %[[I]]] [1, 1] [1, 1]
// CHECK: mapping = [#gpu.block<linear_dim_0>]
func.func @diagonal(%x: tensor<3xi32>, %z: tensor<3x3xi32>) -> tensor<3x3xi32> {
  %r = linalg.generic {indexing_maps = [#map, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]} ins(%x : tensor<3xi32>) outs(%z : tensor<3x3xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<3x3xi32>
  return %r : tensor<3x3xi32>
}

// -----

// Iterations that write one element are one thread's.
// CHECK-LABEL: func.func @one_element
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK: scf.for
// CHECK: scf.for
// CHECK: tensor.insert
func.func @one_element(%x: tensor<2x3xi32>, %z: tensor<4xi32>) -> tensor<4xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i + j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%z : tensor<4xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// -----

// The index i follows from the first dimension, then j from the second one.
// CHECK-LABEL: func.func @different_elements
// CHECK: scf.forall (%[[I:.*]], %[[J:.*]]) in (2, 3) {
// CHECK-NOT: scf.for
// CHECK: memref.store
func.func @different_elements(%x: memref<2x3xi32>, %z: memref<6x7xi32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i * 2 + 3, i + j)>], iterator_types = ["parallel", "parallel"]} ins(%x : memref<2x3xi32>) outs(%z : memref<6x7xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  }
  return
}

// -----

// Whole outputs, and sums that keep a dimension of one element, stay as they are.
// CHECK-LABEL: func.func @whole
// CHECK-NOT: scf.for
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func @whole(%x: tensor<2x?xi32>, %t: tensor<?x2xi32>, %z: tensor<2x1xi32>) -> (tensor<?x2xi32>, tensor<2x1xi32>) {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x?xi32>) outs(%t : tensor<?x2xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<?x2xi32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x?xi32>) outs(%z : tensor<2x1xi32>) {
  ^bb0(%p: i32, %o: i32):
    %0 = arith.addi %p, %o : i32
    linalg.yield %0 : i32
  } -> tensor<2x1xi32>
  return %r, %s : tensor<?x2xi32>, tensor<2x1xi32>
}

// -----

// Without an element nothing is written.
// CHECK-LABEL: func.func @no_elements
// CHECK-SAME: (%{{.*}}: tensor<2x0xi32>, %[[Z:.*]]: tensor<2xi32>)
// CHECK-NEXT: return %[[Z]]
func.func @no_elements(%x: tensor<2x0xi32>, %z: tensor<2xi32>) -> tensor<2xi32> {
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x0xi32>) outs(%z : tensor<2xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// -----

// CHECK-LABEL: func.func @generate
// CHECK-SAME: (%[[M:.*]]: memref<4xi32>)
// CHECK-NOT: tensor.generate
// CHECK: linalg.generic
// CHECK: memref.load %[[M]]
// CHECK: memref.store
func.func @generate(%m: memref<4xi32>) -> i32 {
  %c1 = arith.constant 1 : index
  %nine = arith.constant 9 : i32
  %g = tensor.generate {
  ^bb0(%i: index):
    %v = memref.load %m[%i] : memref<4xi32>
    tensor.yield %v : i32
  } : tensor<4xi32>
  memref.store %nine, %m[%c1] : memref<4xi32>
  %x = tensor.extract %g[%c1] : tensor<4xi32>
  return %x : i32
}

// -----

// One that only computes stays.
// CHECK-LABEL: func.func @computes
// CHECK: tensor.generate
func.func @computes(%n: index) -> tensor<?xindex> {
  %g = tensor.generate %n {
  ^bb0(%i: index):
    tensor.yield %i : index
  } : tensor<?xindex>
  return %g : tensor<?xindex>
}

// -----

// CHECK-LABEL: func.func @crop
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xi32>)
// CHECK: %[[S:.*]] = tensor.extract_slice %[[X]][0, 1] [2, 2] [1, 1]
// CHECK: tensor.pad %[[S]] low[0, 0] high[2, 0]
func.func @crop(%x: tensor<2x4xi32>) -> tensor<4x2xi32> {
  %nine = arith.constant 9 : i32
  %r = tensor.pad %x low[0, -1] high[2, -1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %nine : i32
  } : tensor<2x4xi32> to tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}

// -----

func.func @too_much(%x: tensor<3xi32>) -> tensor<?xi32> {
  %nine = arith.constant 9 : i32
  %low = arith.constant -3 : index
  // expected-error @below {{'tensor.pad' op takes 4 elements away from dimension 0, which has 3: take away no more than there is}}
  %r = tensor.pad %x low[%low] high[-1] {
  ^bb0(%i: index):
    tensor.yield %nine : i32
  } : tensor<3xi32> to tensor<?xi32>
  return %r : tensor<?xi32>
}

// -----

// Which of the dimensions of one element is left out the types say only here.
// CHECK-LABEL: func.func @slice
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0] [1, 4, 1] [1, 1, 1] : tensor<1x8x1xf32> to tensor<1x4x1xf32>
// CHECK: tensor.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]] : tensor<1x4x1xf32> into tensor<1x4xf32>
// CHECK: tensor.extract_slice %{{.*}}[0, 0, 0] [1, 4, 1] [1, 1, 1] : tensor<1x8x1xf32> to tensor<4x1xf32>
func.func @slice(%x: tensor<1x8x1xf32>) -> (tensor<1x4xf32>, tensor<4x1xf32>) {
  %s = tensor.extract_slice %x[0, 0, 0] [1, 4, 1] [1, 1, 1] : tensor<1x8x1xf32> to tensor<1x4xf32>
  %t = tensor.extract_slice %x[0, 0, 0] [1, 4, 1] [1, 1, 1] : tensor<1x8x1xf32> to tensor<4x1xf32>
  return %s, %t : tensor<1x4xf32>, tensor<4x1xf32>
}

// -----

// CHECK-LABEL: func.func @tiles
// CHECK-NOT: linalg.pack
// CHECK-NOT: linalg.unpack
// CHECK: linalg.transpose
func.func @tiles(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %e = tensor.empty() : tensor<2x3x2x2xf32>
  %p = linalg.pack %x inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<4x6xf32> -> tensor<2x3x2x2xf32>
  %n = arith.negf %p : tensor<2x3x2x2xf32>
  %o = tensor.empty() : tensor<4x6xf32>
  %u = linalg.unpack %n inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %o : tensor<2x3x2x2xf32> -> tensor<4x6xf32>
  return %u : tensor<4x6xf32>
}

// RUN: not gpu-opt %s -split-input-file -gpu-async-lower-tensor-ops --remarks-filter=gpu-async-lower-tensor-ops --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] LoweredOp | Category:gpu-async-lower-tensor-ops | Function=diagonal | lowered-ops=1{{$}}
