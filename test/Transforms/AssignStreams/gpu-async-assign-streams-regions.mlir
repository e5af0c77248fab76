// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens that control flow and calls carry: streams stay outside of loops, and
// the stream that a token is bound to is the one that its updates run on
// (D05, D06, D07, D14).
//
// RUN: gpu-opt %s -gpu-async-make-forks-explicit \
// RUN:   -gpu-async-verify-form=form=linear -gpu-async-assign-streams=max-streams=0 \
// RUN:   -gpu-async-verify-form=form=stream | FileCheck %s

gpu.module @k {
  gpu.func @f(%x: memref<?xf32>) kernel { gpu.return }
}

// Two ops of an iteration in parallel: two streams, made once, and no host wait
// in the loop.
// CHECK-LABEL: func.func @carried
// CHECK: %[[S0:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(0)
// CHECK-NEXT: %[[S1:.*]] = gpu_async.stream.create
// CHECK-NEXT: scf.for
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S0]]
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(1 after [0, 1, 2])
// CHECK-NEXT: gpu_async.stream.wait %[[S1]], %[[E]]
// CHECK-NEXT: gpu_async.event.destroy %[[E]]
// CHECK-NEXT: gpu_async.launch on %[[S1]] id(2 after [0, 2])
// CHECK-NEXT: %[[F:.*]] = gpu_async.event.record on %[[S1]]
// CHECK-NEXT: gpu_async.stream.wait %[[S0]], %[[F]]
// CHECK-NEXT: gpu_async.event.destroy %[[F]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.stream.synchronize %[[S0]]
// CHECK-NEXT: gpu_async.stream.destroy %[[S1]] idle
// CHECK-NEXT: gpu_async.stream.destroy %[[S0]] idle
// CHECK-NEXT: return
func.func @carried(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> !gpu_async.token {
    %b = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %c = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %d = gpu_async.wait async [%b, %c]
    scf.yield %d : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// Two chains change places each time round: the streams of the tokens wait for
// each other's work, and not for their own.
// CHECK-LABEL: func.func @two_chains
// CHECK-COUNT-4: gpu_async.stream.create
// CHECK-NOT: gpu_async.stream.create
// CHECK: scf.for
// CHECK-NOT: synchronize
// CHECK-COUNT-4: gpu_async.stream.wait
// CHECK-NOT: gpu_async.stream.wait
// CHECK: return
func.func @two_chains(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a, %u = %b) -> (!gpu_async.token, !gpu_async.token) {
    %b1 = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %c = gpu_async.launch async [%u] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    scf.yield %c, %b1 : !gpu_async.token, !gpu_async.token
  }
  gpu_async.wait [%r#0]
  return
}

// A token from outside is waited for once, before the loop.
// CHECK-LABEL: func.func @captured
// CHECK: %[[E:.*]] = gpu_async.event.record on %[[S0:.*]]
// CHECK: gpu_async.stream.wait %[[S1:.*]], %[[E]]
// CHECK: scf.for
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(1 after [0])
// CHECK-NEXT: gpu_async.launch on %[[S1]] id(2 after [0])
// CHECK-COUNT-1: gpu_async.stream.wait
// CHECK: gpu_async.launch on %[[S0]] id(3 after [1, 2])
// CHECK-NEXT: gpu_async.stream.synchronize %[[S0]]
// CHECK-NEXT: }
func.func @captured(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  scf.for %i = %c0 to %n step %c1 {
    %b1 = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %b2 = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %b3 = gpu_async.launch async [%b1, %b2] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    gpu_async.wait [%b3]
  }
  return
}

// One stream, whichever way is taken.
// CHECK-LABEL: func.func @branch
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.launch on %[[S]] id(0)
// CHECK-NEXT: scf.if
// CHECK-NEXT: gpu_async.launch on %[[S]] id(1 after [0])
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.launch on %[[S]] id(2 after [1])
// CHECK-NEXT: gpu_async.stream.synchronize %[[S]]
func.func @branch(%x: memref<?xf32>, %c: i1) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %r = scf.if %c -> !gpu_async.token {
    %b1 = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    scf.yield %b1 : !gpu_async.token
  } else {
    scf.yield %a : !gpu_async.token
  }
  %d = gpu_async.launch async [%r] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%d]
  return
}

