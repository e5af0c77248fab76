// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file --gpu-async-bufferize | FileCheck %s

// Globals of constant tensors have names in the order of the program, the
// newest one first. Upstream's bufferization orders functions by their addresses
// (D15).
// CHECK: memref.global "private" constant @__constant_2xf32_4 : memref<2xf32> = dense<[5.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32_3 : memref<2xf32> = dense<[4.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32_2 : memref<2xf32> = dense<[3.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32_1 : memref<2xf32> = dense<[2.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32_0 : memref<2xf32> = dense<[1.000000e+00,
// CHECK: memref.global "private" constant @__constant_2xf32 : memref<2xf32> = dense<[0.000000e+00,

func.func @a(%n: index) -> f32 attributes {gpu_async.offloaded} {
  %c = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @b(%n: index) -> f32 attributes {gpu_async.offloaded} {
  %c = arith.constant dense<[1.0, 1.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @c(%n: index) -> f32 attributes {gpu_async.offloaded} {
  %c = arith.constant dense<[2.0, 2.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @d(%n: index) -> f32 attributes {gpu_async.offloaded} {
  %c = arith.constant dense<[3.0, 3.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @e(%n: index) -> f32 attributes {gpu_async.offloaded} {
  %c = arith.constant dense<[4.0, 4.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

func.func @f(%n: index) -> f32 attributes {gpu_async.offloaded} {
  %c = arith.constant dense<[5.0, 5.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

// -----

// The numbers of results that are memrefs now, and who frees memory, for
// gpu-async-deallocate.
// CHECK-LABEL: func.func @results
// CHECK-SAME: -> (memref<?xf32>, memref<4xf32>, f32, memref<2xf32>) attributes {frees_memory, gpu_async.offloaded, memref_results = array<i64: 1, 3>}
func.func @results(%x: tensor<?xf32>, %m: memref<4xf32>, %n: memref<2xf32>, %o: memref<2xf32>, %v: f32) -> (tensor<?xf32>, memref<4xf32>, f32, memref<2xf32>) attributes {gpu_async.offloaded} {
  memref.dealloc %o : memref<2xf32>
  return %x, %m, %v, %n : tensor<?xf32>, memref<4xf32>, f32, memref<2xf32>
}
// CHECK: func.func private @declared() -> memref<4xf32> attributes {memref_results = array<i64: 0>}
func.func private @declared() -> memref<4xf32>
// CHECK: func.func @numbers(%{{.*}}: f32) -> f32 {
func.func @numbers(%v: f32) -> f32 {
  return %v : f32
}

// -----

// Each op writes to a copy, where upstream's analysis is left out.
// CHECK-LABEL: func.func @copies
// CHECK-SAME: attributes {gpu_async.offloaded}
// CHECK: memref.alloc
// CHECK: memref.copy
// CHECK: memref.store
func.func @copies(%v: f32, %i: index, %n: memref<4xf32>) attributes {copy_before_write, gpu_async.offloaded} {
  %e = bufferization.alloc_tensor() : tensor<4xf32>
  %x = tensor.insert %v into %e[%i] : tensor<4xf32>
  bufferization.materialize_in_destination %x in restrict writable %n : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

// CHECK-LABEL: func.func @unmarked
// CHECK: arith.constant dense
func.func @unmarked(%n: index) -> f32 {
  %c = arith.constant dense<[0.0, 0.5]> : tensor<2xf32>
  %x = tensor.extract %c[%n] : tensor<2xf32>
  return %x : f32
}

// RUN: gpu-opt %s -split-input-file --gpu-async-bufferize --remarks-filter=gpu-async-bufferize --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] CopyBeforeWrite | Category:gpu-async-bufferize | Function=copies | copying-functions=1{{$}}
