// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Globals of constant tensors have names in the order of the program, the
// newest one first. Bufferization alone orders functions by their addresses
// (D15).
// RUN: gpu-opt %s -gpu-async-offload=device=gpu | FileCheck %s

// CHECK: memref.global "private" constant @__constant_2xf32_4 : memref<2xf32> = dense<[5.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32_3 : memref<2xf32> = dense<[4.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32_2 : memref<2xf32> = dense<[3.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32_1 : memref<2xf32> = dense<[2.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32_0 : memref<2xf32> = dense<[1.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32 : memref<2xf32> = dense<[0.000000e+00,

func.func @a(%n: index) -> f32 {
  %c = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @b(%n: index) -> f32 {
  %c = arith.constant dense<[1.0, 1.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @c(%n: index) -> f32 {
  %c = arith.constant dense<[2.0, 2.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @d(%n: index) -> f32 {
  %c = arith.constant dense<[3.0, 3.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @e(%n: index) -> f32 {
  %c = arith.constant dense<[4.0, 4.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @f(%n: index) -> f32 {
  %c = arith.constant dense<[5.0, 5.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}
