// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s "-gpu-async-offload=device=cpu vector-registers=16 vector-bits=256" | FileCheck %s "--implicit-check-not={{(div|rem)[us]i}}"
//
// The reduction of a convolution stays loops over the window and the channels: no step
// divides. Columns are packed once for the rows of an image that a block has.

// CHECK-LABEL: func.func @image
// Two rows of the window's three places and 64 channels would be more than 256 steps.
// CHECK: memref.alloca() {{.*}} : memref<192x16xf32>
// Where the block begins it divides.
// CHECK: arith.remui
// CHECK: arith.divui
// The window's rows, the columns of a block, and what is packed.
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c3{{.*}} step %c1
// CHECK: scf.for %{{.*}} step %c16
// CHECK: scf.for {{.*}} to %c3
// CHECK: scf.for {{.*}} to %c64
// CHECK: vector.store
// Rows of the image (a block has four of 28 elements), rows of registers, and the sums of
// the steps.
// CHECK: scf.for {{.*}} to %c4{{.*}} step %c1
// CHECK: scf.for {{.*}} to %c28{{.*}} step %c6
// CHECK: scf.for {{.*}} to %c3{{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
// CHECK: scf.for {{.*}} to %c64{{.*}} iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>)
func.func @image(%a: tensor<1x30x30x64xf32>, %b: tensor<3x3x64x128xf32>, %z: tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32> {
  %r = linalg.conv_2d_nhwc_hwcf ins(%a, %b : tensor<1x30x30x64xf32>, tensor<3x3x64x128xf32>) outs(%z : tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32>
  return %r : tensor<1x28x28x128xf32>
}
