// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-offload="device=gpu place=off" | sed 's/  */ /g' | FileCheck %s

// A row of a cache is written: one copy of the cache, to the result's memory.
// Readers of the new cache read it there.
// CHECK-LABEL: func.func @step
// CHECK-SAME: %[[K:arg0]]: memref<4x8xf32>, %[[ROW:arg1]]: {{.*}} %[[R:arg3]]: memref<4x8xf32> {gpu_async.result = 0
// CHECK-NOT: alloc
// CHECK: gpu.memcpy %[[R]], %[[K]] :
// CHECK: %[[V:.*]] = memref.subview %[[R]][%arg2, 0]
// CHECK: gpu.memcpy %[[V]], %[[ROW]] :
// CHECK: gpu.launch
// CHECK: memref.subview %[[R]]
// CHECK-NOT: {{memcpy|alloc}}
// CHECK: return
func.func @step(%k: tensor<4x8xf32>, %row: tensor<1x8xf32>, %n: index) -> (tensor<4x8xf32>, tensor<4xf32>) {
  %k2 = tensor.insert_slice %row into %k[%n, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.reduce ins(%k2 : tensor<4x8xf32>) outs(%f : tensor<4xf32>) dimensions = [1] (%a: f32, %b: f32) {
    %c = arith.addf %a, %b : f32
    linalg.yield %c : f32
  }
  return %k2, %s : tensor<4x8xf32>, tensor<4xf32>
}

// A loop carries it.
// CHECK-LABEL: func.func @counted
// CHECK: gpu.memcpy %[[R:arg3]], %arg0
// CHECK: scf.for
// CHECK: memref.subview %[[R]]
// CHECK: gpu.memcpy
// CHECK-NOT: memcpy
// CHECK: return
func.func @counted(%k: tensor<4x8xf32>, %rows: tensor<4x8xf32>, %n: index) -> tensor<4x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %k) -> tensor<4x8xf32> {
    %row = tensor.extract_slice %rows[%i, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
    %u = tensor.insert_slice %row into %t[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    scf.yield %u : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @open
// CHECK: gpu.memcpy %[[R:arg3]], %arg0
// CHECK: scf.while
// CHECK: memref.subview %[[R]]
// CHECK: gpu.memcpy
// CHECK-NOT: memcpy
// CHECK: return
func.func @open(%k: tensor<4x8xf32>, %row: tensor<1x8xf32>, %n: index) -> (tensor<4x8xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%i = %c0, %t = %k) : (index, tensor<4x8xf32>) -> (index, tensor<4x8xf32>) {
    %go = arith.cmpi slt, %i, %n : index
    scf.condition(%go) %i, %t : index, tensor<4x8xf32>
  } do {
  ^bb0(%i: index, %t: tensor<4x8xf32>):
    %u = tensor.insert_slice %row into %t[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    %j = arith.addi %i, %c1 : index
    scf.yield %j, %u : index, tensor<4x8xf32>
  }
  return %r#1, %r#0 : tensor<4x8xf32>, index
}

// Both are results: the second begins as a copy of the first, before that is
// anything else. The argument is read where it was.
// CHECK-LABEL: func.func @two
// CHECK: gpu.memcpy %arg3, %arg0
// CHECK: gpu.memcpy %{{.*}}, %arg1
// CHECK: gpu.memcpy %arg4, %arg3
// CHECK: gpu.memcpy %{{.*}}, %arg1
// CHECK: %[[O:.*]] = memref.subview %arg0
// CHECK: gpu.memcpy %arg5, %[[O]]
// CHECK-NOT: memcpy
// CHECK: return
func.func @two(%k: tensor<4x8xf32>, %row: tensor<1x8xf32>, %n: index) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<1x8xf32>) {
  %c1 = arith.constant 1 : index
  %k2 = tensor.insert_slice %row into %k[%n, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  %k3 = tensor.insert_slice %row into %k2[%c1, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  %o = tensor.extract_slice %k[%n, 0] [1, 8] [1, 1] : tensor<4x8xf32> to tensor<1x8xf32>
  return %k2, %k3, %o : tensor<4x8xf32>, tensor<4x8xf32>, tensor<1x8xf32>
}

// One tensor is two results: the second is a copy.
// CHECK-LABEL: func.func @twice
// CHECK: gpu.memcpy %arg3, %arg0
// CHECK: gpu.memcpy %{{.*}}, %arg1
// CHECK: gpu.memcpy %arg4, %arg3
// CHECK-NOT: memcpy
// CHECK: return
func.func @twice(%k: tensor<4x8xf32>, %row: tensor<1x8xf32>, %n: index) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %k2 = tensor.insert_slice %row into %k[%n, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  return %k2, %k2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// The result is one of two pieces of memory: which, only the host's branch says.
// CHECK-LABEL: func.func @either
// CHECK: scf.if
// CHECK: gpu.memcpy %arg4, %{{.*}}
func.func @either(%k: tensor<4x8xf32>, %l: tensor<4x8xf32>, %row: tensor<1x8xf32>, %c: i1) -> (tensor<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %k2 = tensor.insert_slice %row into %k[%c0, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  %l2 = tensor.insert_slice %row into %l[%c0, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
  %r = scf.if %c -> tensor<4x8xf32> {
    %k3 = tensor.insert_slice %row into %k2[%c1, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<4x8xf32>
    scf.yield %k3 : tensor<4x8xf32>
  } else {
    scf.yield %l2 : tensor<4x8xf32>
  }
  return %r : tensor<4x8xf32>
}
