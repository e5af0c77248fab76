// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-offload=device=cpu | FileCheck %s
//
// What a body reads that is the same for all of a row is read in front of the
// row's loop, if the row has elements.

// CHECK-LABEL: func.func @gather
// CHECK: gpu.launch
// CHECK: scf.for
// CHECK: %[[I:.*]] = memref.load %{{.*}} : memref<?xindex>
// CHECK-NEXT: scf.for
// CHECK-NEXT: %[[V:.*]] = memref.load %{{.*}}[%[[I]], %{{.*}}] : memref<100x64xf32>
// CHECK-NEXT: memref.store %[[V]]
#row = affine_map<(i, j) -> (i, j)>
func.func @gather(%x: tensor<100x64xf32>, %rows: tensor<?xindex>, %r: tensor<40x64xf32>) -> tensor<40x64xf32> {
  %g = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel", "parallel"]} outs(%r : tensor<40x64xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %at = tensor.extract %rows[%i] : tensor<?xindex>
    %v = tensor.extract %x[%at, %j] : tensor<100x64xf32>
    linalg.yield %v : f32
  } -> tensor<40x64xf32>
  return %g : tensor<40x64xf32>
}

// CHECK-LABEL: func.func @maybe_empty
// CHECK: gpu.launch
// CHECK: scf.for
// CHECK: %[[I:.*]] = memref.load %{{.*}} : memref<?xindex>
// CHECK-NEXT: memref.load %{{.*}}[%[[I]], %{{.*}}] : memref<100x?xf32>
func.func @maybe_empty(%x: tensor<100x?xf32>, %rows: tensor<?xindex>, %r: tensor<40x?xf32>) -> tensor<40x?xf32> {
  %g = linalg.generic {indexing_maps = [#row], iterator_types = ["parallel", "parallel"]} outs(%r : tensor<40x?xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %at = tensor.extract %rows[%i] : tensor<?xindex>
    %v = tensor.extract %x[%at, %j] : tensor<100x?xf32>
    linalg.yield %v : f32
  } -> tensor<40x?xf32>
  return %g : tensor<40x?xf32>
}
