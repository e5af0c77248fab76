// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A ceildiv of an affine op is arith's, wherever it stands; where there is one, all
// affine ops are lowered.
// RUN: gpu-opt %s -split-input-file -gpu-async-avoid-faults | FileCheck %s

// CHECK-LABEL: func.func @ops
// CHECK-NOT: affine.
// CHECK-COUNT-8: arith.ceildivsi
// CHECK-NOT: affine.
func.func @ops(%n: index, %m: memref<?xf32>) -> (index, index, index) {
  // With the rest of the expression, and of another ceildiv.
  %0 = affine.apply affine_map<(d0)[s0] -> ((d0 ceildiv 7 + d0 mod 3) ceildiv 5 + s0 * 2)>(%n)[%n]
  %1 = affine.min affine_map<(d0) -> (d0 ceildiv 2, 10)>(%n)
  %2 = affine.max affine_map<(d0) -> (d0, 3)>(%n)
  affine.for %i = affine_map<(d0) -> (d0 ceildiv 9)>(%n) to min affine_map<(d0) -> (d0, d0 ceildiv 4)>(%n) {
    affine.if affine_set<(d0) : (d0 ceildiv 3 - 2 >= 0)>(%i) {
      %v = affine.load %m[%i ceildiv 6] : memref<?xf32>
      affine.store %v, %m[%i] : memref<?xf32>
    }
  }
  affine.parallel (%i) = (0) to (%n ceildiv 8) {
    %v = affine.load %m[%i] : memref<?xf32>
    affine.store %v, %m[%i] : memref<?xf32>
  }
  return %0, %1, %2 : index, index, index
}

// -----

// Without one they stay as they are.
// CHECK-LABEL: func.func @none
// CHECK: affine.apply
// CHECK: affine.for
func.func @none(%n: index, %m: memref<?xf32>) -> index {
  %0 = affine.apply affine_map<(d0) -> (d0 floordiv 7)>(%n)
  affine.for %i = 0 to %n {
    %v = affine.load %m[%i] : memref<?xf32>
    affine.store %v, %m[%i] : memref<?xf32>
  }
  return %0 : index
}