// Only one of the two that a branch chooses from is waited for.
// CHECK-LABEL: func.func @choice
// CHECK: %[[A:.*]] = gpu_async.event.record on %[[SA:.*]]
// CHECK: %[[B:.*]] = gpu_async.event.record on %[[SB:.*]]
// CHECK: scf.if
// CHECK-NEXT: gpu_async.stream.wait %[[SC:.*]], %[[A]]
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu_async.stream.wait %[[SC]], %[[B]]
// CHECK-NEXT: }
// CHECK: gpu_async.launch on %[[SC]] id(2) @k::@f
func.func @choice(%x: memref<?xf32>, %c: i1) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %t = arith.select %c, %a, %b : !gpu_async.token
  %d = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%d]
  return
}

// Tokens are events at a call, also in a loop.
// CHECK-LABEL: func.func private @callee
// CHECK-SAME: (%[[T:.*]]: !gpu_async.event, %{{.*}}) -> !gpu_async.event
// CHECK: gpu_async.stream.wait %[[S:.*]], %[[T]]
// CHECK-NEXT: gpu_async.event.destroy %[[T]]
// CHECK-NEXT: gpu_async.launch on %[[S]] id(0)
// CHECK-NEXT: %[[R:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT: gpu_async.stream.destroy %[[S]]
// CHECK-NEXT: return %[[R]]
func.func private @callee(%t: !gpu_async.token, %x: memref<?xf32>) -> !gpu_async.token {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  return %a : !gpu_async.token
}

