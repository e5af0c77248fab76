// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What regions hold, where they end, and what goes before and behind.
// RUN: gpu-opt %s --verify-roundtrip --gpu-async-form-regions --gpu-async-verify-form=form=stream --gpu-async-verify-schedule | FileCheck %s
// What --gpu-async-form-regions has formed stays as it is.
// RUN: gpu-opt %s --gpu-async-form-regions -o %t.once
// RUN: gpu-opt %s --gpu-async-form-regions --gpu-async-form-regions -o %t.twice
// RUN: diff %t.once %t.twice
// RUN: gpu-opt %s --gpu-async-form-regions --gpu-async-print-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=STATISTICS
// RUN: gpu-opt %s --gpu-async-form-regions --gpu-async-print-schedule=function=own_stream -o /dev/null 2>&1 | FileCheck %s --check-prefix=PICTURE
// RUN: gpu-opt %s --gpu-async-form-regions=play=streams | FileCheck %s --check-prefix=NONE --implicit-check-not=gpu_async.region
// RUN: gpu-opt %s --gpu-async-form-regions=play=stream | FileCheck %s --check-prefix=STREAM
// RUN: not gpu-opt %s --gpu-async-form-regions=play=twice 2>&1 | FileCheck %s --check-prefix=WORD

// NONE: func.func @straight
// STREAM: func.func @straight
// STREAM: gpu_async.region
// WORD: 'twice' is none of auto, stream, streams, graph
// STATISTICS: @straight: 2 ops, 1 stream, 1 region, 1 host wait
// STATISTICS: @single: 1 op, 1 stream, 1 region, 1 host wait
// PICTURE: @own_stream
// PICTURE: gpu_async.region
// PICTURE-NOT: repeated

gpu.module @k {
  gpu.func @f() kernel {
    gpu.return
  }
  gpu.func @g(%x: memref<16xf32>) kernel {
    gpu.return
  }
  gpu.func @spin(%x: memref<16xi32>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %v = memref.load %x[%c0] : memref<16xi32>
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    gpu.return
  }
}
func.func private @opaque()

