// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linear form to stream form: how many streams, events and waits, and where
// (D07, D09, D11, D12, D13, D14).
//
// RUN: gpu-opt %s -gpu-async-verify-form=form=linear -gpu-async-assign-streams \
// RUN:   -gpu-async-verify-form=form=stream | FileCheck %s
// RUN: gpu-opt %s -gpu-async-assign-streams=max-streams=1 \
// RUN:   -gpu-async-verify-form=form=stream | FileCheck %s --check-prefix=ONE
// Applied twice it changes nothing.
// RUN: gpu-opt %s -gpu-async-assign-streams -o %t.once
// RUN: gpu-opt %t.once -gpu-async-assign-streams | diff %t.once -

gpu.module @k {
  gpu.func @f(%x: memref<?xf32>) kernel { gpu.return }
}

// 1 + 4 branches + 1: four streams, one event of the fork and three of the join.
// CHECK-LABEL: func.func @fork_join
// CHECK: %[[S0:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.alloc on %[[S0]] id(0)
// CHECK-NEXT: gpu_async.memcpy on %[[S0]] id(1 after [0])
// CHECK-NEXT: %[[FORK:.*]] = gpu_async.event.record on %[[S0]]
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(2 after [1])
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(3 after [2])
// CHECK-NEXT: %[[S1:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.stream.wait %[[S1]], %[[FORK]]
// CHECK-NEXT: gpu_async.launch on %[[S1]] id(4 after [1])
// CHECK-NEXT: %[[B:.*]] = gpu_async.event.record on %[[S1]]
// CHECK-NEXT: %[[S2:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.stream.wait %[[S2]], %[[FORK]]
// CHECK-NEXT: gpu_async.launch on %[[S2]] id(5 after [1])
// CHECK-NEXT: %[[C:.*]] = gpu_async.event.record on %[[S2]]
// CHECK-NEXT: %[[S3:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.stream.wait %[[S3]], %[[FORK]]
// CHECK-NEXT: gpu_async.event.destroy %[[FORK]]
// CHECK-NEXT: gpu_async.launch on %[[S3]] id(6 after [1])
// CHECK-NEXT: %[[D:.*]] = gpu_async.event.record on %[[S3]]
// CHECK-NEXT: gpu_async.stream.wait %[[S0]], %[[D]]
// CHECK-NEXT: gpu_async.event.destroy %[[D]]
// CHECK-NEXT: gpu_async.stream.wait %[[S0]], %[[C]]
// CHECK-NEXT: gpu_async.event.destroy %[[C]]
// CHECK-NEXT: gpu_async.stream.wait %[[S0]], %[[B]]
// CHECK-NEXT: gpu_async.event.destroy %[[B]]
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(7 after [3, 4, 5, 6])
// CHECK-NEXT: gpu_async.memcpy on %[[S0]] id(8 after [7])
// CHECK-NEXT: gpu_async.dealloc on %[[S0]] id(9 after [8])
// One host wait covers all streams, so all are idle behind it.
// CHECK-NEXT: gpu_async.stream.synchronize %[[S0]]
// CHECK-COUNT-4: gpu_async.stream.destroy %{{.*}} idle
// CHECK-NEXT: return
// ONE-LABEL: func.func @fork_join
// ONE-COUNT-1: gpu_async.stream.create
// ONE-NOT: gpu_async.stream.create
// ONE-NOT: gpu_async.event.record
// ONE: gpu_async.stream.synchronize
// ONE: return
func.func @fork_join(%h: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %m, %r = gpu_async.alloc async (%n) : memref<?xf32>
  %up = gpu_async.memcpy async [%r] %m, %h : memref<?xf32>, memref<?xf32>
  %u:4 = gpu_async.fork %up : 4
  %a = gpu_async.launch async [%u#0] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %a1 = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %b = gpu_async.launch async [%u#1] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %c = gpu_async.launch async [%u#2] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %d = gpu_async.launch async [%u#3] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %j = gpu_async.wait async [%a1, %b, %c, %d]
  %e = gpu_async.launch async [%j] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %dn = gpu_async.memcpy async [%e] %h, %m : memref<?xf32>, memref<?xf32>
  %dn0, %dn1 = gpu_async.fork %dn : 2
  %fr = gpu_async.dealloc async [%dn0] %m : memref<?xf32>
  gpu_async.release %fr
  gpu_async.wait [%dn1]
  return
}

// Allocations float onto the stream of their user (D11).
// CHECK-LABEL: func.func @allocations_float
// CHECK-COUNT-1: gpu_async.stream.create
// CHECK-NOT: gpu_async.stream.create
// CHECK-NOT: gpu_async.event.record
// CHECK: return
// ONE-LABEL: func.func @allocations_float
func.func @allocations_float(%n: index) {
  %c1 = arith.constant 1 : index
  %m0, %t0 = gpu_async.alloc async (%n) : memref<?xf32>
  %m1, %t1 = gpu_async.alloc async (%n) : memref<?xf32>
  %m2, %t2 = gpu_async.alloc async (%n) : memref<?xf32>
  %a = gpu_async.launch async [%t0, %t1, %t2] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m0 : memref<?xf32>)
  %a0, %a1, %a2 = gpu_async.fork %a : 3
  %d0 = gpu_async.dealloc async [%a0] %m0 : memref<?xf32>
  %d1 = gpu_async.dealloc async [%a1] %m1 : memref<?xf32>
  %d2 = gpu_async.dealloc async [%a2] %m2 : memref<?xf32>
  gpu_async.wait [%d0, %d1, %d2]
  return
}

