// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a function's blocks, token arguments, frees and host-shared allocations
// do to the order. Each of these was once wrong.
//
// RUN: gpu-opt %s -gpu-async-make-forks-explicit \
// RUN:   -gpu-async-assign-streams=max-streams=0 \
// RUN:   -gpu-async-verify-form=form=stream | FileCheck %s
// RUN: gpu-opt %s -gpu-async-make-forks-explicit \
// RUN:   -gpu-async-assign-streams=max-streams=1 \
// RUN:   -gpu-async-verify-form=form=stream | FileCheck %s --check-prefix=ONE

gpu.module @k {
  gpu.func @f(%x: memref<?xf32>) kernel { gpu.return }
}

// The layout of blocks says nothing about their order.
// CHECK-LABEL: func.func @exit_before_body
// CHECK: ^bb1:
// CHECK-NEXT: gpu_async.stream.synchronize %[[S:.*]]
// CHECK-NEXT: gpu_async.stream.destroy %[[S]] idle
// CHECK-NEXT: return
func.func @exit_before_body(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  cf.br ^body
^exit:
  return
^body:
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  cf.br ^exit
}

// A host wait in one block covers nothing in a block it does not lead to.
// CHECK-LABEL: func.func @wait_on_one_way
// ONE-LABEL: func.func @wait_on_one_way
// ONE: ^bb1:
// ONE-NEXT: gpu_async.launch on %[[S:.*]] id(1)
// ONE-NEXT: gpu_async.stream.synchronize %[[S]]
// ONE-NEXT: gpu_async.stream.destroy %[[S]] idle
// ONE-NEXT: return
// ONE: ^bb2:
// ONE-NEXT: gpu_async.stream.synchronize %[[S]]
// ONE-NEXT: gpu_async.stream.destroy %[[S]] idle
// ONE-NEXT: return
func.func @wait_on_one_way(%x: memref<?xf32>, %c: i1) {
  %c1 = arith.constant 1 : index
  %z = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  cf.cond_br %c, ^a, ^b
^a:
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%a]
  return
^b:
  return
}

// Work of a loop in blocks is open at its exit, around the back edge too.
// CHECK-LABEL: func.func @loop_of_blocks
// CHECK: ^bb2:
// CHECK-NEXT: gpu_async.launch on %[[S:.*]] id(0)
// CHECK-NEXT: cf.br ^bb1
// CHECK: ^bb3:
// CHECK-NEXT: gpu_async.stream.synchronize %[[S]]
// CHECK-NEXT: gpu_async.stream.destroy %[[S]] idle
func.func @loop_of_blocks(%x: memref<?xf32>, %c: i1) {
  %c1 = arith.constant 1 : index
  cf.br ^head
^head:
  cf.cond_br %c, ^body, ^exit
^body:
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  cf.br ^head
^exit:
  return
}

// Blocks that wait use the same stream again.
// CHECK-LABEL: func.func @blocks_reuse
// CHECK-COUNT-1: gpu_async.stream.create
// CHECK-NOT: gpu_async.stream.create
// CHECK: return
func.func @blocks_reuse(%x: memref<?xf32>, %c: i1) {
  %c1 = arith.constant 1 : index
  cf.cond_br %c, ^a, ^b
^a:
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%a]
  cf.br ^c
^b:
  %b = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%b]
  cf.br ^c
^c:
  %d = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%d]
  return
}

// A free that waits for a token argument delays nothing else.
// CHECK-LABEL: func.func @free_after_argument
// CHECK-SAME: %[[ARG:.*]]: !gpu_async.event,
// CHECK: gpu_async.launch on %[[S0:.*]] id(0)
// CHECK-NEXT: %[[S1:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.stream.wait %[[S1]], %[[ARG]]
// CHECK-NEXT: gpu_async.event.destroy %[[ARG]]
// CHECK-NEXT: gpu_async.dealloc on %[[S1]] id(1)
// CHECK-NEXT: gpu_async.stream.destroy %[[S1]]{{$}}
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(2 after [0])
// One stream is all there is: order is added, the bound is kept.
// ONE-LABEL: func.func @free_after_argument
// ONE-COUNT-1: gpu_async.stream.create
// ONE-NOT: gpu_async.stream.create
// ONE: return
func.func @free_after_argument(%t: !gpu_async.token, %x: memref<?xf32>, %m : memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %d = gpu_async.dealloc async [%t] %m : memref<?xf32>
  %b = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  gpu_async.wait [%b]
  return
}

// A host-shared allocation is there at once, but what comes after its token
// comes after what it takes.
// CHECK-LABEL: func.func @host_shared_passes_order_on
// CHECK: gpu_async.launch on %[[S0:.*]] id(0)
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S0]]
// CHECK-NEXT: gpu_async.launch on %[[S0]] id(1 after [0])
// CHECK: gpu_async.stream.wait %[[S1:.*]], %[[E]]
// CHECK: gpu_async.launch on %[[S1]] id(3 after [2])
func.func @host_shared_passes_order_on(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a2 = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %m, %t = gpu_async.alloc async [%a] host_shared (%c1) : memref<?xf32>
  %b = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  gpu_async.wait [%a2, %b]
  return
}

