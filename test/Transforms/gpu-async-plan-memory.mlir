// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which allocations share bytes, what order stays, and what is held no longer
// than before. What stays as it is: gpu-async-plan-memory-keep.mlir.
//
// RUN: gpu-opt %s -gpu-async-plan-memory --verify-roundtrip | FileCheck %s
// RUN: gpu-opt %s -gpu-async-plan-memory -gpu-async-print-hazards -o /dev/null 2>&1 | FileCheck %s --check-prefix=HAZARD --allow-empty
// RUN: gpu-opt %s -gpu-async-plan-memory -gpu-async-make-forks-explicit -gpu-async-assign-streams -gpu-async-verify-form=form=stream -gpu-async-verify-schedule -o /dev/null

!m = memref<64xf32, 1>

// Places that are known at run time only may be anywhere in the slab.
// HAZARD-NOT: hazard in @{{[^d]}}

// Each buffer is done when the next but one comes.
// CHECK-LABEL: func.func @chain
func.func @chain(%in: !m, %out: !m) {
  // CHECK: %[[S:.*]], %[[T:.*]] = gpu_async.alloc async() : memref<512xi8, 1>
  // CHECK: %[[C0:.*]] = arith.constant 0 : index
  // CHECK: %[[X:.*]] = gpu_async.window %[[S]][%[[C0]]] () : memref<512xi8, 1> to memref<64xf32, 1>
  // CHECK: %[[A:.*]] = gpu_async.memcpy async [%[[T]]] %[[X]], %{{.*}}
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memcpy async [%tx] %x, %in : !m, !m
  // CHECK: %[[C256:.*]] = arith.constant 256 : index
  // CHECK: %[[Y:.*]] = gpu_async.window %[[S]][%[[C256]]]
  // CHECK: %[[B:.*]] = gpu_async.memcpy async [%[[T]], %[[A]]] %[[Y]], %[[X]]
  %y, %ty = gpu_async.alloc async () : !m
  %b = gpu_async.memcpy async [%ty, %a] %y, %x : !m, !m
  %fx = gpu_async.dealloc async [%b] %x : !m
  // CHECK-NOT: dealloc
  // CHECK: %[[D0:.*]] = arith.constant 0 : index
  // CHECK: %[[Z:.*]] = gpu_async.window %[[S]][%[[D0]]]
  // CHECK: %[[C:.*]] = gpu_async.memcpy async [%[[T]], %[[B]]] %[[Z]], %[[Y]]
  %z, %tz = gpu_async.alloc async () : !m
  %c = gpu_async.memcpy async [%tz, %b] %z, %y : !m, !m
  %fy = gpu_async.dealloc async [%c] %y : !m
  // CHECK: %[[D:.*]] = gpu_async.memcpy async [%[[C]]] %{{.*}}, %[[Z]]
  %d = gpu_async.memcpy async [%c] %out, %z : !m, !m
  // CHECK-NEXT: gpu_async.dealloc async [%[[D]]] %[[S]] : memref<512xi8, 1>
  // CHECK-NEXT: return
  %fz = gpu_async.dealloc async [%d] %z : !m
  return
}

// No token orders the branches; freed behind the host wait that covers both.
// CHECK-LABEL: func.func @branches
func.func @branches(%v: f32) {
  // CHECK: %[[S:.*]], %[[T:.*]] = gpu_async.alloc async() : memref<512xi8, 1>
  // CHECK: gpu_async.window %[[S]][%c0{{.*}}]
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%a] %x : !m
  // CHECK: gpu_async.window %[[S]][%c256{{.*}}]
  %y, %ty = gpu_async.alloc async () : !m
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%b] %y : !m
  // CHECK: gpu_async.wait [%{{.*}}, %{{.*}}]
  // CHECK-NEXT: gpu_async.dealloc async %[[S]]
  gpu_async.wait [%a, %b]
  return
}

// A host wait orders all that comes behind it. At the end of a function the
// host waits anyway.
// CHECK-LABEL: func.func @host_wait
func.func @host_wait(%v: f32) {
  // CHECK: %[[S:.*]], %{{.*}} = gpu_async.alloc async() : memref<512xi8, 1>
  // CHECK: gpu_async.window %[[S]][%c0{{.*}}]
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  gpu_async.wait [%a]
  %fx = gpu_async.dealloc async %x : !m
  // CHECK: gpu_async.window %[[S]][%c0{{.*}}]
  %y, %ty = gpu_async.alloc async () : !m
  // CHECK: %[[B:.*]] = gpu_async.memset
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%b] %y : !m
  // CHECK: gpu_async.window %[[S]][%c256{{.*}}]
  %z, %tz = gpu_async.alloc async () : !m
  // CHECK: %[[C:.*]] = gpu_async.memset
  %c = gpu_async.memset async [%tz] %z, %v : !m, f32
  // CHECK-NEXT: gpu_async.wait [%[[B]], %[[C]]]
  // CHECK-NEXT: gpu_async.dealloc async %[[S]]
  // CHECK-NEXT: return
  %fz = gpu_async.dealloc async [%c] %z : !m
  return
}

