// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --pass-pipeline="builtin.module(func.func(gpu-async-compute-in-results))" | FileCheck %s

// CHECK-LABEL: func.func @in_place
// CHECK-SAME: %[[R:[a-z0-9]+]]: memref<4xf32> {gpu_async.result = 0 : i64}
// CHECK: linalg.fill ins(%{{.*}} : f32) outs(%[[R]] : memref<4xf32>)
// CHECK-NOT: memref.copy
func.func @in_place(%v: f32, %r: memref<4xf32> {gpu_async.result = 0 : i64}) {
  %m = memref.alloc() : memref<4xf32>
  linalg.fill ins(%v : f32) outs(%m : memref<4xf32>)
  memref.copy %m, %r : memref<4xf32> to memref<4xf32>
  return
}

// The memory is written after it is copied.
// CHECK-LABEL: func.func @written_later
// CHECK: memref.copy
func.func @written_later(%v: f32, %i: index, %r: memref<4xf32> {gpu_async.result = 0 : i64}) -> f32 {
  %m = memref.alloc() : memref<4xf32>
  linalg.fill ins(%v : f32) outs(%m : memref<4xf32>)
  memref.copy %m, %r : memref<4xf32> to memref<4xf32>
  memref.store %v, %m[%i] : memref<4xf32>
  %w = memref.load %m[%i] : memref<4xf32>
  return %w : f32
}

// An argument that is no result may be memory that something else reads.
// CHECK-LABEL: func.func @no_result
// CHECK: memref.copy
func.func @no_result(%v: f32, %r: memref<4xf32>) {
  %m = memref.alloc() : memref<4xf32>
  linalg.fill ins(%v : f32) outs(%m : memref<4xf32>)
  memref.copy %m, %r : memref<4xf32> to memref<4xf32>
  return
}

// CHECK-LABEL: func.func private @declared
func.func private @declared(memref<4xf32>)

// RUN: gpu-opt %s --pass-pipeline="builtin.module(func.func(gpu-async-compute-in-results))" --remarks-filter=gpu-async-compute-in-results --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] ComputedInResults | Category:gpu-async-compute-in-results | Function=in_place | results=1{{$}}
