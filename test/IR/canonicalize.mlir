// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Needless waits and dependencies go (D10), and doing it twice changes nothing.
//
// RUN: gpu-opt %s -canonicalize | FileCheck %s
// RUN: gpu-opt %s -canonicalize -cse -loop-invariant-code-motion | FileCheck %s --check-prefix=HOIST
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

// Sizes of groups are constants. Collectives stay, in their order, and so do two
// that are equal.
gpu_async.group @rows grid [2, 3] axes [1]
gpu_async.group @pairs ranks [[0, 3], [1, 4], [2, 5]]

// CHECK-LABEL: func.func @ranks
func.func @ranks(%x: memref<4xf32>) -> (index, index, index) {
  // CHECK-DAG: %[[ROWS:.*]] = arith.constant 3 : index
  // CHECK-DAG: %[[PAIRS:.*]] = arith.constant 2 : index
  // CHECK: %[[N:.*]] = gpu_async.size
  // CHECK-NEXT: gpu_async.collective barrier
  // CHECK-NEXT: gpu_async.collective all_reduce<sum>
  // CHECK-NEXT: gpu_async.collective all_reduce<sum>
  // CHECK-NEXT: gpu_async.collective barrier
  // CHECK-NEXT: return %[[N]], %[[ROWS]], %[[PAIRS]]
  %unused = gpu_async.rank @rows
  %n = gpu_async.size
  %rows = gpu_async.size @rows
  %pairs = gpu_async.size @pairs
  gpu_async.collective barrier
  gpu_async.collective all_reduce<sum> group(@rows) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.collective all_reduce<sum> group(@rows) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.collective barrier
  return %n, %rows, %pairs : index, index, index
}

// A loop keeps them, in each of its rounds; numbers of ranks leave it.
// CHECK-LABEL: func.func @rounds
func.func @rounds(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // HOIST-LABEL: func.func @rounds
  // HOIST: gpu_async.rank
  // HOIST: scf.for
  // HOIST: gpu_async.collective barrier
  // HOIST-NEXT: gpu_async.collective barrier
  // CHECK: scf.for
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %c0) -> (index) {
    // CHECK: gpu_async.collective barrier
    // CHECK-NEXT: gpu_async.collective barrier
    gpu_async.collective barrier
    gpu_async.collective barrier
    %r = gpu_async.rank
    %t = arith.addi %s, %r : index
    scf.yield %t : index
  }
  return %sum : index
}

// Collectives of tensors stay, too, also if nobody uses the results.
// CHECK-LABEL: func.func @tensors
// HOIST-LABEL: func.func @tensors
func.func @tensors(%n: index, %x: tensor<4xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // HOIST-NOT: gpu_async.tensor_collective
  // HOIST: scf.for
  // HOIST-NEXT: gpu_async.tensor_collective all_reduce<max>
  // HOIST-NEXT: gpu_async.tensor_collective all_reduce<max>
  // HOIST-NEXT: }
  // HOIST-NEXT: gpu_async.tensor_collective all_reduce<sum>
  // HOIST-NEXT: gpu_async.collective barrier
  // HOIST-NEXT: %[[R:.*]] = gpu_async.tensor_collective all_reduce<sum>
  // HOIST-NEXT: return %[[R]]
  // CHECK: scf.for
  // CHECK-COUNT-2: gpu_async.tensor_collective all_reduce<max>
  // CHECK: gpu_async.tensor_collective all_reduce<sum>
  // CHECK-NEXT: gpu_async.collective barrier
  // CHECK-NEXT: gpu_async.tensor_collective all_reduce<sum>
  scf.for %i = %c0 to %n step %c1 {
    %0 = gpu_async.tensor_collective all_reduce<max> ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
    %1 = gpu_async.tensor_collective all_reduce<max> ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  }
  %2 = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  gpu_async.collective barrier
  %3 = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return %3 : tensor<4xf32>
}