// The memory of @user is allocated where nothing that may run long stands
// before it: @user must be able to start while the first launch still runs.
// CHECK-LABEL: func.func @allocation_adds_no_order
// CHECK: %[[S0:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(0)
// CHECK-NEXT: %[[S1:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.alloc on %[[S1]] id(1)
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S1]]
// CHECK-NEXT: gpu_async.stream.wait %[[S0]], %[[E]]
// CHECK: gpu_async.launch on %[[S0]] id(2 after [0, 1])
// CHECK-NEXT: gpu_async.launch on %[[S1]] id(3 after [1])
// ONE-LABEL: func.func @allocation_adds_no_order
func.func @allocation_adds_no_order(%x: memref<?xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %m, %t = gpu_async.alloc async (%n) : memref<?xf32>
  %t0, %t1 = gpu_async.fork %t : 2
  %b = gpu_async.launch async [%a, %t0] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %c = gpu_async.launch async [%t1] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  gpu_async.wait [%b, %c]
  return
}

// A host wait covers its token's own past and no more: an event recorded before
// the later launch (B03). What is released is complete at return.
// CHECK-LABEL: func.func @early_wait
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.launch on %[[S]] id(0)
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT: gpu_async.launch on %[[S]] id(1 after [0])
// CHECK-NEXT: gpu_async.event.synchronize %[[E]]
// CHECK-NEXT: gpu_async.event.destroy %[[E]]
// CHECK-NEXT: gpu_async.stream.synchronize %[[S]]
// CHECK-NEXT: gpu_async.stream.destroy %[[S]] idle
// CHECK-NEXT: return
// ONE-LABEL: func.func @early_wait
func.func @early_wait(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a0, %a1 = gpu_async.fork %a : 2
  %b = gpu_async.launch async [%a0] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%a1]
  gpu_async.release %b
  return
}

// Streams are made outside the loop and reused in it; the work outside keeps
// its own, since it may still run (D07).
// CHECK-LABEL: func.func @loop
// CHECK: %[[S0:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(0)
// CHECK-NEXT: %[[S1:.*]] = gpu_async.stream.create
// CHECK-NEXT: %[[S2:.*]] = gpu_async.stream.create
// CHECK-NEXT: scf.for
// CHECK-NEXT: gpu_async.launch on %[[S1]] id(1)
// CHECK-NEXT: gpu_async.launch on %[[S2]] id(2)
// CHECK-NEXT: gpu_async.stream.synchronize %[[S2]], %[[S1]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.stream.synchronize %[[S0]]
// CHECK-DAG: gpu_async.stream.destroy %[[S0]] idle
// CHECK-DAG: gpu_async.stream.destroy %[[S1]] idle
// CHECK-DAG: gpu_async.stream.destroy %[[S2]] idle
// CHECK: return
// ONE-LABEL: func.func @loop
func.func @loop(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  scf.for %i = %c0 to %n step %c1 {
    %b = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    %c = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
    gpu_async.wait [%b, %c]
  }
  gpu_async.wait [%a]
  return
}

