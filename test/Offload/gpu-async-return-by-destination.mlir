// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-return-by-destination -verify-diagnostics | FileCheck %s

// Sizes that are constants: the caller's memory. Others are returned, in memory
// of their own.
// CHECK-LABEL: func.func @results
// CHECK-SAME: %[[A:.*]]: tensor<4xf32> {bufferization.writable = false}, %[[B:.*]]: tensor<?xf32> {bufferization.writable = false}, %[[N:.*]]: i32,
// CHECK-SAME: %[[R:.*]]: memref<4xf32> {gpu_async.result = 0 : i64, llvm.noalias}, %[[S:.*]]: memref<4xf32> {gpu_async.result = 3 : i64, llvm.noalias}) -> (tensor<?xf32>, i32)
// CHECK: bufferization.materialize_in_destination %[[A]] in restrict writable %[[R]]
// CHECK: %[[C:.*]] = bufferization.alloc_tensor(){{.*}} copy(%[[B]])
// CHECK: bufferization.materialize_in_destination %[[A]] in restrict writable %[[S]]
// CHECK: return %[[C]], %[[N]]
func.func @results(%a: tensor<4xf32>, %b: tensor<?xf32>, %n: i32) -> (tensor<4xf32>, tensor<?xf32>, i32, tensor<4xf32>) {
  return %a, %b, %n, %a : tensor<4xf32>, tensor<?xf32>, i32, tensor<4xf32>
}

// Nobody outside calls it.
// CHECK-LABEL: func.func private @inner(%{{.*}}: tensor<4xf32>) -> tensor<4xf32>
func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// A loop's tensor stays in one place.
// CHECK-LABEL: func.func @carried
// CHECK: scf.for {{.*}} iter_args(%[[T:.*]] =
// CHECK: %[[U:.*]] = math.exp
// CHECK: %[[V:.*]] = bufferization.materialize_in_destination %[[U]] in %[[T]]
// CHECK: scf.yield %[[V]]
func.func @carried(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> tensor<4xf32> {
    %u = math.exp %t : tensor<4xf32>
    scf.yield %u : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// expected-error @below {{returns tensors from more than one block}}
func.func @blocks(%k: i1, %a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  cf.cond_br %k, ^one, ^two
^one:
  return %a : tensor<4xf32>
^two:
  return %b : tensor<4xf32>
}

// RUN: not gpu-opt %s -split-input-file -gpu-async-return-by-destination --remarks-filter=gpu-async-return-by-destination --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] ResultsByDestination | Category:gpu-async-return-by-destination | Function=results | results=2{{$}}
