// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every stream and event is made once, destroyed once and not used after, on
// every path: each planted defect is named at all places (D03).
//
// RUN: gpu-opt %s -gpu-async-verify-form=form=stream -split-input-file -verify-diagnostics

// What is legal: waits in regions and loops, an event argument and a result,
// events handed to a call, several exits, a loop of blocks, an endless one.
func.func private @callee(!gpu_async.event) -> !gpu_async.event
func.func @legal(%arg: !gpu_async.event, %x: memref<4xf32>, %c: i1, %n: index) -> !gpu_async.event {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    gpu_async.stream.wait %s, %arg
    %e = gpu_async.event.record on %s
    scf.if %c {
      gpu_async.stream.wait %r, %e
    }
    gpu_async.event.destroy %e
  }
  %f = gpu_async.event.record on %s
  %g = func.call @callee(%f) : (!gpu_async.event) -> !gpu_async.event
  cf.cond_br %c, ^early, ^loop
^early:
  gpu_async.stream.destroy %s
  gpu_async.stream.destroy %r
  gpu_async.event.destroy %arg
  return %g : !gpu_async.event
^loop:
  %h = gpu_async.event.record on %s
  gpu_async.stream.wait %r, %h
  gpu_async.event.destroy %h
  cf.cond_br %c, ^loop, ^after
^after:
  cf.cond_br %c, ^late, ^forever
^late:
  gpu_async.event.destroy %g
  gpu_async.stream.destroy %s
  gpu_async.stream.destroy %r
  return %arg : !gpu_async.event
^forever:
  cf.br ^forever
}

// -----

func.func @sequential(%x: memref<4xf32>) {
  // expected-error @+1 {{is on no stream; in the stream form work is 'on' one}}
  gpu_async.memcpy %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @token_left(%x: memref<4xf32>) {
  // expected-error @+1 {{has a token; in the stream form}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @leaked_stream() {
  // expected-error @+1 {{makes a stream that is never destroyed; destroy it (gpu_async.stream.destroy)}}
  %s = gpu_async.stream.create
  gpu_async.stream.synchronize %s
  // expected-note @+1 {{a path ends here with it}}
  return
}

// -----

func.func @leaked_event(%s: !gpu_async.stream) {
  // expected-error @+1 {{makes an event that is never destroyed; destroy it (gpu_async.event.destroy)}}
  %e = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  // expected-note @+1 {{a path ends here with it}}
  return
}

// -----

func.func @destroyed_twice() {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{it is destroyed here}}
  gpu_async.stream.destroy %s
  // expected-error @+1 {{destroys a stream that is gone}}
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @used_after() {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{it is destroyed here}}
  gpu_async.stream.destroy %s
  // expected-error @+1 {{uses a stream that has been destroyed}}
  gpu_async.stream.synchronize %s
  return
}

// -----

func.func @on_one_path(%c: i1) {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  gpu_async.stream.synchronize %s
  cf.cond_br %c, ^one, ^two
^one:
  // expected-note @+1 {{the other path destroys it here}}
  gpu_async.stream.destroy %s
  cf.br ^done
^two:
  // expected-error @+1 {{goes on with a stream to where another path has destroyed it}}
  cf.br ^done
^done:
  return
}

// -----

func.func @at_one_exit_only(%s: !gpu_async.stream, %c: i1) {
  // expected-note @+1 {{the event is made here}}
  %e = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  cf.cond_br %c, ^one, ^two
^one:
  // expected-note @+1 {{another path destroys it here}}
  gpu_async.event.destroy %e
  return
^two:
  // expected-error @+1 {{ends a path that does not destroy an event}}
  return
}

// -----

func.func @used_after_one_path(%c: i1) {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  cf.cond_br %c, ^one, ^two
^one:
  // expected-note @+1 {{it is destroyed here}}
  gpu_async.stream.destroy %s
  cf.br ^two
^two:
  // expected-error @+1 {{uses a stream that has been destroyed}}
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @used_after_in_a_region(%c: i1) {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{it is destroyed here}}
  gpu_async.stream.destroy %s
  scf.if %c {
    // expected-error @+1 {{uses a stream that has been destroyed}}
    gpu_async.stream.synchronize %s
  }
  return
}

// -----

func.func @in_a_region(%c: i1) {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the region is in this op}}
  scf.if %c {
    // expected-error @+1 {{destroys a stream that is made outside of this region; destroy it where it is made}}
    gpu_async.stream.destroy %s
  }
  return
}

// -----

func.func @event_in_a_region(%s: !gpu_async.stream, %c: i1) {
  // expected-note @+1 {{the event is made here}}
  %e = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  // expected-note @+1 {{the region is in this op}}
  scf.if %c {
    gpu_async.event.synchronize %e
    // expected-error @+1 {{destroys an event that is made outside of this region}}
    gpu_async.event.destroy %e
  }
  return
}

// -----

func.func private @callee(!gpu_async.event)
func.func @event_to_a_call_in_a_loop(%e: !gpu_async.event, %n: index) {
  // expected-note @-1 {{the event is made here}}
  // expected-note @+1 {{the region is in this op}}
  scf.for %i = %n to %n step %n {
    // expected-error @+1 {{destroys an event that is made outside of this region}}
    func.call @callee(%e) : (!gpu_async.event) -> ()
  }
  return
}

// -----

func.func private @callee(!gpu_async.event)
func.func @used_after_a_call(%e: !gpu_async.event) {
  // expected-note @-1 {{the event is made here}}
  // expected-note @+1 {{it is destroyed here}}
  call @callee(%e) : (!gpu_async.event) -> ()
  // expected-error @+1 {{uses an event that has been destroyed}}
  gpu_async.event.synchronize %e
  return
}

// -----

