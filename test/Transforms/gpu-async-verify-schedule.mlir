// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Schedules that keep their order, on every path and around every loop: nothing
// is reported (D18). gpu-async-verify-schedule-invalid.mlir has what is.
//
// RUN: gpu-opt %s -gpu-async-verify-form=form=stream -gpu-async-verify-schedule -verify-diagnostics -o /dev/null

// By one stream, an event, what an event's stream waited for before, the host.
func.func @straight(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  %q = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.memcpy on %s id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %s
  gpu_async.stream.wait %r, %e
  gpu_async.event.destroy %e
  gpu_async.memcpy on %r id(2 after [0, 1]) %x, %x : memref<4xf32>, memref<4xf32>
  %f = gpu_async.event.record on %r
  gpu_async.stream.wait %q, %f
  gpu_async.event.destroy %f
  gpu_async.memcpy on %q id(3 after [0, 1, 2]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %q
  gpu_async.stream.destroy %q idle
  gpu_async.stream.destroy %s idle
  gpu_async.memcpy on %r id(4 after [3]) %x, %x : memref<4xf32>, memref<4xf32>
  %g = gpu_async.event.record on %r
  gpu_async.event.synchronize %g
  gpu_async.event.destroy %g
  gpu_async.stream.destroy %r idle
  return
}

// Nobody waits for a free or a host-shared allocation, nor at a return.
func.func @frees(%m: memref<4xf32>) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  gpu_async.dealloc on %s id(0) %m : memref<4xf32>
  %h = gpu_async.alloc on %s id(1) host_shared () : memref<4xf32>
  gpu_async.memcpy on %r id(2 after [0, 1]) %h, %h : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %r
  gpu_async.stream.destroy %r idle
  gpu_async.stream.destroy %s
  return
}

// Both ways through an if; a wait before covers both.
func.func @branches(%x: memref<4xf32>, %c: i1) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %s
  scf.if %c {
    gpu_async.stream.wait %r, %e
    gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  } else {
    gpu_async.stream.wait %r, %e
  }
  gpu_async.event.destroy %e
  // Op 1 may not have run.
  gpu_async.memcpy on %r id(2 after [0, 1]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %r
  gpu_async.stream.destroy %r idle
  gpu_async.stream.destroy %s idle
  return
}

