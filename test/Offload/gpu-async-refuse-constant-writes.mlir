// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --gpu-async-refuse-constant-writes -split-input-file -verify-diagnostics
// RUN: gpu-opt %s --gpu-async-pipeline="targets=cpu offload=off" -split-input-file -verify-diagnostics

// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
func.func @store(%x: f32) {
  %c0 = arith.constant 0 : index
  %c = memref.get_global @c : memref<4xf32>
  // expected-error @below {{writes @c, which is a constant: leave out 'constant' where the global is made}}
  memref.store %x, %c[%c0] : memref<4xf32>
  return
}

// -----

// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
func.func @fill_of_view(%x: f32) {
  %c = memref.get_global @c : memref<4xf32>
  %v = memref.subview %c[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
  // expected-error @below {{writes @c, which is a constant}}
  linalg.fill ins(%x : f32) outs(%v : memref<2xf32, strided<[1], offset: 1>>)
  return
}

// -----

// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
func.func @copy(%m: memref<4xf32>) {
  %c = memref.get_global @c : memref<4xf32>
  memref.copy %c, %m : memref<4xf32> to memref<4xf32>
  // expected-error @below {{writes @c, which is a constant}}
  memref.copy %m, %c : memref<4xf32> to memref<4xf32>
  return
}
