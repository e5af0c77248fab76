// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each check of the form verifiers sees a planted defect, named at both places
// (D01, D03).
//
// RUN: split-file %s %t
// RUN: gpu-opt %t/token.mlir -gpu-async-verify-form=form=token -split-input-file -verify-diagnostics
// RUN: gpu-opt %t/linear.mlir -gpu-async-verify-form=form=linear -split-input-file -verify-diagnostics
// RUN: gpu-opt %t/stream.mlir -gpu-async-verify-form=form=stream -split-input-file -verify-diagnostics
// RUN: gpu-opt %t/runtime.mlir -gpu-async-verify-form=form=runtime -verify-diagnostics
// RUN: not gpu-opt %t/runtime.mlir -gpu-async-verify-form=form=other 2>&1 | FileCheck %s
// CHECK: unknown form 'other'; expected token, linear, stream or runtime

//--- token.mlir
func.func @upstream() {
  // expected-error @+1 {{does not belong to the token and linear forms; import it}}
  gpu.wait
  return
}

// -----

func.func @stream_op() {
  // expected-error @+1 {{belongs to the stream form}}
  %s = gpu_async.stream.create
  return
}

// -----

func.func @placed_work(%s: !gpu_async.stream, %x: memref<4xf32>) {
  // expected-error @+1 {{makes no token}}
  gpu_async.memcpy on %s %x, %x : memref<4xf32>, memref<4xf32>
  return
}

//--- linear.mlir
func.func @never(%x: memref<4xf32>) {
  // expected-error @+1 {{makes a token that is never consumed; release it}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @twice(%x: memref<4xf32>) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{the other use is here}}
  gpu_async.wait [%t]
  // expected-error @+1 {{consumes a token that another op consumes too; fork it}}
  gpu_async.release %t
  return
}

// -----

func.func @not_on_every_path(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  scf.if %c {
    // expected-error @+1 {{consumes a token of another block}}
    gpu_async.wait [%t]
  }
  return
}

//--- stream.mlir
func.func @token_left(%x: memref<4xf32>) {
  // expected-error @+1 {{has a token; in the stream form}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @leaked_stream() {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-error @+1 {{leaves without destroying a stream}}
  return
}

// -----

func.func @leaked_event(%s: !gpu_async.stream) {
  // expected-note @+1 {{the event is made here}}
  %e = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  // expected-error @+1 {{leaves without destroying an event}}
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
  cf.cond_br %c, ^one, ^two
^one:
  // expected-note @+1 {{it is destroyed here}}
  gpu_async.stream.destroy %s
  cf.br ^done
^two:
  cf.br ^done
^done:
  // expected-error @+1 {{is reached with a stream destroyed on one path and not on another}}
  return
}

// -----

func.func @in_a_region(%c: i1) {
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  scf.if %c {
    // expected-error @+1 {{destroys a stream that is made outside of this region}}
    gpu_async.stream.destroy %s
  }
  return
}

// -----

func.func @around_a_loop(%c: i1) {
  cf.br ^loop
^loop:
  // expected-note @+1 {{the stream is made here}}
  %s = gpu_async.stream.create
  // expected-error @+1 {{goes back to where a stream is made without destroying it}}
  cf.cond_br %c, ^loop, ^done
^done:
  gpu_async.stream.destroy %s
  return
}

// -----

// One stream under two names would be destroyed twice.
func.func @through_a_select(%c: i1) {
  %s = gpu_async.stream.create
  %r = gpu_async.stream.create
  // expected-error @+1 {{has a stream or an event, which do not go through control flow}}
  %t = arith.select %c, %s, %r : !gpu_async.stream
  gpu_async.stream.destroy %t
  gpu_async.stream.destroy %s
  gpu_async.stream.destroy %r
  return
}

// -----

func.func @returned_twice() -> (!gpu_async.event, !gpu_async.event) {
  %s = gpu_async.stream.create
  // expected-note @+1 {{the event is made here}}
  %e = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  // expected-error @+1 {{hands one event on twice}}
  return %e, %e : !gpu_async.event, !gpu_async.event
}

//--- runtime.mlir
func.func @left() {
  // expected-error @+1 {{is left in the runtime form}}
  %s = gpu_async.stream.create
  // expected-error @+1 {{is left in the runtime form}}
  gpu_async.stream.destroy %s
  return
}
