// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -gpu-async-reduce-parallel-loops -canonicalize | FileCheck %s

// Each iteration has a place of its own, from 0 on.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: (%[[A:.*]]: memref<?xf32>, %[[LOW:.*]]: index, %[[HIGH:.*]]: index, %[[INIT:.*]]: f32)
// CHECK: %[[COUNT:.*]] = affine.max
// CHECK: %[[BUFFER:.*]] = memref.alloc(%[[COUNT]]) : memref<?xf32>
// CHECK: scf.parallel (%[[I:.*]]) = (%[[LOW]]) to (%[[HIGH]])
// CHECK: %[[V:.*]] = memref.load %[[A]][%[[I]]]
// CHECK: %[[FROM:.*]] = arith.subi %[[I]], %[[LOW]]
// CHECK: %[[PLACE:.*]] = arith.divui %[[FROM]]
// CHECK: memref.store %[[V]], %[[BUFFER]][%[[PLACE]]]
// CHECK: %[[VALUES:.*]] = bufferization.to_tensor %[[BUFFER]] restrict
// CHECK: %[[START:.*]] = linalg.fill ins(%[[INIT]]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[VALUES]] : tensor<?xf32>) outs(%[[START]] : tensor<f32>)
// CHECK: ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32):
// CHECK: arith.addf %[[Y]], %[[X]]
// CHECK: tensor.extract %[[SUM]][]
func.func @sum(%a: memref<?xf32>, %low: index, %high: index, %init: f32) -> f32 {
  %c3 = arith.constant 3 : index
  %r = scf.parallel (%i) = (%low) to (%high) step (%c3) init (%init) -> f32 {
    %v = memref.load %a[%i] : memref<?xf32>
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}

// CHECK-LABEL: func.func @in_a_thread
// CHECK: scf.parallel
// CHECK: %[[SUM:.*]] = scf.for {{.*}} iter_args
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.maximumf
// CHECK: memref.store %[[SUM]]
// CHECK-NOT: memref.alloc
func.func @in_a_thread(%a: memref<8x4x4xf32>, %o: memref<8xf32>, %init: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %r = scf.parallel (%j, %k) = (%c0, %c0) to (%c4, %c4) step (%c1, %c1) init (%init) -> f32 {
      %v = memref.load %a[%i, %j, %k] : memref<8x4x4xf32>
      scf.reduce(%v : f32) {
      ^bb0(%x: f32, %y: f32):
        %s = arith.maximumf %x, %y : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %r, %o[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// CHECK-LABEL: func.func @effects
// CHECK: scf.parallel {{.*}} init
func.func @effects(%a: memref<4xf32>, %init: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.parallel (%i) = (%c0) to (%c4) step (%c1) init (%init) -> f32 {
    %v = memref.load %a[%i] : memref<4xf32>
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      memref.store %y, %a[%c0] : memref<4xf32>
      scf.reduce.return %x : f32
    }
  }
  return %r : f32
}

// RUN: gpu-opt %s -gpu-async-reduce-parallel-loops --remarks-filter=gpu-async-reduce-parallel-loops --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] ReducedByBuffers | Category:gpu-async-reduce-parallel-loops | Function=sum | by-buffers=1{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] ReducedInThread | Category:gpu-async-reduce-parallel-loops | Function=in_a_thread | in-threads=1{{$}}
