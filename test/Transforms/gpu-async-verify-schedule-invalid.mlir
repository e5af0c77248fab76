// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each defect of a schedule is found and named at all places (D18). What is
// right about these files is in gpu-async-verify-schedule.mlir.
//
// RUN: gpu-opt %s -gpu-async-verify-schedule -split-input-file -verify-diagnostics

// A wait that is not there.
func.func @dropped_wait(%x: memref<4xf32>) {
  // expected-note @+1 {{the stream of op 0 is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait is made here}}
  %r = gpu_async.stream.create
  // expected-note @+1 {{op 0 is enqueued here}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{the event behind that op}}
  %e = gpu_async.event.record on %s
  gpu_async.event.destroy %e
  // expected-error @+1 {{'gpu_async.memcpy' op can start before op 0 is done, which its 'after' names: its stream does not wait on every path for an event behind that op, nor does the host}}
  gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// The wait is behind the op.
func.func @swapped(%x: memref<4xf32>) {
  // expected-note @+1 {{the stream of op 0}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  // expected-note @+1 {{op 0 is enqueued here}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{the event behind that op}}
  %e = gpu_async.event.record on %s
  // expected-error @+1 {{can start before op 0 is done}}
  gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{this wait is not on every path}}
  gpu_async.stream.wait %r, %e
  gpu_async.event.destroy %e
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// The event is recorded before the op.
func.func @recorded_too_early(%x: memref<4xf32>) {
  // expected-note @+1 {{the stream of op 0}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  %e = gpu_async.event.record on %s
  // expected-note @+1 {{op 0 is enqueued here}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.wait %r, %e
  gpu_async.event.destroy %e
  // expected-error @+1 {{can start before op 0 is done, which its 'after' names: no event is recorded behind that op, nor does the host wait for its stream on every path to here}}
  gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// The wait is for an event of another stream.
func.func @wrong_event(%x: memref<4xf32>) {
  // expected-note @+1 {{the stream of op 0}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  %q = gpu_async.stream.create
  // expected-note @+1 {{op 0 is enqueued here}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.memcpy on %q id(1) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %q
  gpu_async.stream.wait %r, %e
  gpu_async.event.destroy %e
  // expected-error @+1 {{can start before op 0 is done}}
  gpu_async.memcpy on %r id(2 after [0, 1]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s, %r, %q
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  gpu_async.stream.destroy %q idle
  return
}

// -----

// The wait is on one way through an if only.
func.func @in_one_branch_only(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the stream of op 0}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  // expected-note @+1 {{op 0 is enqueued here}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{the event behind that op}}
  %e = gpu_async.event.record on %s
  scf.if %c {
    // expected-note @+1 {{this wait is not on every path}}
    gpu_async.stream.wait %r, %e
  }
  gpu_async.event.destroy %e
  // expected-error @+1 {{can start before op 0 is done, which its 'after' names: its stream does not wait for the event behind that op on every path to here}}
  gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// So is the op; the wait is on the other way.
func.func @work_in_one_branch(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the stream of op 0}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  scf.if %c {
    // expected-note @+1 {{op 0 is enqueued here}}
    gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  } else {
    %e = gpu_async.event.record on %s
    gpu_async.stream.wait %r, %e
    gpu_async.event.destroy %e
  }
  // expected-error @+1 {{can start before op 0 is done}}
  gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// Nothing orders an iteration after the last one.
func.func @back_edge(%x: memref<4xf32>, %n: index) {
  // expected-note @+1 {{the stream of the op that should wait}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of op 1}}
  %r = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    // expected-error @+1 {{can start before op 1 is done}}
    gpu_async.memcpy on %s id(0 after [1]) %x, %x : memref<4xf32>, memref<4xf32>
    %e = gpu_async.event.record on %s
    gpu_async.stream.wait %r, %e
    gpu_async.event.destroy %e
    // expected-note @+1 {{op 1 is enqueued here}}
    gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  }
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// An if that holds both is entered again: what its last entry did counts.
func.func @inside_of_one_if(%x: memref<4xf32>, %n: index, %c: i1) {
  // expected-note @+1 {{the stream of the op that should wait}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of op 1}}
  %r = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    scf.if %c {
      // expected-error @+1 {{can start before op 1 is done}}
      gpu_async.memcpy on %s id(0 after [1]) %x, %x : memref<4xf32>, memref<4xf32>
      // expected-note @+1 {{op 1 is enqueued here}}
      gpu_async.memcpy on %r id(1) %x, %x : memref<4xf32>, memref<4xf32>
    }
  }
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// Two branches of one if in different iterations.
func.func @other_branch_of_the_last_iteration(%x: memref<4xf32>, %n: index, %c: i1) {
  // expected-note @+1 {{the stream of op 0}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    scf.if %c {
      // expected-note @+1 {{op 0 is enqueued here}}
      gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
    } else {
      // expected-error @+1 {{can start before op 0 is done}}
      gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
    }
  }
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// Around a loop of blocks.
func.func @blocks(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the stream of op 1}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  cf.br ^head
^head:
  // expected-error @+1 {{can start before op 1 is done}}
  gpu_async.memcpy on %r id(0 after [1]) %x, %x : memref<4xf32>, memref<4xf32>
  cf.cond_br %c, ^body, ^exit
^body:
  // expected-note @+1 {{op 1 is enqueued here}}
  gpu_async.memcpy on %s id(1) %x, %x : memref<4xf32>, memref<4xf32>
  cf.br ^head
^exit:
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

// A stream that is made anew in each iteration keeps nothing in order.
func.func @stream_in_a_loop(%x: memref<4xf32>, %n: index) {
  %r = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    // expected-note @+1 {{their stream, made anew between them, is made here}}
    %s = gpu_async.stream.create
    // expected-error @+1 {{can start before op 0 is done}}
    gpu_async.memcpy on %s id(0 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
    // expected-note @-1 {{op 0 is enqueued here}}
    %f = gpu_async.event.record on %s
    gpu_async.stream.wait %r, %f
    gpu_async.event.destroy %f
    gpu_async.stream.destroy %s
  }
  gpu_async.stream.synchronize %r
  gpu_async.stream.destroy %r idle
  return
}

// -----

// An opaque call orders nothing, and its event stands for nothing.
func.func private @callee(!gpu_async.event) -> !gpu_async.event
func.func @called(%x: memref<4xf32>) {
  // expected-note @+1 {{the stream of op 0}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  // expected-note @+1 {{op 0 is enqueued here}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{the event behind that op}}
  %e = gpu_async.event.record on %s
  %f = call @callee(%e) : (!gpu_async.event) -> !gpu_async.event
  gpu_async.stream.wait %r, %f
  gpu_async.event.destroy %f
  // expected-error @+1 {{can start before op 0 is done}}
  gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// -----

func.func @idle_too_early(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %s
  // expected-note @+1 {{this work may still run}}
  gpu_async.memcpy on %s id(1) %x, %x : memref<4xf32>, memref<4xf32>
  %f = gpu_async.event.record on %s
  gpu_async.event.synchronize %e
  gpu_async.event.destroy %e
  // expected-error @+1 {{says 'idle', but no host wait on every path to here covers all of the stream; wait for it (gpu_async.stream.synchronize) or drop 'idle'}}
  gpu_async.stream.destroy %s idle
  gpu_async.event.synchronize %f
  gpu_async.event.destroy %f
  return
}

// -----

// A free that waits for others keeps its stream busy.
func.func @idle_with_a_free(%x: memref<4xf32>, %e: !gpu_async.event) {
  %s = gpu_async.stream.create
  gpu_async.stream.wait %s, %e
  gpu_async.event.destroy %e
  // expected-note @+1 {{this work may still run}}
  gpu_async.dealloc on %s id(0) %x : memref<4xf32>
  // expected-error @+1 {{says 'idle'}}
  gpu_async.stream.destroy %s idle
  return
}

// -----

// So does a wait.
func.func @idle_with_a_wait(%x: memref<4xf32>, %e: !gpu_async.event) {
  %s = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s
  // expected-note @+1 {{the stream may still wait for this}}
  gpu_async.stream.wait %s, %e
  gpu_async.event.destroy %e
  // expected-error @+1 {{says 'idle'}}
  gpu_async.stream.destroy %s idle
  return
}

// -----

func.func @idle_on_one_path(%x: memref<4xf32>, %c: i1) {
  %s = gpu_async.stream.create
  // expected-note @+1 {{this work may still run}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %s
  scf.if %c {
    gpu_async.stream.synchronize %s
  }
  // expected-error @+1 {{says 'idle'}}
  gpu_async.stream.destroy %s idle
  gpu_async.event.synchronize %e
  gpu_async.event.destroy %e
  return
}

// -----

func.func @left_open(%x: memref<4xf32>) {
  // expected-note @+1 {{its stream is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{this work may still run}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.destroy %s
  // expected-error @+1 {{leaves work behind that may still run: no host wait, returned event or caller's stream covers it on every path to here}}
  return
}

// -----

// A loop's work that only its own iteration waits for is done, but not that
// which the if leaves.
func.func @left_open_by_a_branch(%x: memref<4xf32>, %n: index, %c: i1) {
  // expected-note @+1 {{its stream is made here}}
  %s = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
    gpu_async.stream.synchronize %s
    scf.if %c {
      // expected-note @+1 {{this work may still run}}
      gpu_async.memcpy on %s id(1) %x, %x : memref<4xf32>, memref<4xf32>
    }
  }
  gpu_async.stream.destroy %s
  // expected-error @+1 {{leaves work behind that may still run}}
  return
}

// -----

// The event that a call returns stands for work, too.
func.func private @callee() -> !gpu_async.event
func.func @left_open_by_a_call(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  // expected-note @+1 {{what this call has left may still run}}
  %e = call @callee() : () -> !gpu_async.event
  gpu_async.event.destroy %e
  // expected-error @+1 {{leaves work behind that may still run}}
  return
}

// -----

// So it does in a function without work, and behind another call that takes it.
func.func private @callee() -> !gpu_async.event
func.func private @taker(!gpu_async.event)
func.func @left_open_without_work() {
  // expected-note @+1 {{what this call has left may still run}}
  %e = call @callee() : () -> !gpu_async.event
  call @taker(%e) : (!gpu_async.event) -> ()
  // expected-error @+1 {{leaves work behind that may still run}}
  return
}

// -----

// Only one way through the if takes it.
func.func private @callee() -> !gpu_async.event
func.func @left_open_by_a_call_on_one_way(%x: memref<4xf32>, %c: i1) {
  %s = gpu_async.stream.create
  // expected-note @+1 {{what this call has left may still run}}
  %e = call @callee() : () -> !gpu_async.event
  scf.if %c {
    gpu_async.stream.wait %s, %e
    gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  }
  gpu_async.event.destroy %e
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  // expected-error @+1 {{leaves work behind that may still run}}
  return
}

// -----

// The returned event is older than the work.
func.func @not_covered_by_result(%x: memref<4xf32>) -> !gpu_async.event {
  // expected-note @+1 {{its stream is made here}}
  %s = gpu_async.stream.create
  %e = gpu_async.event.record on %s
  // expected-note @+1 {{this work may still run}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.destroy %s
  // expected-error @+1 {{leaves work behind that may still run}}
  return %e : !gpu_async.event
}

// -----

// A stream of each iteration, of which nobody waits for any but the last.
func.func @left_open_in_a_loop(%x: memref<4xf32>, %n: index, %c: i1) {
  cf.br ^loop
^loop:
  // expected-note @+1 {{its stream is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{this work may still run}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  cf.cond_br %c, ^again, ^exit
^again:
  gpu_async.stream.destroy %s
  cf.br ^loop
^exit:
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  // expected-error @+1 {{leaves work behind that may still run}}
  return
}

// -----

func.func @ids(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  // expected-note @+1 {{the other op}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{has id 0, which another op has, too}}
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{comes after op 7, but no op of the function has that id}}
  gpu_async.memcpy on %s id(1 after [0, 7]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// -----

// Without a stream there is no order to look at.
func.func @no_stream(%x: memref<4xf32>) {
  // expected-error @+1 {{is on no stream, so that nothing tells its order; gpu-async-verify-schedule takes the stream form}}
  gpu_async.memcpy id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

// Two windows of one slab share bytes, and nothing makes the second one's user
// wait for the first one's.
func.func @shared_bytes(%v: f32) {
  %c0 = arith.constant 0 : index
  // expected-note @+1 {{the stream of op 1 is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait is made here}}
  %r = gpu_async.stream.create
  %slab = gpu_async.alloc on %s id(0) () : memref<256xi8>
  %e = gpu_async.event.record on %s
  gpu_async.stream.wait %r, %e
  gpu_async.event.destroy %e
  %x = gpu_async.window %slab[%c0] () : memref<256xi8> to memref<64xf32>
  // expected-note @+1 {{op 1 is enqueued here}}
  gpu_async.memset on %s id(1 after [0]) %x, %v : memref<64xf32>, f32
  %y = gpu_async.window %slab[%c0] () : memref<256xi8> to memref<32xf32>
  // expected-error @+1 {{can start before op 1 is done}}
  gpu_async.memset on %r id(2 after [0, 1]) %y, %v : memref<32xf32>, f32
  gpu_async.stream.synchronize %s, %r
  gpu_async.dealloc on %r id(3 after [1, 2]) %slab : memref<256xi8>
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r
  return
}

// -----

// Of a library's work, too.
func.func private @library(memref<4xf32>)
func.func @library_call(%x: memref<4xf32>) {
  // expected-note @+1 {{the stream of op 0}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream of the op that should wait}}
  %r = gpu_async.stream.create
  // expected-note @+1 {{op 0 is enqueued here}}
  gpu_async.call on %s id(0) @library(%x : memref<4xf32>)
  // expected-error @+1 {{'gpu_async.call' op can start before op 0 is done}}
  gpu_async.call on %r id(1 after [0]) @library(%x : memref<4xf32>)
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}