// What is on a caller's stream, or goes on under a token, is not waited for.
// CHECK-LABEL: func.func @goes_on
func.func @goes_on(%v: f32) -> !gpu_async.token {
  %x, %tx = gpu_async.alloc async () : !m
  // CHECK: %[[A:.*]] = gpu_async.memset
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%a] %x : !m
  %y, %ty = gpu_async.alloc async () : !m
  // CHECK: %[[B:.*]] = gpu_async.memset
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  // CHECK-NEXT: gpu_async.dealloc async [%[[A]], %[[B]]]
  // CHECK-NEXT: return %[[B]]
  %fy = gpu_async.dealloc async [%b] %y : !m
  return %fy : !gpu_async.token
}

// The program's own order stays: what came after a free comes after what that
// came after, what came after an allocation also after its dependencies.
// CHECK-LABEL: func.func @order
func.func @order(%out: !m, %v: f32) {
  // CHECK: %[[S:.*]], %[[T:.*]] = gpu_async.alloc async() : memref<256xi8, 1>
  %x, %tx = gpu_async.alloc async () : !m
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  // CHECK: %[[P:.*]] = gpu_async.memset
  %p = gpu_async.memset async %out, %v : !m, f32
  // CHECK: %[[F:.*]] = gpu_async.wait async [%[[A]], %[[P]]]
  %fx = gpu_async.dealloc async [%a, %p] %x : !m
  // CHECK: %[[J:.*]] = gpu_async.wait async [%[[F]], %[[T]]]
  // CHECK: gpu_async.memset async [%[[J]]]
  %y, %ty = gpu_async.alloc async [%fx] () : !m
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%b] %y : !m
  return
}

// Sizes are rounded up, small ones go into gaps, no bytes have an address.
// CHECK-LABEL: func.func @sizes
func.func @sizes(%v: f32, %i: i8) {
  // 1280 + 256 + 256
  // CHECK: gpu_async.alloc async() : memref<1792xi8>
  // CHECK: gpu_async.window %{{.*}}[%c0{{.*}}] () : memref<1792xi8> to memref<3xi8>
  %x, %tx = gpu_async.alloc async () : memref<3xi8>
  // CHECK: gpu_async.window %{{.*}}[%c256{{.*}}] () : memref<1792xi8> to memref<257xf32>
  %y, %ty = gpu_async.alloc async () : memref<257xf32>
  // CHECK: gpu_async.window %{{.*}}[%c1536{{.*}}] () : memref<1792xi8> to memref<0xf32>
  %z, %tz = gpu_async.alloc async () : memref<0xf32>
  %a = gpu_async.memset async [%tx] %x, %i : memref<3xi8>, i8
  %b = gpu_async.memset async [%ty] %y, %v : memref<257xf32>, f32
  %c = gpu_async.memset async [%tz] %z, %v : memref<0xf32>, f32
  gpu_async.wait [%a, %b, %c]
  %fx = gpu_async.dealloc async %x : memref<3xi8>
  %fy = gpu_async.dealloc async %y : memref<257xf32>
  %fz = gpu_async.dealloc async %z : memref<0xf32>
  return
}

// A slab for each memory space.
// CHECK-LABEL: func.func @spaces
func.func @spaces(%v: f32) {
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  // CHECK: gpu_async.alloc async() : memref<512xi8>
  %x, %tx = gpu_async.alloc async () : !m
  %p, %tp = gpu_async.alloc async () : memref<64xf32>
  %y, %ty = gpu_async.alloc async () : !m
  %q, %tq = gpu_async.alloc async () : memref<64xf32>
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %b = gpu_async.memset async [%tp] %p, %v : memref<64xf32>, f32
  %c = gpu_async.memset async [%ty] %y, %v : !m, f32
  %d = gpu_async.memset async [%tq] %q, %v : memref<64xf32>, f32
  gpu_async.wait [%a, %b, %c, %d]
  %fx = gpu_async.dealloc async %x : !m
  %fp = gpu_async.dealloc async %p : memref<64xf32>
  %fy = gpu_async.dealloc async %y : !m
  %fq = gpu_async.dealloc async %q : memref<64xf32>
  return
}

