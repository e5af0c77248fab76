// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --pass-pipeline="builtin.module(func.func(gpu-async-take-donated))" -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @takes
// CHECK-SAME: %[[R:[a-z0-9]+]]: memref<4xf32> {gpu_async.result = 0 : i64, gpu_async.takes = 0 : i64}
// CHECK-NOT: memref.copy
// CHECK: linalg.map { math.exp } ins(%[[R]] : memref<4xf32>) outs(%[[R]] : memref<4xf32>)
func.func @takes(%x: memref<4xf32> {gpu_async.donated}, %r: memref<4xf32> {gpu_async.result = 0 : i64}) {
  memref.copy %x, %r : memref<4xf32> to memref<4xf32>
  linalg.map {math.exp} ins(%r : memref<4xf32>) outs(%r : memref<4xf32>)
  return
}

// expected-warning @below {{some donated arguments are not usable, and no result takes their memory: argument 0 of tensor<4xf32>: results of its type have other memory, or are written before it is read for the last time}}
func.func @read_later(%x: memref<4xf32> {gpu_async.donated}, %v: f32, %i: index, %r: memref<4xf32> {gpu_async.result = 0 : i64}) -> f32 {
  linalg.fill ins(%v : f32) outs(%r : memref<4xf32>)
  %w = memref.load %x[%i] : memref<4xf32>
  return %w : f32
}

// CHECK-LABEL: func.func @not_donated
// CHECK: memref.copy
func.func @not_donated(%x: memref<4xf32>, %r: memref<4xf32> {gpu_async.result = 0 : i64}) {
  memref.copy %x, %r : memref<4xf32> to memref<4xf32>
  return
}

// RUN: gpu-opt %s --pass-pipeline="builtin.module(func.func(gpu-async-take-donated))" --remarks-filter=gpu-async-take-donated --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] TakenArguments | Category:gpu-async-take-donated | Function=takes | taken-arguments=1{{$}}
