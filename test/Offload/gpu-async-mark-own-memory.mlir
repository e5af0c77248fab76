// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --gpu-async-mark-own-memory | FileCheck %s

// A function that frees memory frees all of its own.
// CHECK-LABEL: func.func @frees
// CHECK: memref.alloc() {bufferization.manual_deallocation} : memref<4xf32>
// CHECK: memref.alloc() {bufferization.manual_deallocation} : memref<8xf32>
// CHECK: memref.dealloc %{{.*}} {bufferization.manual_deallocation}
func.func @frees(%v: f32, %i: index) -> f32 attributes {gpu_async.offloaded} {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<8xf32>
  memref.store %v, %a[%i] : memref<4xf32>
  memref.store %v, %b[%i] : memref<8xf32>
  %w = memref.load %a[%i] : memref<4xf32>
  %u = memref.load %b[%i] : memref<8xf32>
  %r = arith.addf %w, %u : f32
  memref.dealloc %a : memref<4xf32>
  return %r : f32
}

// What is returned, stored or handed on is freed by who gets it.
// CHECK-LABEL: func.func @hands_on
// CHECK: memref.alloc() {bufferization.manual_deallocation} : memref<1xf32>
// CHECK: memref.alloc() {bufferization.manual_deallocation} : memref<2xf32>
// CHECK: memref.alloc() {bufferization.manual_deallocation} : memref<3xf32>
// CHECK: memref.alloc() : memref<4xf32>
func.func @hands_on(%x: tensor<4xf32>, %s: memref<memref<2xf32>>) -> memref<1xf32> attributes {gpu_async.offloaded} {
  %a = memref.alloc() : memref<1xf32>
  %b = memref.alloc() : memref<2xf32>
  %c = memref.alloc() : memref<3xf32>
  %d = memref.alloc() : memref<4xf32>
  memref.store %b, %s[] : memref<memref<2xf32>>
  call @declared(%c) : (memref<3xf32>) -> ()
  call @reads(%d) : (memref<4xf32>) -> ()
  return %a : memref<1xf32>
}
func.func private @declared(memref<3xf32>)
func.func private @reads(%m: memref<4xf32>) {
  return
}

// A reallocation is an allocation, a copy and a free.
// CHECK-LABEL: func.func @grows
// CHECK-NOT: memref.realloc
// CHECK: memref.alloc({{.*}}) {bufferization.manual_deallocation} : memref<?xf32>
// CHECK: memref.dealloc %{{.*}} {bufferization.manual_deallocation} : memref<?xf32>
func.func @grows(%x: tensor<4xf32>, %n: index, %m: memref<?xf32>) -> memref<?xf32> attributes {gpu_async.offloaded} {
  %r = memref.realloc %m(%n) : memref<?xf32> to memref<?xf32>
  return %r : memref<?xf32>
}

// CHECK-LABEL: func.func @unmarked
// CHECK-NOT: manual_deallocation
func.func @unmarked() {
  %a = memref.alloc() : memref<4xf32>
  memref.dealloc %a : memref<4xf32>
  return
}

// RUN: gpu-opt %s --gpu-async-mark-own-memory --remarks-filter=gpu-async-mark-own-memory --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] OwnMemory | Category:gpu-async-mark-own-memory | Function=frees | own-allocations=2{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] OwnMemory | Category:gpu-async-mark-own-memory | Function=hands_on | own-allocations=3{{$}}