// CHECK-LABEL: func.func @caller
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK: scf.for
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT: %[[R:.*]] = func.call @callee(%[[E]], %{{.*}}) : (!gpu_async.event, memref<?xf32>) -> !gpu_async.event
// CHECK-NEXT: gpu_async.stream.wait %[[S]], %[[R]]
// CHECK-NEXT: gpu_async.event.destroy %[[R]]
// CHECK-NEXT: }
func.func @caller(%x: memref<?xf32>, %c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> !gpu_async.token {
    %b = func.call @callee(%t, %x) : (!gpu_async.token, memref<?xf32>) -> !gpu_async.token
    scf.yield %b : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// A ready token is a ready event; one that was handed to us goes on as it is.
// CHECK-LABEL: func.func @hand_on
// CHECK-SAME: %[[T:.*]]: !gpu_async.event
// CHECK-NEXT: %[[R:.*]] = gpu_async.event.ready
// CHECK-NEXT: return %[[R]], %[[T]]
func.func @hand_on(%t: !gpu_async.token) -> (!gpu_async.token, !gpu_async.token) {
  %r = gpu_async.wait async
  return %r, %t : !gpu_async.token, !gpu_async.token
}

// CHECK-LABEL: func.func private @outside(!gpu_async.event) -> !gpu_async.event
func.func private @outside(!gpu_async.token) -> !gpu_async.token

// Recursion: each call has streams of its own.
// CHECK-LABEL: func.func private @recursive
// CHECK: scf.if
// CHECK: func.call @recursive
// CHECK: gpu_async.stream.wait
// CHECK: func.call @outside
// CHECK: return
func.func private @recursive(%t: !gpu_async.token, %n: index, %x: memref<?xf32>) -> !gpu_async.token {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %goes = arith.cmpi ugt, %n, %c0 : index
  %r = scf.if %goes -> !gpu_async.token {
    %a = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %m = arith.subi %n, %c1 : index
    %b = func.call @recursive(%a, %m, %x) : (!gpu_async.token, index, memref<?xf32>) -> !gpu_async.token
    scf.yield %b : !gpu_async.token
  } else {
    %b = func.call @outside(%t) : (!gpu_async.token) -> !gpu_async.token
    scf.yield %b : !gpu_async.token
  }
  return %r : !gpu_async.token
}

// CHECK-LABEL: func.func @while
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK-NOT: gpu_async.stream.create
// CHECK: scf.while (%{{.*}} = %{{.*}}) : (index) -> index
// CHECK-NOT: gpu_async
// CHECK: do
// CHECK: gpu_async.launch on %[[S]] id(1 after [0, 1])
// CHECK-NOT: gpu_async
// CHECK: }
// CHECK-NEXT: gpu_async.stream.synchronize %[[S]]
func.func @while(%x: memref<?xf32>, %c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %r:2 = scf.while (%t = %a, %i = %c0) : (!gpu_async.token, index) -> (!gpu_async.token, index) {
    %goes = arith.cmpi ult, %i, %n : index
    scf.condition(%goes) %t, %i : !gpu_async.token, index
  } do {
  ^bb0(%t: !gpu_async.token, %i: index):
    %b = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %j = arith.addi %i, %c1 : index
    scf.yield %b, %j : !gpu_async.token, index
  }
  gpu_async.wait [%r#0]
  return
}

// Equal tokens share a source. Here `%u` and `%v` do: both are `%a` all the time,
// though the body hands the value of `%v` on to neither of them.
// CHECK-LABEL: func.func @equal_and_unchanged
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK: gpu_async.launch on %[[S]] id(0)
// CHECK-NOT: gpu_async.stream.create
// CHECK: do
// CHECK: gpu_async.launch on %[[S]] id(1 after [0])
func.func @equal_and_unchanged(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %r:3 = scf.while (%u = %a, %v = %a, %i = %c0) : (!gpu_async.token, !gpu_async.token, index) -> (!gpu_async.token, index, !gpu_async.token) {
    %goes = arith.cmpi ult, %i, %n : index
    scf.condition(%goes) %u, %i, %v : !gpu_async.token, index, !gpu_async.token
  } do {
  ^bb0(%t: !gpu_async.token, %i: index, %s: !gpu_async.token):
    %b = gpu_async.launch async [%s] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<?xf32>)
    %j = arith.addi %i, %c1 : index
    gpu_async.wait [%b]
    scf.yield %t, %t, %j : !gpu_async.token, !gpu_async.token, index
  }
  gpu_async.wait [%r#0]
  return
}

// CHECK-LABEL: func.func @switch
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK-NOT: gpu_async.stream.create
// CHECK: scf.index_switch
// CHECK: case 0
// CHECK-NEXT: gpu_async.launch on %[[S]] id(1 after [0])
// CHECK: case 1
// CHECK: gpu_async.launch on %[[S]] id(2 after [0])
// CHECK-NEXT: gpu_async.launch on %[[S]] id(3 after [2])
// CHECK: default
// CHECK: gpu_async.launch on %[[S]] id(4 after [1, 3])
func.func @switch(%x: memref<?xf32>, %i: index) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %t = scf.index_switch %i -> !gpu_async.token
  case 0 {
    %b = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    scf.yield %b : !gpu_async.token
  }
  case 1 {
    %b = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %c = gpu_async.launch async [%b] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    scf.yield %c : !gpu_async.token
  }
  default {
    scf.yield %a : !gpu_async.token
  }
  %d = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%d]
  return
}

// A layer in which everything depends on everything of the layer before: a join
// is kept as a node, 22 waits instead of 132, whether the program has it or not
// (D11).
// CHECK-LABEL: func.func @all_to_all
// CHECK-COUNT-12: gpu_async.stream.create
// CHECK-NOT: gpu_async.stream.create
// CHECK-COUNT-22: gpu_async.stream.wait
// CHECK-NOT: gpu_async.stream.wait
// CHECK: return
func.func @all_to_all(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %a0 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a1 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a2 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a3 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a4 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a5 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a6 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a7 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a8 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a9 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a10 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a11 = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b0 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b1 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b2 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b3 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b4 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b5 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b6 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b7 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b8 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b9 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b10 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b11 = gpu_async.launch async [%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7, %a8, %a9, %a10, %a11] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7, %b8, %b9, %b10, %b11]
  return
}