// Views are the memory that they show.
// CHECK-LABEL: func.func @views
func.func @views(%v: f32, %c: i1) {
  %x, %tx = gpu_async.alloc async () : !m
  %y, %ty = gpu_async.alloc async () : !m
  %half = memref.subview %x[0][32][1] : !m to memref<32xf32, strided<[1]>, 1>
  %cast = memref.cast %half : memref<32xf32, strided<[1]>, 1> to memref<?xf32, strided<[1]>, 1>
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  // %y is used through the choice by %b, which %z's user does not come after.
  // CHECK: memref<768xi8, 1>
  %any = arith.select %c, %x, %y : !m
  %b = gpu_async.memset async [%a, %ty] %any, %v : !m, f32
  %z, %tz = gpu_async.alloc async () : !m
  %d = gpu_async.memset async [%tz, %a] %z, %v : !m, f32
  %e = gpu_async.memset async [%a, %b, %d] %cast, %v : memref<?xf32, strided<[1]>, 1>, f32
  %fx = gpu_async.dealloc async [%e] %x : !m
  %fy = gpu_async.dealloc async [%b] %y : !m
  %fz = gpu_async.dealloc async [%d] %z : !m
  return
}

// All runs of a loop come before what comes after its token. Within one, buffers
// from outside are in use at a time; those of an iteration are its own.
// CHECK-LABEL: func.func @loop
func.func @loop(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[S:.*]], %[[T:.*]] = gpu_async.alloc async() : memref<512xi8, 1>
  // CHECK: gpu_async.window %[[S]][%c0
  %x, %tx = gpu_async.alloc async () : !m
  // CHECK: gpu_async.window %[[S]][%c256
  %y, %ty = gpu_async.alloc async () : !m
  // CHECK: %[[U:.*]], %[[TU:.*]] = gpu_async.alloc async(%{{.*}}) : memref<?xi8, 1>
  // CHECK: %[[R:.*]] = scf.for
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %tx) -> !gpu_async.token {
    %a = gpu_async.memset async [%t, %tx] %x, %v : !m, f32
    %b = gpu_async.memset async [%a, %ty] %y, %v : !m, f32
    // CHECK: gpu_async.window %[[U]][%c0
    %p, %tp = gpu_async.alloc async () : !m
    %d = gpu_async.memset async [%tp, %b] %p, %v : !m, f32
    %fp = gpu_async.dealloc async [%d] %p : !m
    // CHECK: gpu_async.window %[[U]][%c0
    %q, %tq = gpu_async.alloc async () : !m
    %e = gpu_async.memset async [%tq, %d] %q, %v : !m, f32
    %fq = gpu_async.dealloc async [%e] %q : !m
    scf.yield %e : !gpu_async.token
  }
  // CHECK: }
  // CHECK-NEXT: gpu_async.dealloc async [%[[R]], %[[TU]]] %[[U]]
  %fx = gpu_async.dealloc async [%r] %x : !m
  %fy = gpu_async.dealloc async [%r] %y : !m
  // CHECK: gpu_async.window %[[S]][%c0
  %z, %tz = gpu_async.alloc async () : !m
  // CHECK: %[[C:.*]] = gpu_async.memset
  %c = gpu_async.memset async [%tz, %r] %z, %v : !m, f32
  // CHECK-NEXT: gpu_async.dealloc async [%[[C]]] %[[S]]
  %fz = gpu_async.dealloc async [%c] %z : !m
  return
}

// A token that a loop hands round unchanged says nothing of the loop's work,
// unless the host has waited for that.
// CHECK-LABEL: func.func @unchanged
func.func @unchanged(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  %x, %tx = gpu_async.alloc async () : !m
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %tx, %u = %tx) -> (!gpu_async.token, !gpu_async.token) {
    %a = gpu_async.memset async [%t, %u] %x, %v : !m, f32
    scf.yield %t, %a : !gpu_async.token, !gpu_async.token
  }
  %y, %ty = gpu_async.alloc async () : !m
  %c = gpu_async.memset async [%ty, %r#0] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%c] %y : !m
  %fx = gpu_async.dealloc async [%r#1] %x : !m
  return
}
// CHECK-LABEL: func.func @waited_in_loop
func.func @waited_in_loop(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: gpu_async.alloc async() : memref<256xi8, 1>
  %x, %tx = gpu_async.alloc async () : !m
  scf.for %i = %c0 to %n step %c1 {
    %a = gpu_async.memset async [%tx] %x, %v : !m, f32
    gpu_async.wait [%a]
  }
  %fx = gpu_async.dealloc async [%tx] %x : !m
  %y, %ty = gpu_async.alloc async () : !m
  %c = gpu_async.memset async [%ty] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%c] %y : !m
  return
}

