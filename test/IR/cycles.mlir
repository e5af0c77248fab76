// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens that go round, in a graph region or in blocks that are never reached:
// what folds or flattens joins comes to an end.
//
// RUN: gpu-opt %s -canonicalize | FileCheck %s
// RUN: gpu-opt %s -cse -o /dev/null
// RUN: gpu-opt %s -convert-gpu-to-gpu-async -o /dev/null
// RUN: gpu-opt %s -gpu-async-print-hazards -o /dev/null
// RUN: not gpu-opt %s -gpu-async-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=REFUSED

// REFUSED: cycles.mlir:[[#]]:[[#]]: error:

// CHECK-LABEL: func.func @unreached
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @unreached(%x: memref<8xf32>, %v: f32) {
  return
^a(%t: !gpu_async.token):
  %a = gpu_async.wait async [%a]
  %b = gpu_async.fork %b : 1
  %c = gpu_async.wait async [%d]
  %d = gpu_async.wait async [%c]
  %e = gpu_async.memset async [%e] %x, %v : memref<8xf32>, f32
  %f = gpu_async.wait async [%g]
  %h = gpu_async.wait async [%i, %e]
  %i = gpu_async.wait async [%h, %e]
  cf.br ^b
^b:
  %g = gpu_async.wait async [%f]
  cf.br ^a(%g : !gpu_async.token)
}

// CHECK-LABEL: func.func @graph
func.func @graph(%x: memref<8xf32>, %v: f32) {
  builtin.module {
    %y = memref.alloc() : memref<8xf32>
    %w = arith.constant 1.0 : f32
    // CHECK: gpu_async.wait async
    %a = gpu_async.wait async [%a]
    %b = gpu_async.wait async [%c]
    %c = gpu_async.wait async [%b]
    %d = gpu_async.wait async [%e, %a]
    %e = gpu_async.wait async [%d, %a]
    %f = gpu_async.fork %g : 1
    %g = gpu_async.fork %f : 1
    // CHECK: %[[SELF:.*]] = gpu_async.memset async [%[[SELF]]]
    %h = gpu_async.memset async [%i] %y, %w : memref<8xf32>, f32
    %i = gpu_async.wait async [%h]
  }
  return
}