// A loop in which each iteration comes after the last, by an event that is
// recorded before the branch back.
func.func @carried(%x: memref<4xf32>, %n: index) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    gpu_async.memcpy on %s id(0 after [1]) %x, %x : memref<4xf32>, memref<4xf32>
    %e = gpu_async.event.record on %s
    gpu_async.stream.wait %r, %e
    gpu_async.event.destroy %e
    gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
    %f = gpu_async.event.record on %r
    gpu_async.stream.wait %s, %f
    gpu_async.event.destroy %f
  }
  gpu_async.stream.synchronize %s
  gpu_async.memcpy on %r id(2 after [0, 1]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// What the last entry of the inner loop did does not count outside of it: op 1
// comes after those op 0 that ran since, and there are none.
func.func @forgotten(%x: memref<4xf32>, %n: index, %c: i1) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    scf.if %c {
      gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
      %e = gpu_async.event.record on %s
      gpu_async.stream.wait %r, %e
      gpu_async.event.destroy %e
    }
    gpu_async.memcpy on %r id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
    // Op 0 may run again only after its if is entered anew.
    gpu_async.memcpy on %s id(2 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  }
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// Blocks: several exits, a loop, a while.
func.func @blocks(%x: memref<4xf32>, %c: i1) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  cf.cond_br %c, ^early, ^head
^early:
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
^head:
  %e = gpu_async.event.record on %s
  gpu_async.stream.wait %r, %e
  gpu_async.event.destroy %e
  gpu_async.memcpy on %r id(1 after [0, 2]) %x, %x : memref<4xf32>, memref<4xf32>
  scf.while : () -> () {
    gpu_async.memcpy on %r id(3 after [1]) %x, %x : memref<4xf32>, memref<4xf32>
    scf.condition(%c)
  } do {
    gpu_async.memcpy on %r id(4 after [3]) %x, %x : memref<4xf32>, memref<4xf32>
    scf.yield
  }
  gpu_async.memcpy on %s id(2) %x, %x : memref<4xf32>, memref<4xf32>
  cf.cond_br %c, ^head, ^late
^late:
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// Work that a returned event covers, or that a caller's stream waits for, is
// the caller's to wait for. Event arguments stand for nothing here.
func.func private @callee(!gpu_async.event) -> !gpu_async.event
func.func @returned(%arg: !gpu_async.event, %x: memref<4xf32>) -> !gpu_async.event {
  %s = gpu_async.stream.create
  gpu_async.stream.wait %s, %arg
  gpu_async.event.destroy %arg
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  return %e : !gpu_async.event
}
func.func @called(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %s
  %f = call @callee(%e) : (!gpu_async.event) -> !gpu_async.event
  gpu_async.stream.wait %s, %f
  gpu_async.event.destroy %f
  gpu_async.memcpy on %s id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}
func.func @callers_stream(%p: !llvm.ptr, %x: memref<4xf32>, %n: index) {
  %s = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %s
  %a = gpu_async.stream.external %p : !llvm.ptr
  gpu_async.stream.wait %a, %e
  gpu_async.event.destroy %e
  gpu_async.memcpy on %a id(1 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.destroy %a
  // Another name of the same stream.
  %b = gpu_async.stream.external %p : !llvm.ptr
  gpu_async.memcpy on %b id(2 after [0, 1]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.destroy %b
  gpu_async.stream.destroy %s
  return
}

// A stream that only waits is idle once what it waits for is done.
func.func @idle_after_waits(%x: memref<4xf32>, %c: i1) -> !gpu_async.event {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  %q = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  %e = gpu_async.event.record on %s
  gpu_async.memcpy on %r id(1) %x, %x : memref<4xf32>, memref<4xf32>
  %f = gpu_async.event.record on %r
  scf.if %c {
    gpu_async.stream.wait %q, %e
  } else {
    gpu_async.stream.wait %q, %f
  }
  %g = gpu_async.event.record on %q
  gpu_async.stream.synchronize %s
  gpu_async.event.synchronize %f
  gpu_async.stream.destroy %q idle
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  gpu_async.event.destroy %e
  gpu_async.event.destroy %f
  return %g : !gpu_async.event
}

// So it is once what is recorded behind its waits is done, whichever it made.
func.func @idle_behind_waits(%x: memref<4xf32>, %e: !gpu_async.event, %f: !gpu_async.event, %c: i1) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  scf.if %c {
    gpu_async.stream.wait %s, %e
  } else {
    gpu_async.stream.wait %s, %f
  }
  gpu_async.event.destroy %e
  gpu_async.event.destroy %f
  %g = gpu_async.event.record on %s
  gpu_async.stream.wait %r, %g
  gpu_async.event.destroy %g
  gpu_async.memcpy on %r id(0) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.synchronize %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// Whoever waits for what a call has left, a stream or the host, all are done.
func.func @call_on_two_ways(%e: !gpu_async.event, %x: memref<4xf32>, %c: i1) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  %f = call @callee(%e) : (!gpu_async.event) -> !gpu_async.event
  scf.if %c {
    gpu_async.stream.wait %s, %f
    gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  } else {
    scf.if %c {
      gpu_async.stream.wait %r, %f
    } else {
      gpu_async.event.synchronize %f
    }
  }
  gpu_async.event.destroy %f
  gpu_async.stream.synchronize %s, %r
  gpu_async.stream.destroy %s idle
  gpu_async.stream.destroy %r idle
  return
}

// A stream of each iteration: the next one waits for what the last one did.
func.func @stream_in_a_loop(%x: memref<4xf32>, %n: index) {
  %r = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    %s = gpu_async.stream.create
    %e = gpu_async.event.record on %r
    gpu_async.stream.wait %s, %e
    gpu_async.event.destroy %e
    gpu_async.memcpy on %s id(0 after [0]) %x, %x : memref<4xf32>, memref<4xf32>
    %f = gpu_async.event.record on %s
    gpu_async.stream.wait %r, %f
    gpu_async.event.destroy %f
    gpu_async.stream.destroy %s
  }
  gpu_async.stream.synchronize %r
  gpu_async.stream.destroy %r idle
  return
}

// Nothing is asked of a path that ends in a trap.
func.func @trap(%x: memref<4xf32>, %c: i1) {
  %s = gpu_async.stream.create
  gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
  cf.cond_br %c, ^good, ^trap
^good:
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
^trap:
  ub.unreachable
}

// A stream that only waits, for one event or another: the host's wait for what
// comes behind leaves it idle, and so is it where another path has not used it.
func.func @waitsOnly(%c: i1, %d: i1, %x: memref<4xf32>, %v: f32,
                     %e: !gpu_async.event, %f: !gpu_async.event) {
  %s = gpu_async.stream.create
  %q = gpu_async.stream.create
  scf.if %c {
    scf.if %d {
      gpu_async.stream.wait %q, %e
    } else {
      gpu_async.stream.wait %q, %f
    }
    %r = gpu_async.event.record on %q
    gpu_async.stream.wait %s, %r
    gpu_async.event.destroy %r
    gpu_async.memset on %s id(0) %x, %v : memref<4xf32>, f32
    gpu_async.stream.synchronize %s
  }
  gpu_async.stream.destroy %q idle
  gpu_async.stream.destroy %s idle
  gpu_async.event.destroy %e
  gpu_async.event.destroy %f
  return
}

// The same where the event is recorded again in each round, but not waited for in
// each, and where other paths have not used the stream.
func.func @waitsInALoop(%c: i1, %d: i1, %x: memref<4xf32>, %v: f32) {
  %s = gpu_async.stream.create
  %t = gpu_async.stream.create
  %q = gpu_async.stream.create
  scf.if %c {
    scf.while : () -> () {
      %r = gpu_async.event.record on %t
      scf.if %d {
        gpu_async.memset on %t id(0) %x, %v : memref<4xf32>, f32
      } else {
        gpu_async.stream.wait %q, %r
      }
      gpu_async.event.destroy %r
      scf.condition(%d)
    } do {
      scf.yield
    }
    %b = gpu_async.event.record on %q
    gpu_async.stream.wait %s, %b
    gpu_async.event.destroy %b
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s
  gpu_async.stream.destroy %q idle
  gpu_async.stream.synchronize %t
  gpu_async.stream.destroy %t idle
  return
}

// Here it waits, there it works: what comes behind either is waited for.
func.func @waitsOrWorks(%c: i1, %d: i1, %x: memref<4xf32>, %v: f32) {
  %s = gpu_async.stream.create
  %t = gpu_async.stream.create
  %q = gpu_async.stream.create
  scf.while : () -> () {
    %r = gpu_async.event.record on %t
    scf.if %d {
      gpu_async.memset on %t id(0) %x, %v : memref<4xf32>, f32
    } else {
      gpu_async.stream.wait %q, %r
    }
    gpu_async.event.destroy %r
    scf.condition(%d)
  } do {
    scf.yield
  }
  %b = gpu_async.event.record on %q
  scf.if %c {
    gpu_async.stream.wait %s, %b
  } else {
    gpu_async.memset on %q id(1) %x, %v : memref<4xf32>, f32
    %e = gpu_async.event.record on %q
    gpu_async.stream.wait %s, %e
    gpu_async.event.destroy %e
  }
  gpu_async.event.destroy %b
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s
  gpu_async.stream.destroy %q idle
  gpu_async.stream.synchronize %t
  gpu_async.stream.destroy %t idle
  return
}

// One path waits for the event itself, the other for what comes behind the wait.
func.func @oneOrTheOther(%c: i1, %x: memref<4xf32>, %v: f32, %f: !gpu_async.event) {
  %t = gpu_async.stream.create
  %q = gpu_async.stream.create
  %e = gpu_async.event.record on %t
  scf.if %c {
    gpu_async.stream.wait %q, %e
    gpu_async.event.synchronize %e
  } else {
    gpu_async.stream.wait %q, %f
    gpu_async.stream.synchronize %q
  }
  gpu_async.stream.destroy %q idle
  gpu_async.event.destroy %e
  gpu_async.event.destroy %f
  gpu_async.stream.destroy %t idle
  return
}
