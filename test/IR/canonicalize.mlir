// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Needless waits and dependencies go (D10), and doing it twice changes nothing.
//
// RUN: gpu-opt %s -canonicalize | FileCheck %s
// RUN: gpu-opt %s -canonicalize -o %t.once
// RUN: gpu-opt %t.once -canonicalize -o %t.twice
// RUN: diff %t.once %t.twice

// CHECK-LABEL: func.func @ready_dependency_goes
func.func @ready_dependency_goes(%x: memref<4xf32>, %y: memref<4xf32>) -> !gpu_async.token {
  %r = gpu_async.wait async
  // CHECK-NEXT: gpu_async.memcpy async %arg0, %arg1
  %t = gpu_async.memcpy async [%r] %x, %y : memref<4xf32>, memref<4xf32>
  return %t : !gpu_async.token
}

// CHECK-LABEL: func.func @join_of_one_is_that_one
// CHECK-SAME: %[[T:.*]]: !gpu_async.token
func.func @join_of_one_is_that_one(%t: !gpu_async.token) -> !gpu_async.token {
  %j = gpu_async.wait async [%t]
  // CHECK-NEXT: return %[[T]]
  return %j : !gpu_async.token
}

// CHECK-LABEL: func.func @repeated_dependency_goes
// CHECK-SAME: %[[T:.*]]: !gpu_async.token
func.func @repeated_dependency_goes(%t: !gpu_async.token) {
  // CHECK-NEXT: gpu_async.wait [%[[T]]]
  gpu_async.wait [%t, %t]
  return
}

// CHECK-LABEL: func.func @joins_of_joins_collapse
// CHECK-SAME: %[[A:.*]]: !gpu_async.token, %[[B:.*]]: !gpu_async.token, %[[C:.*]]: !gpu_async.token
func.func @joins_of_joins_collapse(%a: !gpu_async.token, %b: !gpu_async.token, %c: !gpu_async.token) {
  %ab = gpu_async.wait async [%a, %b]
  %abc = gpu_async.wait async [%ab, %c]
  // CHECK-NEXT: gpu_async.wait [%[[A]], %[[B]], %[[C]]]
  gpu_async.wait [%abc]
  return
}

// A join with several users saves edges.
// CHECK-LABEL: func.func @shared_join_stays
func.func @shared_join_stays(%a: !gpu_async.token, %b: !gpu_async.token, %x: memref<4xf32>, %y: memref<4xf32>) {
  // CHECK-NEXT: %[[J:.*]] = gpu_async.wait async
  %j = gpu_async.wait async [%a, %b]
  // CHECK-NEXT: gpu_async.memcpy async [%[[J]]]
  %t = gpu_async.memcpy async [%j] %x, %y : memref<4xf32>, memref<4xf32>
  // CHECK-NEXT: gpu_async.memcpy async [%[[J]]]
  %u = gpu_async.memcpy async [%j] %y, %x : memref<4xf32>, memref<4xf32>
  gpu_async.wait [%t, %u]
  return
}

// CHECK-LABEL: func.func @waiting_for_nothing
func.func @waiting_for_nothing() {
  // CHECK-NEXT: return
  %r = gpu_async.wait async
  gpu_async.wait [%r]
  return
}

// CHECK-LABEL: func.func @fork_of_one
// CHECK-SAME: %[[T:.*]]: !gpu_async.token
func.func @fork_of_one(%t: !gpu_async.token) {
  %f = gpu_async.fork %t : 1
  // CHECK-NEXT: gpu_async.wait [%[[T]]]
  gpu_async.wait [%f]
  return
}

// Work is never dropped, whoever needs its token.
// CHECK-LABEL: func.func @unused_token
func.func @unused_token(%x: memref<4xf32>, %y: memref<4xf32>) {
  // CHECK-NEXT: gpu_async.memcpy async
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  return
}

// CHECK-LABEL: func.func @host_wait_keeps_its_place
func.func @host_wait_keeps_its_place(%t: !gpu_async.token, %x: memref<4xf32>, %i: index) -> f32 {
  // CHECK-NEXT: gpu_async.wait
  gpu_async.wait [%t]
  // CHECK-NEXT: memref.load
  %v = memref.load %x[%i] : memref<4xf32>
  return %v : f32
}