// An allocation stands behind no other allocation's wait, unless all that use it
// do: id 5 need not come after id 0.
// CHECK-LABEL: func.func @allocations_apart
// CHECK: gpu_async.alloc on %[[S1:.*]] id(2 after [0])
// CHECK: %[[S2:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.alloc on %[[S2]] id(3)
// CHECK: gpu_async.launch on %[[S1]] id(4 after [0, 2, 3])
// CHECK: gpu_async.launch on %[[S2]] id(5 after [3])
func.func @allocations_apart(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %a2 = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %m1, %t1 = gpu_async.alloc async [%a] (%c1) : memref<?xf32>
  %m2, %t2 = gpu_async.alloc async (%c1) : memref<?xf32>
  %n = gpu_async.launch async [%a, %t1, %t2] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m1 : memref<?xf32>)
  %u2 = gpu_async.launch async [%t2] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m2 : memref<?xf32>)
  gpu_async.wait [%n, %u2, %a2]
  return
}

// What comes after a free comes after the allocations that the free takes.
// CHECK-LABEL: func.func @allocation_through_a_free
// CHECK: gpu_async.alloc on %[[S0:.*]] id(0)
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S0]]
// CHECK: gpu_async.stream.wait %[[S1:.*]], %[[E]]
// CHECK: gpu_async.launch on %[[S1]] id(4 after [3])
func.func @allocation_through_a_free(%x: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %m, %t = gpu_async.alloc async (%c1) : memref<?xf32>
  %a = gpu_async.launch async [%t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %b = gpu_async.launch async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  %d = gpu_async.dealloc async [%t] %x : memref<?xf32>
  %n = gpu_async.launch async [%d] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  gpu_async.wait [%n, %b]
  return
}

// A returned allocation's token covers nothing but the allocation.
// CHECK-LABEL: func.func @allocation_returned
// CHECK: gpu_async.launch on %[[S0:.*]] id(0)
// CHECK-NEXT: %[[S1:.*]] = gpu_async.stream.create
// CHECK-NEXT: gpu_async.alloc on %[[S1]] id(1)
// CHECK-NEXT: %[[E:.*]] = gpu_async.event.record on %[[S1]]
// CHECK: return %{{.*}}, %[[E]]
func.func @allocation_returned(%x: memref<?xf32>) -> (memref<?xf32>, !gpu_async.token) {
  %c1 = arith.constant 1 : index
  %a = gpu_async.launch async @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %m, %t = gpu_async.alloc async (%c1) : memref<?xf32>
  %b = gpu_async.launch async [%a, %t] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  return %m, %t : memref<?xf32>, !gpu_async.token
}

// A caller's stream whose pointer is found in a later block, and one that
// nothing uses.
// CHECK-LABEL: func.func @callers_stream_in_a_block
// CHECK: ^bb1:
// CHECK: %[[S:.*]] = gpu_async.stream.external
// CHECK-NEXT: gpu_async.launch on %[[S]] id(0)
// CHECK-NEXT: gpu_async.stream.destroy %[[S]]
// CHECK-NEXT: cf.br ^bb2
// CHECK: ^bb2:
// CHECK-NEXT: return
func.func @callers_stream_in_a_block(%q: !llvm.ptr, %x: memref<?xf32>, %c: i1) {
  %c1 = arith.constant 1 : index
  %unused = gpu_async.stream.external %q : !llvm.ptr
  cf.cond_br %c, ^a, ^b
^a:
  %p = llvm.load %q : !llvm.ptr -> !llvm.ptr
  %s = gpu_async.stream.external %p : !llvm.ptr
  %a = gpu_async.launch async on %s @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  cf.br ^b
^b:
  return
}

// The bound holds for allocations and frees alone.
// ONE-LABEL: func.func @only_memory
// ONE-COUNT-1: gpu_async.stream.create
// ONE-NOT: gpu_async.stream.create
// ONE: return
func.func @only_memory() {
  %m, %t = gpu_async.alloc async host_shared () : memref<4xi32>
  %d = gpu_async.dealloc async %m : memref<4xi32>
  return
}

// The allocation of ^last, laid out first, does not stand behind the wait of the
// one in ^body.
// CHECK-LABEL: func.func @allocations_in_blocks
// CHECK: ^bb1:
// CHECK-NEXT: gpu_async.alloc on %[[S0:.*]] id(0)
// CHECK: ^bb2:
// CHECK-NOT: gpu_async.stream.wait %[[S0]],
// CHECK: cf.br ^bb1
func.func @allocations_in_blocks(%p: !llvm.ptr, %x: memref<?xf32>) -> !gpu_async.token {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.external %p : !llvm.ptr
  cf.br ^body
^last:
  %m, %t = gpu_async.alloc async (%c1) : memref<?xf32>
  %a = gpu_async.launch async [%t] on %s @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xf32>)
  return %t : !gpu_async.token
^body:
  %b = gpu_async.launch async on %s @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>)
  %h, %u = gpu_async.alloc async [%b] host_shared (%c1) : memref<?xf32>
  cf.br ^last
}
