// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-take-stream -gpu-async-verify-form=form=stream -gpu-async-verify-schedule -verify-diagnostics | FileCheck %s

// The first stream is the caller's, the other starts behind that, which goes on behind it.
// CHECK-LABEL: func.func @twoStreams(
// CHECK-SAME:    %[[P:[^:]*]]: !llvm.ptr {gpu_async.stream}) {
// CHECK-NEXT:    %[[C:.*]] = gpu_async.stream.external %[[P]] : !llvm.ptr
// CHECK-NOT:     gpu_async
// CHECK:         %[[B:.*]] = gpu_async.event.record on %[[C]]
// CHECK-NEXT:    gpu_async.memset on %[[C]]
// CHECK-NEXT:    %[[S1:.*]] = gpu_async.stream.create
// CHECK-NEXT:    gpu_async.stream.wait %[[S1]], %[[B]]
// CHECK-NEXT:    gpu_async.event.destroy %[[B]]
// CHECK-NEXT:    gpu_async.memset on %[[S1]]
// CHECK-NEXT:    %[[E1:.*]] = gpu_async.event.record on %[[S1]]
// CHECK-NEXT:    gpu_async.stream.wait %[[C]], %[[E1]]
// CHECK-NEXT:    gpu_async.event.destroy %[[E1]]
// CHECK-NEXT:    gpu_async.stream.destroy %[[S1]]{{$}}
// CHECK-NEXT:    gpu_async.stream.destroy %[[C]]{{$}}
// CHECK-NEXT:    return
func.func @twoStreams(%x: memref<8xf32>, %y: memref<8xf32>) {
  %v = arith.constant 1.0 : f32
  %s0 = gpu_async.stream.create
  gpu_async.memset on %s0 id(0) %x, %v : memref<8xf32>, f32
  %s1 = gpu_async.stream.create
  gpu_async.memset on %s1 id(1) %y, %v : memref<8xf32>, f32
  gpu_async.stream.synchronize %s0, %s1
  gpu_async.stream.destroy %s1 idle
  gpu_async.stream.destroy %s0 idle
  return
}

// -----

// Other work than a collective is on the caller's.
// CHECK-LABEL: func.func @urgent(
// CHECK:         %[[C:.*]] = gpu_async.stream.external
// CHECK:         %[[S:.*]] = gpu_async.stream.create urgent
// CHECK:         gpu_async.collective on %[[S]]
// CHECK:         gpu_async.memset on %[[C]]
func.func @urgent(%x: memref<8xf32>, %y: memref<8xf32>) {
  %v = arith.constant 1.0 : f32
  %s0 = gpu_async.stream.create urgent
  gpu_async.collective on %s0 id(0) all_reduce<sum> %x, %x : memref<8xf32>, memref<8xf32>
  %s1 = gpu_async.stream.create
  gpu_async.memset on %s1 id(1) %y, %v : memref<8xf32>, f32
  gpu_async.stream.synchronize %s0, %s1
  gpu_async.stream.destroy %s1 idle
  gpu_async.stream.destroy %s0 idle
  return
}

// -----

// A wait for an event of the caller's stream is none.
// CHECK-LABEL: func.func @event(
// CHECK:         %[[C:.*]] = gpu_async.stream.external
// CHECK:         gpu_async.memset on %[[C]]
// CHECK-NEXT:    %[[E:.*]] = gpu_async.event.record on %[[C]]
// CHECK-NEXT:    gpu_async.event.destroy %[[E]]
// CHECK-NEXT:    gpu_async.stream.destroy %[[C]]{{$}}
// CHECK-NOT:     {{synchronize|stream.wait}}
// CHECK:         return
func.func @event(%x: memref<8xf32>) {
  %v = arith.constant 1.0 : f32
  %s = gpu_async.stream.create
  gpu_async.memset on %s id(0) %x, %v : memref<8xf32>, f32
  %e = gpu_async.event.record on %s
  gpu_async.event.synchronize %e
  gpu_async.event.destroy %e
  gpu_async.stream.destroy %s
  return
}

// -----

