// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes, strides and offsets whose bytes do not fit into 64 bits: what is not
// known may be any part of the buffer.
// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies | FileCheck %s

// 2^64 bytes, of which the buffer has the first.
// CHECK-LABEL: func.func @size
func.func @size(%v: i32) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: gpu_async.memset async [%[[A]]]
  %x = gpu_async.alloc () : memref<16xi32>
  %a = memref.reinterpret_cast %x to offset: [0], sizes: [4611686018427387904], strides: [1] : memref<16xi32> to memref<4611686018427387904xi32>
  %b = memref.subview %x[8] [8] [1] : memref<16xi32> to memref<8xi32, strided<[1], offset: 8>>
  gpu_async.memset %a, %v : memref<4611686018427387904xi32>, i32
  gpu_async.memset %b, %v : memref<8xi32, strided<[1], offset: 8>>, i32
  return
}

// -----

// Two dimensions of 2^62 bytes, the last one of which ends at 2^63.
// CHECK-LABEL: func.func @sum
func.func @sum(%v: i8) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: gpu_async.memset async [%[[A]]]
  %x = gpu_async.alloc () : memref<16xi8>
  %a = memref.reinterpret_cast %x to offset: [0], sizes: [3, 4611686018427387904], strides: [4611686018427387904, 1] : memref<16xi8> to memref<3x4611686018427387904xi8>
  %b = memref.subview %x[8] [8] [1] : memref<16xi8> to memref<8xi8, strided<[1], offset: 8>>
  gpu_async.memset %a, %v : memref<3x4611686018427387904xi8>, i8
  gpu_async.memset %b, %v : memref<8xi8, strided<[1], offset: 8>>, i8
  return
}

// -----

// A stride of 2^64 bytes.
// CHECK-LABEL: func.func @stride
func.func @stride(%v: i32) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: gpu_async.memset async [%[[A]]]
  %x = gpu_async.alloc () : memref<16xi32>
  %a = memref.reinterpret_cast %x to offset: [0], sizes: [2, 8], strides: [4611686018427387904, 2] : memref<16xi32> to memref<2x8xi32, strided<[4611686018427387904, 2]>>
  %b = memref.subview %x[0] [8] [2] : memref<16xi32> to memref<8xi32, strided<[2]>>
  gpu_async.memset %a, %v : memref<2x8xi32, strided<[4611686018427387904, 2]>>, i32
  gpu_async.memset %b, %v : memref<8xi32, strided<[2]>>, i32
  return
}

// -----

// Sizes whose product is 2^66 + 2^33 elements, which is no stride of 2^33.
// CHECK-LABEL: func.func @product
func.func @product(%v: i8) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: gpu_async.memset async [%[[A]]]
  %x = gpu_async.alloc () : memref<34359738368xi8>
  %a = memref.reinterpret_cast %x to offset: [0], sizes: [2, 8589934592, 8589934593], strides: [8589934592, 8589934593, 1] : memref<34359738368xi8> to memref<2x8589934592x8589934593xi8>
  %b = memref.subview %x[17179869184] [8] [1] : memref<34359738368xi8> to memref<8xi8, strided<[1], offset: 17179869184>>
  gpu_async.memset %a, %v : memref<2x8589934592x8589934593xi8>, i8
  gpu_async.memset %b, %v : memref<8xi8, strided<[1], offset: 17179869184>>, i8
  return
}

// -----

// An offset of 2^64 bytes and a bit more.
// CHECK-LABEL: func.func @offset
func.func @offset(%v: i32) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: gpu_async.memset async [%[[A]]]
  %x = gpu_async.alloc () : memref<16xi32>
  %a = memref.reinterpret_cast %x to offset: [4611686018427387905], sizes: [2], strides: [1] : memref<16xi32> to memref<2xi32, strided<[1], offset: 4611686018427387905>>
  %b = memref.subview %x[8] [8] [1] : memref<16xi32> to memref<8xi32, strided<[1], offset: 8>>
  gpu_async.memset %a, %v : memref<2xi32, strided<[1], offset: 4611686018427387905>>, i32
  gpu_async.memset %b, %v : memref<8xi32, strided<[1], offset: 8>>, i32
  return
}

// -----

// 2^62 indices, each fourth one, of a buffer of unknown size.
// CHECK-LABEL: func.func @indices
func.func @indices(%n: index, %v: f32) {
  // CHECK: %{{.*}}, %[[T:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: gpu_async.memset async [%[[A]]]
  %x = gpu_async.alloc (%n) : memref<?xf32>
  %a = memref.subview %x[0] [4611686018427387904] [4] : memref<?xf32> to memref<4611686018427387904xf32, strided<[4]>>
  %b = memref.subview %x[8] [1] [1] : memref<?xf32> to memref<1xf32, strided<[1], offset: 8>>
  gpu_async.memset %a, %v : memref<4611686018427387904xf32, strided<[4]>>, f32
  gpu_async.memset %b, %v : memref<1xf32, strided<[1], offset: 8>>, f32
  return
}