// Branches of one op: never one place, whichever is taken.
// CHECK-LABEL: func.func @if
func.func @if(%k: i1, %v: f32) {
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  %x, %tx = gpu_async.alloc async () : !m
  %y, %ty = gpu_async.alloc async () : !m
  %r = scf.if %k -> !gpu_async.token {
    %a = gpu_async.memset async [%tx] %x, %v : !m, f32
    scf.yield %a : !gpu_async.token
  } else {
    %b = gpu_async.memset async [%ty] %y, %v : !m, f32
    scf.yield %b : !gpu_async.token
  }
  // CHECK: %[[Z:.*]] = gpu_async.window %{{.*}}[%c0
  %z, %tz = gpu_async.alloc async () : !m
  %c = gpu_async.memset async [%tz, %r] %z, %v : !m, f32
  %fx = gpu_async.dealloc async [%r] %x : !m
  %fy = gpu_async.dealloc async [%r] %y : !m
  %fz = gpu_async.dealloc async [%c] %z : !m
  return
}

// A call that takes a token and gives one says nothing of what is between.
// CHECK-LABEL: func.func @call
func.func private @other(!gpu_async.token) -> !gpu_async.token
func.func @call(%v: f32) {
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  %x, %tx = gpu_async.alloc async () : !m
  %y, %ty = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %r = func.call @other(%a) : (!gpu_async.token) -> !gpu_async.token
  %b = gpu_async.memset async [%ty, %r] %y, %v : !m, f32
  %fx = gpu_async.dealloc async [%a, %r] %x : !m
  %fy = gpu_async.dealloc async [%b] %y : !m
  return
}

// Sizes that are known at run time only: those that are equal share places as
// the order allows, and each other size has places of its own.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[N:.*]]: index, %[[M:.*]]: index, %{{.*}}: f32
func.func @dynamic(%n: index, %m: index, %v: f32) {
  // 12 bytes times both sizes, and none of what has an error of its own.
  // CHECK: %[[N0:.*]] = arith.maxsi %[[N]], %c0{{.*}}
  // CHECK: %[[LOW:.*]], %[[HIGH:.*]] = arith.mului_extended %c12{{.*}}, %[[N0]]
  // CHECK: arith.maxsi %[[M]], %c0{{.*}}
  // CHECK: %[[UNIT:.*]] = arith.andi %{{.*}}, %c-256{{.*}}
  // CHECK: arith.mului_extended %[[UNIT]], %c2{{.*}}
  // CHECK: %[[SUM:.*]] = arith.addi %[[FIRST:c512.*]], %{{.*}}
  // CHECK: %[[O:.*]] = arith.minui %[[SUM]]
  // CHECK: %[[S:.*]], %{{.*}} = gpu_async.alloc async(%{{.*}}) : memref<?xi8>
  // CHECK: gpu_async.window %[[S]][%[[FIRST]]] (%[[N]], %[[M]]) : memref<?xi8> to memref<?x?x3xf32>
  %x, %tx = gpu_async.alloc async (%n, %m) : memref<?x?x3xf32>
  // CHECK: gpu_async.window %[[S]][%[[FIRST]]] (%[[N]], %[[M]])
  %y, %ty = gpu_async.alloc async (%n, %m) : memref<?x?x3xf32>
  // CHECK: gpu_async.window %[[S]][%c0{{.*}}] () : memref<?xi8> to memref<100xf32>
  %c, %tc = gpu_async.alloc async () : memref<100xf32>
  // CHECK: gpu_async.window %[[S]][%[[O]]] (%[[N]]) : memref<?xi8> to memref<?xf32>
  %o, %to = gpu_async.alloc async (%n) : memref<?xf32>
  %a = gpu_async.memset async [%tx] %x, %v : memref<?x?x3xf32>, f32
  %b = gpu_async.memset async [%ty, %a] %y, %v : memref<?x?x3xf32>, f32
  // CHECK: arith.addi %[[FIRST]], %[[UNIT]]
  // CHECK: %[[SECOND:.*]] = arith.minui
  // CHECK-NEXT: gpu_async.window %[[S]][%[[SECOND]]] (%[[N]], %[[M]])
  %z, %tz = gpu_async.alloc async (%n, %m) : memref<?x?x3xf32>
  %d = gpu_async.memset async [%tz, %b] %z, %v : memref<?x?x3xf32>, f32
  %e = gpu_async.memset async [%to, %tc, %b] %o, %v : memref<?xf32>, f32
  %g = gpu_async.memset async [%tc] %c, %v : memref<100xf32>, f32
  %h = gpu_async.memset async [%d] %y, %v : memref<?x?x3xf32>, f32
  gpu_async.wait [%d, %e, %g, %h]
  %f0 = gpu_async.dealloc async [%b] %x : memref<?x?x3xf32>
  %f1 = gpu_async.dealloc async [%h] %y : memref<?x?x3xf32>
  %f2 = gpu_async.dealloc async [%d] %z : memref<?x?x3xf32>
  %f3 = gpu_async.dealloc async [%e] %o : memref<?xf32>
  %f4 = gpu_async.dealloc async [%g] %c : memref<100xf32>
  return
}