// An event of another stream is waited for, and that may be made in a branch.
// CHECK-LABEL: func.func @otherEvent(
// CHECK:         %[[C:.*]] = gpu_async.stream.external
// CHECK:         %[[B:.*]] = gpu_async.event.record on %[[C]]
// CHECK-NEXT:    gpu_async.memset on %[[C]]
// CHECK-NEXT:    scf.if
// CHECK-NEXT:      %[[S:.*]] = gpu_async.stream.create
// CHECK-NEXT:      gpu_async.stream.wait %[[S]], %[[B]]
// CHECK:         }
// CHECK-NEXT:    %[[S2:.*]] = gpu_async.stream.create
// CHECK-NEXT:    gpu_async.stream.wait %[[S2]], %[[B]]
// CHECK-NEXT:    gpu_async.event.destroy %[[B]]
// CHECK:         %[[E:.*]] = gpu_async.event.record on %[[S2]]
// CHECK-NEXT:    gpu_async.stream.wait %[[C]], %[[E]]
func.func @otherEvent(%x: memref<8xf32>, %y: memref<8xf32>, %is: i1) {
  %v = arith.constant 1.0 : f32
  %s = gpu_async.stream.create
  gpu_async.memset on %s id(0) %x, %v : memref<8xf32>, f32
  scf.if %is {
    %t = gpu_async.stream.create
    gpu_async.memset on %t id(1) %y, %v : memref<8xf32>, f32
    gpu_async.stream.synchronize %t
    gpu_async.stream.destroy %t idle
  }
  %s2 = gpu_async.stream.create
  gpu_async.memset on %s2 id(2) %y, %v : memref<8xf32>, f32
  %e = gpu_async.event.record on %s2
  gpu_async.event.synchronize %e
  gpu_async.event.destroy %e
  gpu_async.stream.destroy %s2
  gpu_async.stream.destroy %s idle
  return
}

// -----

// Copies between memory of the device's own need no wait.
// CHECK-LABEL: func.func @deviceCopies(
// CHECK-NOT:     synchronize
func.func @deviceCopies() {
  %s = gpu_async.stream.create
  %a = gpu_async.alloc on %s id(0)() : memref<8xf32>
  %b = gpu_async.alloc on %s id(1)() : memref<8xf32>
  %half = memref.subview %a[0] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1]>>
  %other = memref.subview %b[4] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  gpu_async.memcpy on %s id(2 after [0, 1]) %half, %other : memref<4xf32, strided<[1]>>, memref<4xf32, strided<[1], offset: 4>>
  gpu_async.dealloc on %s id(3 after [2]) %a : memref<8xf32>
  gpu_async.dealloc on %s id(4 after [2]) %b : memref<8xf32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// -----