// CHECK-LABEL: func @straight
// CHECK: stream.create
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(0)
// CHECK-NEXT: launch {{.*}} id(1 after [0])
// CHECK-NEXT: }
// CHECK-NEXT: stream.synchronize
func.func @straight() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(1 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// One launch pays where the host waits for it.
// CHECK-LABEL: func @single
// CHECK: gpu_async.region
// CHECK-NEXT: gpu_async.launch
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.stream.synchronize
func.func @single() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK-LABEL: func @single_left_running
// CHECK-NOT: gpu_async.region
func.func @single_left_running() -> !gpu_async.event {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %e = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  return %e : !gpu_async.event
}

// The second stream is used inside only and its work may go on, so that it is
// made and destroyed there; what the host computes goes before.
// CHECK-LABEL: func @own_stream
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK-NEXT: %[[N:.*]] = arith.addi
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: %[[T:.*]] = gpu_async.stream.create
// CHECK-NEXT: launch on %[[S]] id(0)
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT: stream.wait %[[T]], %[[E]]
// CHECK-NEXT: event.destroy %[[E]]
// CHECK-NEXT: launch on %[[T]] id(1 after [0]) {{.*}} blocks in(%[[N]]
// CHECK-NEXT: launch on %[[S]] id(2 after [0])
// CHECK-NEXT: %[[F:.*]] = gpu_async.event.record on %[[T]]
// CHECK-NEXT: stream.wait %[[S]], %[[F]]
// CHECK-NEXT: event.destroy %[[F]]
// CHECK-NEXT: launch on %[[S]] id(3 after [1, 2])
// CHECK-NEXT: stream.destroy %[[T]]{{$}}
// CHECK-NEXT: }
// CHECK-NEXT: stream.synchronize %[[S]]
// CHECK-NEXT: stream.destroy %[[S]] idle
func.func @own_stream() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %e = gpu_async.event.record on %s
  %t = gpu_async.stream.create
  gpu_async.stream.wait %t, %e
  gpu_async.event.destroy %e
  %n = arith.addi %c1, %c1 : index
  gpu_async.launch on %t id(1 after [0]) @k::@f blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(2 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %f = gpu_async.event.record on %t
  gpu_async.stream.wait %s, %f
  gpu_async.event.destroy %f
  gpu_async.launch on %s id(3 after [1, 2]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %t
  gpu_async.stream.destroy %s idle
  return
}

// One that is idle when it is destroyed stays outside: it can be used again at
// once.
// CHECK-LABEL: func @idle_stream
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK-NEXT: %[[T:.*]] = gpu_async.stream.create
// CHECK-NEXT: %[[N:.*]] = arith.addi
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch on %[[S]] id(0)
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT: stream.wait %[[T]], %[[E]]
// CHECK-NEXT: event.destroy %[[E]]
// CHECK-NEXT: launch on %[[T]] id(1 after [0]) {{.*}} blocks in(%[[N]]
// CHECK-NEXT: launch on %[[S]] id(2 after [0])
// CHECK-NEXT: %[[F:.*]] = gpu_async.event.record on %[[T]]
// CHECK-NEXT: stream.wait %[[S]], %[[F]]
// CHECK-NEXT: event.destroy %[[F]]
// CHECK-NEXT: launch on %[[S]] id(3 after [1, 2])
// CHECK-NEXT: }
// CHECK-NEXT: stream.synchronize %[[S]]
// CHECK-NEXT: stream.destroy %[[T]] idle
// CHECK-NEXT: stream.destroy %[[S]] idle
func.func @idle_stream() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %e = gpu_async.event.record on %s
  %t = gpu_async.stream.create
  gpu_async.stream.wait %t, %e
  gpu_async.event.destroy %e
  %n = arith.addi %c1, %c1 : index
  gpu_async.launch on %t id(1 after [0]) @k::@f blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(2 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %f = gpu_async.event.record on %t
  gpu_async.stream.wait %s, %f
  gpu_async.event.destroy %f
  gpu_async.launch on %s id(3 after [1, 2]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %t idle
  gpu_async.stream.destroy %s idle
  return
}

// An event that is first or last on its stream stays outside; one in the middle
// is where a region ends.
// CHECK-LABEL: func @events
// CHECK: alloc
// CHECK: %[[A:.*]] = gpu_async.event.record
// CHECK: dealloc
// CHECK-NEXT: stream.wait %{{.*}}, %[[A]]
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(1
// CHECK-NEXT: launch {{.*}} id(2
// CHECK-NEXT: }
// CHECK-NEXT: event.destroy %[[A]]
// CHECK-NEXT: %[[B:.*]] = gpu_async.event.record
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(3
// CHECK-NEXT: launch {{.*}} id(4
// CHECK-NEXT: }
// CHECK-NEXT: %[[C:.*]] = gpu_async.event.record
// CHECK-NEXT: event.synchronize %[[B]], %[[C]]
func.func @events() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  %t = gpu_async.stream.create
  %m = gpu_async.alloc on %s id(0) () : memref<16xf32>
  %a = gpu_async.event.record on %s
  gpu_async.dealloc on %s id(5) %m : memref<16xf32>
  gpu_async.stream.wait %t, %a
  gpu_async.event.destroy %a
  gpu_async.launch on %t id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %t id(2) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %b = gpu_async.event.record on %t
  gpu_async.launch on %t id(3) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %c = gpu_async.event.record on %s
  gpu_async.launch on %t id(4) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.event.synchronize %b, %c
  gpu_async.event.destroy %b
  gpu_async.event.destroy %c
  gpu_async.stream.synchronize %t
  gpu_async.stream.destroy %s
  gpu_async.stream.destroy %t idle
  return
}

// Copies and fills are none, wherever the memory is.
// CHECK-LABEL: func @borders
// CHECK: gpu_async.region {
// CHECK-NEXT: memcpy {{.*}} id(2
// CHECK-NEXT: memset {{.*}} id(3
// CHECK-NEXT: memcpy {{.*}} id(4
// CHECK-NEXT: launch {{.*}} id(5
// CHECK-NEXT: memset {{.*}} id(6
// CHECK-NEXT: launch {{.*}} id(7
// CHECK-NEXT: memcpy {{.*}} id(8
// CHECK-NEXT: launch {{.*}} id(9
// CHECK-NEXT: memcpy {{.*}} id(16
// CHECK-NEXT: }
// CHECK-NEXT: memref.load
// CHECK-NEXT: launch {{.*}} id(10
// CHECK-NEXT: call @opaque
// CHECK-NEXT: launch {{.*}} id(11
// CHECK-NEXT: memref.store
// CHECK-NEXT: launch {{.*}} id(12
// CHECK-NEXT: gpu_async.host_register
// CHECK-NEXT: launch {{.*}} id(13
// CHECK-NEXT: dealloc {{.*}} id(14
// CHECK-NOT: gpu_async.region
func.func @borders(%h: memref<16xf32>, %r: memref<*xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  %s = gpu_async.stream.create
  %x = gpu_async.alloc on %s id(0) () : memref<16xf32>
  %shared = gpu_async.alloc on %s id(1) host_shared () : memref<16xf32>
  %view = memref.subview %x[0] [8] [2] : memref<16xf32> to memref<8xf32, strided<[2]>>
  %half = memref.subview %x[0] [8] [1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  gpu_async.memcpy on %s id(2) %half, %view : memref<8xf32, strided<[1]>>, memref<8xf32, strided<[2]>>
  gpu_async.memset on %s id(3) %view, %v : memref<8xf32, strided<[2]>>, f32
  gpu_async.memcpy on %s id(4) %x, %h : memref<16xf32>, memref<16xf32>
  gpu_async.launch on %s id(5) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  gpu_async.memset on %s id(6) %h, %v : memref<16xf32>, f32
  gpu_async.launch on %s id(7) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  gpu_async.memcpy on %s id(8) %x, %shared : memref<16xf32>, memref<16xf32>
  gpu_async.launch on %s id(9) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  gpu_async.memcpy on %s id(16) %h, %x : memref<16xf32>, memref<16xf32>
  %w = memref.load %h[%c0] : memref<16xf32>
  gpu_async.launch on %s id(10) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  call @opaque() : () -> ()
  gpu_async.launch on %s id(11) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  memref.store %w, %shared[%c0] : memref<16xf32>
  gpu_async.launch on %s id(12) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  gpu_async.host_register %r : memref<*xf32>
  gpu_async.launch on %s id(13) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xf32>)
  gpu_async.dealloc on %s id(14) %x : memref<16xf32>
  gpu_async.dealloc on %s id(15) %shared : memref<16xf32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// A call of what only computes is none; what needs its result stays behind it.
// CHECK-LABEL: func @helpers
// CHECK: call @rounded
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(1
// CHECK-NEXT: launch {{.*}} id(2
// CHECK-NEXT: }
// CHECK-NEXT: call @counted
// CHECK-NEXT: launch {{.*}} id(3
// CHECK-NEXT: call @loops_in_it
// CHECK-NEXT: launch {{.*}} id(4
// CHECK-NEXT: call @calls_itself
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(5
// CHECK-NEXT: }
// CHECK-NEXT: stream.synchronize
func.func private @half(%n: index) -> index {
  %c2 = arith.constant 2 : index
  %h = arith.divui %n, %c2 : index
  return %h : index
}
func.func private @rounded(%n: index) -> index {
  %c1 = arith.constant 1 : index
  %zero = arith.cmpi eq, %n, %c1 : index
  %r = scf.if %zero -> index {
    scf.yield %n : index
  } else {
    %h = func.call @half(%n) : (index) -> index
    scf.yield %h : index
  }
  return %r : index
}
func.func private @counted(%h: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %v = arith.constant 1.0 : f32
  memref.store %v, %h[%c0] : memref<16xf32>
  return
}
func.func private @loops_in_it(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> index {
    %b = arith.xori %a, %i : index
    scf.yield %b : index
  }
  return %r : index
}
func.func private @calls_itself(%n: index) -> index {
  %r = call @calls_itself(%n) : (index) -> index
  return %r : index
}
func.func @helpers(%n: index, %h: memref<16xf32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %grid = call @rounded(%n) : (index) -> index
  gpu_async.launch on %s id(2) @k::@f blocks in (%grid, %c1, %c1) threads in (%c1, %c1, %c1)
  call @counted(%h) : (memref<16xf32>) -> ()
  gpu_async.launch on %s id(3) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %a = call @loops_in_it(%n) : (index) -> index
  gpu_async.launch on %s id(4) @k::@f blocks in (%a, %c1, %c1) threads in (%c1, %c1, %c1)
  %b = call @calls_itself(%n) : (index) -> index
  gpu_async.launch on %s id(5) @k::@f blocks in (%b, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// Nor is one in a loop of a region.
// CHECK-LABEL: func @helper_in_loop
// CHECK: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(1
// CHECK-NEXT: scf.for
// CHECK-NEXT: call @half
// CHECK-NEXT: launch {{.*}} id(2
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: stream.synchronize
func.func @helper_in_loop() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  scf.for %i = %c1 to %c4 step %c1 {
    %h = func.call @half(%i) : (index) -> index
    gpu_async.launch on %s id(2) @k::@f blocks in (%h, %c1, %c1) threads in (%c1, %c1, %c1)
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK-LABEL: func @callers_stream
// CHECK-NOT: gpu_async.region
func.func @callers_stream(%p: !llvm.ptr) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.external %p : !llvm.ptr
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(1 after [0]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.destroy %s
  return
}

// Nothing behind a kernel that may block is in a region until the host has
// waited; what runs beside it is.
// CHECK-LABEL: func @blocked
// CHECK: launch {{.*}} id(0) @k::@spin
// CHECK-NEXT: launch {{.*}} id(1)
// CHECK-NEXT: event.record
// CHECK-NEXT: stream.wait
// CHECK-NEXT: launch {{.*}} id(2
// CHECK-NEXT: launch {{.*}} id(3
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(4
// CHECK-NEXT: launch {{.*}} id(5
// CHECK: }
// CHECK: stream.synchronize
// CHECK: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(6
// CHECK-NEXT: launch {{.*}} id(7
// CHECK-NEXT: }
func.func @blocked(%x: memref<16xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  %t = gpu_async.stream.create
  %u = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@spin blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xi32>)
  gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  %e = gpu_async.event.record on %s
  gpu_async.stream.wait %t, %e
  gpu_async.launch on %t id(2 after [0, 1]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %t id(3 after [2]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %u id(4) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %u id(5 after [4]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.event.destroy %e
  gpu_async.stream.synchronize %t, %s
  gpu_async.launch on %t id(6 after [3]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %t id(7 after [6]) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %t, %u
  gpu_async.stream.destroy %u idle
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %t idle
  return
}

// In a loop a later round is behind what an earlier one left.
// CHECK-LABEL: func @blocked_loop
// CHECK-NOT: gpu_async.region
func.func @blocked_loop(%x: memref<16xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  scf.for %i = %c0 to %n step %c1 {
    gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.launch on %s id(2) @k::@spin blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<16xi32>)
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// A token that comes in may be that of a kernel that blocks.
// CHECK-LABEL: func @imported
// CHECK-NOT: gpu_async.region
func.func @imported(%e: !gpu_async.event) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.stream.wait %s, %e
  gpu_async.event.destroy %e
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// Control flow without borders is inside as a whole, with what it computes.
// CHECK-LABEL: func @control_flow
// CHECK: %[[R:.*]]:2 = gpu_async.region -> (index, index) {
// CHECK-NEXT: %[[A:.*]] = scf.for
// CHECK: scf.if
// CHECK: %[[B:.*]] = arith.addi %[[A]]
// CHECK-NEXT: scf.while
// CHECK: gpu_async.yield %[[A]], %[[B]] : index, index
// CHECK-NEXT: }
// CHECK-NEXT: stream.synchronize
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @control_flow(%n: index, %flag: i1) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  %a = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %c0) -> index {
    gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    scf.if %flag {
      gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    }
    %next = arith.addi %sum, %i : index
    scf.yield %next : index
  }
  %b = arith.addi %a, %c1 : index
  scf.while (%j = %b) : (index) -> () {
    %more = arith.cmpi ne, %j, %c0 : index
    scf.condition(%more)
  } do {
    gpu_async.launch on %s id(2) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %less = arith.subi %b, %c1 : index
    scf.yield %less : index
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return %a, %b : index, index
}

// A loop with a border in it, and one in which the host may be long.
// CHECK-LABEL: func @loops
// CHECK: scf.for
// CHECK-NEXT: gpu_async.region {
// CHECK-NEXT: launch {{.*}} id(0
// CHECK-NEXT: launch {{.*}} id(1
// CHECK-NEXT: }
// CHECK-NEXT: stream.synchronize
// CHECK: launch {{.*}} id(2
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.if
// CHECK-NEXT: launch {{.*}} id(3
// CHECK-NOT: gpu_async.region
func.func @loops(%n: index, %flag: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  scf.for %i = %c0 to %n step %c1 {
    gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.stream.synchronize %s
  }
  gpu_async.launch on %s id(2) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  scf.for %i = %c0 to %n step %c1 {
    scf.if %flag {
      gpu_async.launch on %s id(3) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    }
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// RUN: gpu-opt %s -gpu-async-form-regions --remarks-filter=gpu-async-form-regions --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Region | Category:gpu-async-form-regions | Function=straight | ops-in-regions=2, regions=1{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Region | Category:gpu-async-form-regions | Function=own_stream | ops-in-regions=4, regions=1{{$}}