// Sizes that are constants by their values are constants: such buffers share
// bytes with all others.
// CHECK-LABEL: func.func @constant_sizes
func.func @constant_sizes(%v: f32) {
  %c100 = arith.constant 100 : index
  // CHECK: %[[S:.*]], %{{.*}} = gpu_async.alloc async() : memref<512xi8>
  // CHECK: gpu_async.window %[[S]][%c0{{.*}}] (%c100) : memref<512xi8> to memref<?xf32>
  %x, %tx = gpu_async.alloc async (%c100) : memref<?xf32>
  %a = gpu_async.memset async [%tx] %x, %v : memref<?xf32>, f32
  // Not there where the first is allocated.
  %c30 = arith.constant 30 : index
  // CHECK: gpu_async.window %[[S]][%c0{{.*}}] (%c30) : memref<512xi8> to memref<3x?xf32>
  %y, %ty = gpu_async.alloc async (%c30) : memref<3x?xf32>
  %b = gpu_async.memset async [%ty, %a] %y, %v : memref<3x?xf32>, f32
  gpu_async.wait [%b]
  %fx = gpu_async.dealloc async %x : memref<?xf32>
  %fy = gpu_async.dealloc async %y : memref<3x?xf32>
  return
}

// RUN: gpu-opt %s -gpu-async-plan-memory --remarks-filter=gpu-async-plan-memory --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Planned | Category:gpu-async-plan-memory | Function=chain | allocations=3, buffers=1, bytes=512, bytes-before=768{{$}}

// A collective uses its memory like a copy.
// CHECK-LABEL: func.func @collectives
func.func @collectives(%in: !m, %out: !m) {
  // CHECK: %[[S:.*]], %[[T:.*]] = gpu_async.alloc async() : memref<512xi8, 1>
  // CHECK: %[[X:.*]] = gpu_async.window %[[S]][%c0
  %x, %tx = gpu_async.alloc async () : !m
  // CHECK: %[[A:.*]] = gpu_async.collective async [%[[T]]] all_reduce<sum> %[[X]], %{{.*}} :
  %a = gpu_async.collective async [%tx] all_reduce<sum> %x, %in : !m, !m
  // CHECK: %[[Y:.*]] = gpu_async.window %[[S]][%c256
  %y, %ty = gpu_async.alloc async () : !m
  // CHECK: %[[B:.*]] = gpu_async.collective async [%[[T]], %[[A]]] permute<{{\[}}[0, 1]]> %[[Y]], %[[X]]
  %b = gpu_async.collective async [%ty, %a] permute<[[0, 1]]> %y, %x : !m, !m
  %fx = gpu_async.dealloc async [%b] %x : !m
  // CHECK: %[[Z:.*]] = gpu_async.window %[[S]][%c0
  %z, %tz = gpu_async.alloc async () : !m
  // CHECK: %[[C:.*]] = gpu_async.collective async [%[[T]], %[[B]]] all_reduce<max> %[[Z]], %[[Y]]
  %c = gpu_async.collective async [%tz, %b] all_reduce<max> %z, %y : !m, !m
  %fy = gpu_async.dealloc async [%c] %y : !m
  // CHECK: %[[D:.*]] = gpu_async.collective async [%[[C]]] broadcast<0> %{{.*}}, %[[Z]]
  %d = gpu_async.collective async [%c] broadcast<0> %out, %z : !m, !m
  // CHECK-NEXT: gpu_async.dealloc async [%[[D]]] %[[S]] : memref<512xi8, 1>
  %fz = gpu_async.dealloc async [%d] %z : !m
  return
}