// A caller's stream is never made, waited for or given back; what is left over
// at return is ordered into it (D13).
// CHECK-LABEL: func.func @callers_stream
// CHECK-SAME: %[[P:.*]]: !llvm.ptr
// CHECK-NEXT: %[[X:.*]] = gpu_async.stream.external %[[P]]
// CHECK: %[[S:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.launch on %[[S]] id(0)
// CHECK-NEXT: %[[E0:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT: gpu_async.stream.wait %[[X]], %[[E0]]
// CHECK: gpu_async.launch on %[[X]] id(1 after [0])
// CHECK-NEXT: %[[E1:.*]] = gpu_async.event.record on %[[X]]
// CHECK-NEXT: gpu_async.stream.wait %[[S]], %[[E1]]
// CHECK: gpu_async.launch on %[[S]] id(2 after [1])
// CHECK-NEXT: %[[E2:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT: gpu_async.stream.destroy %[[S]]
// CHECK-NEXT: gpu_async.stream.wait %[[X]], %[[E2]]
// CHECK-NOT: synchronize
// CHECK: return
// ONE-LABEL: func.func @callers_stream
func.func @callers_stream(%p: !llvm.ptr, %x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.external %p : !llvm.ptr
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b = gpu_async.launch async [%a] on %s @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %c = gpu_async.launch async [%b] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.release %c
  return
}

// At the boundary of a function a token is an event (D05).
// CHECK-LABEL: func.func @token_argument_and_result
// CHECK-SAME: (%[[IN:.*]]: !gpu_async.event, %{{.*}}) -> !gpu_async.event
// CHECK: gpu_async.stream.wait %[[S:.*]], %[[IN]]
// CHECK-NEXT: gpu_async.event.destroy %[[IN]]
// CHECK-NEXT: gpu_async.launch on %[[S]] id(0)
// CHECK-NEXT: %[[OUT:.*]] = gpu_async.event.record on %[[S]]
// CHECK-NEXT: gpu_async.stream.destroy %[[S]]
// CHECK-NEXT: return %[[OUT]]
// ONE-LABEL: func.func @token_argument_and_result
func.func @token_argument_and_result(%t: !gpu_async.token, %x: memref<?xf32>) -> !gpu_async.token {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  return %a : !gpu_async.token
}

// After a host wait streams are used again, and its edges are free.
// CHECK-LABEL: func.func @phases
// CHECK-COUNT-2: gpu_async.stream.create
// CHECK-NOT: gpu_async.stream.create
// CHECK-NOT: gpu_async.event.record
// CHECK: return
// ONE-LABEL: func.func @phases
func.func @phases(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %b = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a0, %a1 = gpu_async.fork %a : 2
  gpu_async.wait [%a0, %b]
  %c = gpu_async.launch async [%a1] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %d = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%c, %d]
  return
}

// The stream of a collective begins its work before others.
// CHECK-LABEL: func.func @beside_a_collective
// CHECK: %[[C:.*]] = gpu_async.stream.create urgent{{$}}
// CHECK: gpu_async.launch on %[[C]]
// CHECK: gpu_async.collective on %[[C]]
// CHECK: %[[S:.*]] = gpu_async.stream.create{{$}}
// CHECK: gpu_async.launch on %[[S]]
// ONE-LABEL: func.func @beside_a_collective
// ONE: gpu_async.stream.create urgent
func.func @beside_a_collective(%x: memref<4xf32>, %y: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %d = memref.cast %x : memref<4xf32> to memref<?xf32>
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : memref<?xf32>)
  %r = gpu_async.collective async [%a] all_reduce<sum> %x, %x : memref<4xf32>, memref<4xf32>
  %b = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<?xf32>)
  gpu_async.wait [%r, %b]
  return
}

// RUN: gpu-opt %s -gpu-async-assign-streams --remarks-filter=gpu-async-assign-streams --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Streams | Category:gpu-async-assign-streams | Function=fork_join | events=4, host-waits=1, streams=4, waits=6{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Streams | Category:gpu-async-assign-streams | Function=early_wait | events=1, host-waits=2, streams=1, waits=0{{$}}
