// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that go through all operands one element after the other are one loop on the CPU: vectors
// need more rounds than the ten of an innermost loop.
// RUN: gpu-opt %s -split-input-file -gpu-async-offload="device=cpu" | FileCheck %s

// CHECK-LABEL: func.func @all
// CHECK: gpu.launch
// CHECK-COUNT-3: memref.collapse_shape %{{.*}} {{\[\[}}0, 1]]
// CHECK: scf.for %[[I:.*]] = %c0 to
// CHECK-NOT: scf.for
// CHECK: memref.load %{{.*}}[%[[I]]]
func.func @all(%x: tensor<30x10xf32>, %y: tensor<30x10xf32>) -> tensor<30x10xf32> {
  %r = arith.addf %x, %y : tensor<30x10xf32>
  return %r : tensor<30x10xf32>
}

// -----
// Two of three loops, where an operand has no dimension for the first; and a number.
#all = affine_map<(i, j, k) -> (i, j, k)>
#plane = affine_map<(i, j, k) -> (j, k)>
#line = affine_map<(i, j, k) -> (i)>
// CHECK-LABEL: func.func @two
// CHECK: gpu.launch
// CHECK-DAG: memref.collapse_shape %{{.*}} {{\[\[}}0], [1, 2]]
// CHECK-DAG: memref.collapse_shape %{{.*}} {{\[\[}}0, 1]]
// CHECK: scf.for %[[I:.*]] = %c0 to
// CHECK: scf.for %[[J:.*]] = %c0 to
// CHECK-NOT: scf.for
func.func @two(%x: tensor<4x30x10xf32>, %y: tensor<30x10xf32>, %z: tensor<4xf32>, %e: tensor<4x30x10xf32>) -> tensor<4x30x10xf32> {
  %r = linalg.generic {indexing_maps = [#all, #plane, #line, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y, %z : tensor<4x30x10xf32>, tensor<30x10xf32>, tensor<4xf32>) outs(%e : tensor<4x30x10xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    %t = arith.mulf %s, %c : f32
    linalg.yield %t : f32
  } -> tensor<4x30x10xf32>
  return %r : tensor<4x30x10xf32>
}

// -----
// Not where an operand has the last loop alone, is turned or strided, nor where the body asks for
// the place.
#all = affine_map<(i, j) -> (i, j)>
#last = affine_map<(i, j) -> (j)>
#turned = affine_map<(i, j) -> (j, i)>
// CHECK-LABEL: func.func @bias
// CHECK-NOT: memref.collapse_shape
// CHECK-LABEL: func.func @transpose
// CHECK-NOT: memref.collapse_shape
// CHECK-LABEL: func.func @part
// CHECK-NOT: memref.collapse_shape
// CHECK-LABEL: func.func @places
// CHECK-NOT: memref.collapse_shape
func.func @bias(%x: tensor<30x10xf32>, %y: tensor<10xf32>, %e: tensor<30x10xf32>) -> tensor<30x10xf32> {
  %r = linalg.generic {indexing_maps = [#all, #last, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<30x10xf32>, tensor<10xf32>) outs(%e : tensor<30x10xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<30x10xf32>
  return %r : tensor<30x10xf32>
}
func.func @transpose(%x: tensor<30x10xf32>, %e: tensor<10x30xf32>) -> tensor<10x30xf32> {
  %r = linalg.generic {indexing_maps = [#turned, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<30x10xf32>) outs(%e : tensor<10x30xf32>) {
  ^bb0(%a: f32, %out: f32):
    %s = arith.negf %a : f32
    linalg.yield %s : f32
  } -> tensor<10x30xf32>
  return %r : tensor<10x30xf32>
}
func.func @part(%x: memref<30x10xf32, strided<[12, 1]>>, %y: memref<30x10xf32, strided<[12, 1]>>) {
  linalg.exp ins(%x : memref<30x10xf32, strided<[12, 1]>>) outs(%y : memref<30x10xf32, strided<[12, 1]>>)
  return
}
func.func @places(%x: tensor<30x10xindex>, %e: tensor<30x10xindex>) -> tensor<30x10xindex> {
  %r = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<30x10xindex>) outs(%e : tensor<30x10xindex>) {
  ^bb0(%a: index, %out: index):
    %j = linalg.index 1 : index
    %s = arith.addi %a, %j : index
    linalg.yield %s : index
  } -> tensor<30x10xindex>
  return %r : tensor<30x10xindex>
}