// What is copied out may get there by the host's wait, which stays. The work
// still starts behind the caller's stream.
// CHECK-LABEL: func.func @copiesOut(
// CHECK:         gpu_async.stream.wait %[[S:.*]], %{{.*}}
// CHECK:         gpu_async.stream.synchronize %[[S]]
// CHECK-NEXT:    gpu_async.stream.destroy %[[S]] idle
func.func @copiesOut(%h: memref<8xf32>) {
  %v = arith.constant 1.0 : f32
  %s = gpu_async.stream.create
  %a = gpu_async.alloc on %s id(0)() : memref<8xf32>
  gpu_async.memset on %s id(1 after [0]) %a, %v : memref<8xf32>, f32
  gpu_async.memcpy on %s id(2 after [1]) %h, %a : memref<8xf32>, memref<8xf32>
  gpu_async.dealloc on %s id(3 after [2]) %a : memref<8xf32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// -----

// What the host reads may come from the caller's stream.
// CHECK-LABEL: func.func @hostReads(
// CHECK:         %[[C:.*]] = gpu_async.stream.external
// CHECK-NEXT:    %[[B:.*]] = gpu_async.event.record on %[[C]]
// CHECK-NEXT:    gpu_async.event.synchronize %[[B]]
// CHECK-NEXT:    gpu_async.event.destroy %[[B]]
// CHECK-NEXT:    gpu_async.stream.destroy %[[C]]{{$}}
// CHECK:         memref.load
// CHECK:         gpu_async.stream.synchronize
func.func @hostReads(%n: memref<1xf32>, %x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %v = memref.load %n[%c0] : memref<1xf32>
  %s = gpu_async.stream.create
  gpu_async.memset on %s id(0) %x, %v : memref<8xf32>, f32
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK-LABEL: func.func @hostOnly(
// CHECK:         gpu_async.event.synchronize
// CHECK:         memref.store
func.func @hostOnly(%x: memref<1xf32>, %many: i1) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  cf.cond_br %many, ^one, ^two
^one:
  memref.store %v, %x[%c0] : memref<1xf32>
  return
^two:
  return
}

// CHECK-LABEL: func.func @calls(
// CHECK:         gpu_async.event.synchronize
// CHECK:         call @own(
func.func @calls(%x: memref<8xf32>) {
  func.call @own(%x) : (memref<8xf32>) -> ()
  return
}

// CHECK-LABEL: func.func private @own(
// CHECK-SAME:    %{{[^,]*}}: memref<8xf32>) {
// CHECK-NOT:     gpu_async.stream.external
func.func private @own(%x: memref<8xf32>) {
  %v = arith.constant 1.0 : f32
  %s = gpu_async.stream.create
  gpu_async.memset on %s id(0) %x, %v : memref<8xf32>, f32
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK-LABEL: func.func @nothing(
// CHECK-SAME:    %{{.*}}: !llvm.ptr {gpu_async.stream}) {
// CHECK-NEXT:    return
func.func @nothing() {
  return
}

// -----

func.func @user() {
  func.call @used() : () -> ()
  return
}

// expected-error @+1 {{takes a stream of the caller's, but is used in this module too; make what is used private}}
func.func @used() {
  return
}

// -----

// Arguments that are the device's memory may be copied, and memory is freed
// behind what the caller's stream waits for. A copy of the host's is on a stream of which the
// runtime knows when it is done.
// CHECK-LABEL: func.func @onDevice(
// CHECK:         %[[C:.*]] = gpu_async.stream.external
// CHECK:         %[[S:.*]] = gpu_async.stream.create
// CHECK-NOT:     synchronize
// CHECK:         gpu_async.memcpy on %[[S]]
// CHECK:         %[[E:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT:    gpu_async.stream.wait %[[C]], %[[E]]
// CHECK:         gpu_async.dealloc on %[[C]] id(3)
// CHECK-NEXT:    gpu_async.stream.destroy %[[S]]{{$}}
// CHECK-NOT:     synchronize
// CHECK:         return
memref.global "private" constant @zero : memref<8xf32> = dense<0.0>
func.func @onDevice(%x: memref<8xf32>, %y: memref<8xf32>) attributes {gpu_async.arrays_on_device} {
  %s0 = gpu_async.stream.create
  %m = gpu_async.alloc on %s0 id(0) () : memref<8xf32>
  %zero = memref.get_global @zero : memref<8xf32>
  gpu_async.memcpy on %s0 id(1) %m, %zero : memref<8xf32>, memref<8xf32>
  gpu_async.memcpy on %s0 id(2) %y, %x : memref<8xf32>, memref<8xf32>
  gpu_async.stream.synchronize %s0
  gpu_async.dealloc on %s0 id(3) %m : memref<8xf32>
  gpu_async.stream.destroy %s0
  return
}

// -----

// A copy of memory that the host may write is waited for.
// CHECK-LABEL: func.func @changes(
// CHECK:         gpu_async.stream.synchronize
memref.global "private" @changing : memref<8xf32> = dense<0.0>
func.func @changes(%y: memref<8xf32>) attributes {gpu_async.arrays_on_device} {
  %s0 = gpu_async.stream.create
  %from = memref.get_global @changing : memref<8xf32>
  gpu_async.memcpy on %s0 id(0) %y, %from : memref<8xf32>, memref<8xf32>
  gpu_async.stream.synchronize %s0
  gpu_async.stream.destroy %s0 idle
  return
}

// -----

// Memory is allocated first, on the caller's stream: all else begins behind that.
// CHECK-LABEL: func.func @allocates(
// CHECK:         %[[C:.*]] = gpu_async.stream.external
// CHECK:         %[[M:.*]] = gpu_async.alloc on %[[C]]
// CHECK:         %[[B:.*]] = gpu_async.event.record on %[[C]]
// CHECK-NEXT:    %[[S0:.*]] = gpu_async.stream.create
// CHECK-NEXT:    gpu_async.stream.wait %[[S0]], %[[B]]
// CHECK-NEXT:    gpu_async.event.destroy %[[B]]
// CHECK:         gpu_async.memset on %[[C]] id(1 after [0]) %[[M]]
// CHECK-NEXT:    gpu_async.memset on %[[S0]]
func.func @allocates(%x: memref<8xf32>) {
  %v = arith.constant 1.0 : f32
  %s0 = gpu_async.stream.create
  %m = gpu_async.alloc on %s0 id(0) () : memref<8xf32>
  %e = gpu_async.event.record on %s0
  %s1 = gpu_async.stream.create
  gpu_async.stream.wait %s1, %e
  gpu_async.event.destroy %e
  gpu_async.memset on %s1 id(1 after [0]) %m, %v : memref<8xf32>, f32
  gpu_async.memset on %s0 id(2) %x, %v : memref<8xf32>, f32
  gpu_async.stream.synchronize %s0, %s1
  gpu_async.dealloc on %s1 id(3 after [1]) %m : memref<8xf32>
  gpu_async.stream.destroy %s1 idle
  gpu_async.stream.destroy %s0 idle
  return
}

// RUN: not gpu-opt %s -split-input-file -gpu-async-take-stream --remarks-filter=gpu-async-take-stream --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] StreamOfCaller | Category:gpu-async-take-stream | Function=twoStreams | functions=1, host-waits=0{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] StreamOfCaller | Category:gpu-async-take-stream | Function=otherEvent | functions=1, host-waits=1{{$}}