func.func @made_in_an_iteration(%n: index) {
  %s = gpu_async.stream.create
  scf.for %i = %n to %n step %n {
    // expected-note @+1 {{the event is made here}}
    %e = gpu_async.event.record on %s
    gpu_async.event.synchronize %e
    // expected-error @+1 {{ends an iteration without destroying an event that it made; destroy it}}
    scf.yield
  }
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @destroyed_around_a_loop(%c: i1) {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  cf.br ^loop
^loop:
  // expected-error @+1 {{destroys inside a loop a stream that is made outside of it}}
  gpu_async.stream.destroy %s
  cf.cond_br %c, ^loop, ^done
^done:
  return
}

// -----

func.func @around_a_loop(%c: i1) {
  cf.br ^loop
^loop:
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-error @+1 {{ends an iteration without destroying a stream that it made; destroy it}}
  cf.cond_br %c, ^loop, ^done
^done:
  gpu_async.stream.destroy %s
  return
}

// -----

// One stream under two names would be destroyed twice.
func.func @through_a_select(%c: i1) {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the stream is made here}}
  %r = gpu_async.stream.create
  // expected-error @+1 {{has a stream or an event, which do not go through control flow}}
  %t = arith.select %c, %s, %r : !gpu_async.stream
  gpu_async.stream.destroy %t
  gpu_async.stream.destroy %s
  gpu_async.stream.destroy %r
  return
}

// -----

func.func @through_an_if(%s: !gpu_async.stream, %c: i1) {
  // expected-note @+2 {{the event is made here}}
  // expected-error @+2 {{has a stream or an event, which do not go through control flow}}
  %e = gpu_async.event.record on %s
  %f = scf.if %c -> !gpu_async.event {
    // expected-error @+1 {{has a stream or an event, which do not go through control flow}}
    scf.yield %e : !gpu_async.event
  } else {
    // expected-note @+1 {{the event is made here}}
    %g = gpu_async.event.ready
    // expected-error @+1 {{has a stream or an event, which do not go through control flow}}
    scf.yield %g : !gpu_async.event
  }
  gpu_async.event.destroy %f
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @through_a_branch(%s: !gpu_async.stream) {
  // expected-note @+1 {{the event is made here}}
  %e = gpu_async.event.record on %s
  // expected-error @+1 {{has a stream or an event, which do not go through control flow}}
  cf.br ^bb(%e : !gpu_async.event)
^bb(%f: !gpu_async.event):
  gpu_async.event.destroy %f
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @returned_twice() -> (!gpu_async.event, !gpu_async.event) {
  %s = gpu_async.stream.create
  // expected-note @+1 {{the event is made here}}
  %e = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  // expected-error @+1 {{hands on an event twice}}
  return %e, %e : !gpu_async.event, !gpu_async.event
}

// -----

// Sites, traces and 'after' know an op by its id.
func.func @two_of_one_id(%x: memref<4xf32>, %c: i1) {
  %s = gpu_async.stream.create
  // expected-note @+1 {{the other op}}
  gpu_async.memcpy on %s id(3) %x, %x : memref<4xf32>, memref<4xf32>
  scf.if %c {
    // expected-error @+1 {{has id 3, which another op has, too}}
    gpu_async.memcpy on %s id(3) %x, %x : memref<4xf32>, memref<4xf32>
  }
  // expected-error @+1 {{comes after op 7, but no op of the function has that id}}
  gpu_async.memcpy on %s id(4 after [3, 7]) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.destroy %s
  return
}
func.func @ids_of_another_function(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  gpu_async.memcpy on %s id(3) %x, %x : memref<4xf32>, memref<4xf32>
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @region_with_host_access(%x: memref<4xf32>, %h: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %s = gpu_async.stream.create
  // expected-error @+1 {{holds 'memref.load', which no region may: the host touches no memory there, and calls what only computes}}
  gpu_async.region {
    gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
    // expected-note @+1 {{the op is here}}
    %v = memref.load %h[%c0] : memref<4xf32>
  }
  gpu_async.stream.destroy %s
  return
}

// -----

func.func private @opaque()
func.func @region_with_call(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  // expected-error @+1 {{holds 'func.call', which no region may: the host touches no memory there, and calls what only computes}}
  gpu_async.region {
    gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
    // expected-note @+1 {{the op is here}}
    func.call @opaque() : () -> ()
  }
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @region_with_graph() {
  // expected-error @+1 {{has a control-flow graph; in the stream form a region is one block}}
  gpu_async.region {
    cf.br ^end
  ^end:
    gpu_async.yield
  }
  return
}

// -----

// Streams and events do not leave a region, nor end in one that comes after.
func.func @region_ends_stream(%x: memref<4xf32>) {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-note @+1 {{the region is in this op}}
  gpu_async.region {
    gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
    // expected-error @+1 {{destroys a stream that is made outside of this region; destroy it where it is made}}
    gpu_async.stream.destroy %s
  }
  return
}

// -----

func.func @region_hands_out_event() {
  %s = gpu_async.stream.create
  // expected-error @+1 {{has a stream or an event}}
  %e = gpu_async.region -> !gpu_async.event {
    // expected-note @+1 {{the event is made here}}
    %r = gpu_async.event.record on %s
    // expected-error @+1 {{has a stream or an event}}
    gpu_async.yield %r : !gpu_async.event
  }
  gpu_async.event.destroy %e
  gpu_async.stream.destroy %s
  return
}

// -----

// What is in a region is ordered as if that were not there.
func.func @region_is_seen_through(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  gpu_async.region {
    %t = gpu_async.stream.create
    gpu_async.memcpy on %s id(0) %x, %x : memref<4xf32>, memref<4xf32>
    gpu_async.stream.destroy %t
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}
