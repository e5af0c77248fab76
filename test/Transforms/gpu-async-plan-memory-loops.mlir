// Allocations that leave loops: each round's memory is that of the round before
// where that has done with it anyway.
// RUN: gpu-opt %s -gpu-async-plan-memory --verify-roundtrip | FileCheck %s
// RUN: gpu-opt %s -gpu-async-plan-memory=remarks -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gpu-opt %s -gpu-async-plan-memory -gpu-async-make-forks-explicit -gpu-async-assign-streams -gpu-async-verify-schedule -o /dev/null

!m = memref<64xf32, 1>
!h = memref<64xf32>

// It is not known whether there is a round: without one no bytes are taken. The
// token of the last round's work is there already.
// CHECK-LABEL: func.func @ordered(
// REMARK: allocations of each round that are made once, before the loop: 1
func.func @ordered(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = gpu_async.wait async
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %c0, %arg0
  // CHECK: %[[BYTES:.*]] = arith.select %[[ANY]], %c256, %c0
  // CHECK: %[[M:.*]], %[[T:.*]] = gpu_async.alloc async(%[[BYTES]]) : memref<?xi8, 1>
  // CHECK-NEXT: %[[R:.*]] = scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}})
  // CHECK-NEXT: %[[W:.*]] = gpu_async.window %[[M]][%c0{{.*}}] () : memref<?xi8, 1> to memref<64xf32, 1>
  // CHECK-NEXT: gpu_async.memset async [%[[T]], %[[C]]] %[[W]]
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu_async.dealloc async [%[[R]], %[[T]]] %[[M]]
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %ready) -> !gpu_async.token {
    %x, %tx = gpu_async.alloc async () : !m
    %a = gpu_async.memset async [%tx, %t] %x, %v : !m, f32
    %f = gpu_async.dealloc async [%a] %x : !m
    scf.yield %a : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// Unsigned bounds.
// CHECK-LABEL: func.func @unsigned(
// CHECK: arith.cmpi ult, %c0_i32, %arg0
// CHECK: scf.for unsigned
func.func @unsigned(%n: i32, %v: f32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ready = gpu_async.wait async
  %r = scf.for unsigned %i = %c0 to %n step %c1 iter_args(%t = %ready) -> !gpu_async.token : i32 {
    %x, %tx = gpu_async.alloc async () : !m
    %a = gpu_async.memset async [%tx, %t] %x, %v : !m, f32
    %f = gpu_async.dealloc async [%a] %x : !m
    scf.yield %a : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// Loops that run: one slab for both of them and for what is around them. Its
// windows are not windows of windows.
// CHECK-LABEL: func.func @nested(
// REMARK: 2 allocations of 512 bytes become 1 of 512
// REMARK: allocations of each round that are made once, before the loop: 1
// REMARK: 2 allocations of 768 bytes become 1 of 768
// REMARK: allocations of each round that are made once, before the loop: 1
// REMARK: 2 allocations of 1024 bytes become 1 of 1024
func.func @nested(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: %[[S:.*]], %{{.*}} = gpu_async.alloc async() : memref<1024xi8, 1>
  // CHECK-NOT: gpu_async.alloc
  %o, %to = gpu_async.alloc async () : !m
  %s = gpu_async.memset async [%to] %o, %v : !m, f32
  // CHECK: scf.for {{.*}} -> (!gpu_async.token) {
  %r = scf.for %i = %c0 to %c4 step %c1 iter_args(%t = %s) -> !gpu_async.token {
    %x, %tx = gpu_async.alloc async () : !m
    %a = gpu_async.memset async [%tx, %t] %x, %v : !m, f32
    // CHECK: scf.for {{.*}} -> (!gpu_async.token) {
    %q = scf.for %j = %c0 to %c4 step %c1 iter_args(%u = %a) -> !gpu_async.token {
      // CHECK: gpu_async.window %[[S]][%{{.*}}] () : memref<1024xi8, 1> to memref<64xf32, 1>
      // CHECK: gpu_async.window %[[S]][%{{.*}}] () : memref<1024xi8, 1> to memref<64xf32, 1>
      %y, %ty = gpu_async.alloc async () : !m
      %z, %tz = gpu_async.alloc async () : !m
      %b = gpu_async.memcpy async [%ty, %u] %y, %x : !m, !m
      %c = gpu_async.memcpy async [%tz, %b] %z, %y : !m, !m
      %d = gpu_async.memcpy async [%c] %x, %z : !m, !m
      %e = gpu_async.memcpy async [%d] %o, %x : !m, !m
      %fy = gpu_async.dealloc async [%c] %y : !m
      %fz = gpu_async.dealloc async [%d] %z : !m
      scf.yield %e : !gpu_async.token
    }
    %fx = gpu_async.dealloc async [%q] %x : !m
    scf.yield %q : !gpu_async.token
  }
  %fo = gpu_async.dealloc async [%r] %o : !m
  return
}

// What the free comes after is carried out of the loop if no token that leaves it
// comes after that.
// CHECK-LABEL: func.func @carried_out(
// CHECK: %[[M:.*]], %[[T:.*]] = gpu_async.alloc async(
// CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[C:.*]] = %{{.*}}, %{{.*}} = %[[T]])
// CHECK: %[[A:.*]] = gpu_async.memset async [%[[T]], %[[C]]]
// CHECK: %[[B:.*]] = gpu_async.memset async [%[[A]]]
// CHECK: scf.yield %[[A]], %[[B]]
// CHECK: gpu_async.dealloc async [%[[R]]#1, %[[T]]] %[[M]]
func.func @carried_out(%n: index, %v: f32, %o: !m) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = gpu_async.wait async
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %ready) -> !gpu_async.token {
    %x, %tx = gpu_async.alloc async () : !m
    %a = gpu_async.memset async [%tx, %t] %x, %v : !m, f32
    %b = gpu_async.memset async [%a] %o, %v : !m, f32
    %f = gpu_async.dealloc async [%b] %x : !m
    scf.yield %a : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// Rounds that may overlap have memory of their own.
// CHECK-LABEL: func.func @overlapping(
// CHECK: scf.for
// CHECK: gpu_async.alloc
// CHECK: gpu_async.dealloc
func.func @overlapping(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x, %tx = gpu_async.alloc async () : !m
    %a = gpu_async.memset async [%tx] %x, %v : !m, f32
    %f = gpu_async.dealloc async [%a] %x : !m
  }
  return
}

// So does the one of two whose users overlap those of the round before: the last
// of them is not what the next round waits for.
// CHECK-LABEL: func.func @one_of_two(
// CHECK: gpu_async.alloc
// CHECK: scf.for
// CHECK: gpu_async.alloc
// CHECK-NOT: gpu_async.alloc
// CHECK: return
func.func @one_of_two(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = gpu_async.wait async
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %ready) -> !gpu_async.token {
    %x, %tx = gpu_async.alloc async () : !m
    %y, %ty = gpu_async.alloc async () : memref<64xf32, 3>
    %a = gpu_async.memset async [%tx, %t] %x, %v : !m, f32
    %b = gpu_async.memset async [%ty, %t] %y, %v : memref<64xf32, 3>, f32
    %c = gpu_async.memset async [%b] %y, %v : memref<64xf32, 3>, f32
    %fx = gpu_async.dealloc async [%a] %x : !m
    %fy = gpu_async.dealloc async [%c] %y : memref<64xf32, 3>
    %j = gpu_async.wait async [%a, %b]
    scf.yield %j : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// More would be held: of two sizes, which share no bytes, one is freed before
// the other is allocated.
// CHECK-LABEL: func.func @not_at_a_time(
// CHECK-NOT: gpu_async.alloc
// CHECK: scf.for
// CHECK: gpu_async.alloc
// CHECK: gpu_async.alloc
func.func @not_at_a_time(%n: index, %m: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x, %tx = gpu_async.alloc async (%n) : memref<?xf32, 1>
    %a = gpu_async.memset async [%tx] %x, %v : memref<?xf32, 1>, f32
    gpu_async.wait [%a]
    %fx = gpu_async.dealloc async %x : memref<?xf32, 1>
    %y, %ty = gpu_async.alloc async [%fx] (%m) : memref<?xf32, 1>
    %b = gpu_async.memset async [%ty] %y, %v : memref<?xf32, 1>, f32
    gpu_async.wait [%b]
    %fy = gpu_async.dealloc async %y : memref<?xf32, 1>
  }
  return
}

// What else may allocate while a round runs keeps what it may have: a call of
// what is not known here, and an op with regions in which something stays.
// CHECK-LABEL: func.func @beside_others(
// CHECK-NOT: gpu_async.alloc
// CHECK: scf.for
// CHECK: gpu_async.alloc
// CHECK: call @unknown
// CHECK: scf.for
// CHECK: gpu_async.alloc
// CHECK: scf.if
func.func private @unknown()
func.func @beside_others(%n: index, %v: f32, %k: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %x, %tx = gpu_async.alloc async () : !m
    %a = gpu_async.memset async [%tx] %x, %v : !m, f32
    gpu_async.wait [%a]
    %f = gpu_async.dealloc async %x : !m
    func.call @unknown() : () -> ()
  }
  scf.for %i = %c0 to %n step %c1 {
    %x, %tx = gpu_async.alloc async () : !m
    %a = gpu_async.memset async [%tx] %x, %v : !m, f32
    gpu_async.wait [%a]
    %f = gpu_async.dealloc async %x : !m
    scf.if %k {
      %y, %ty = gpu_async.alloc async () : !m
      %b = gpu_async.memset async [%ty] %y, %v : !m, f32
      gpu_async.wait [%b]
      %fy = gpu_async.dealloc async %y : !m
    }
  }
  return
}

// Sizes that a round computes of what is there before the loop are computed
// there; those of its number are not known then.
// CHECK-LABEL: func.func @sizes(
func.func @sizes(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[N:.*]] = arith.addi %arg0, %c1
  // CHECK: %[[SIZE:.*]] = arith.select %{{.*}}, %[[N]], %c0{{.*}}
  // CHECK: gpu_async.alloc async(%[[SIZE]]) : memref<?xf32, 1>
  // CHECK-NEXT: scf.for
  // CHECK-NOT: gpu_async.alloc
  // CHECK: }
  scf.for %i = %c0 to %n step %c1 {
    %size = arith.addi %n, %c1 : index
    %x, %tx = gpu_async.alloc async (%size) : memref<?xf32, 1>
    %a = gpu_async.memset async [%tx] %x, %v : memref<?xf32, 1>, f32
    gpu_async.wait [%a]
    %f = gpu_async.dealloc async %x : memref<?xf32, 1>
  }
  // CHECK: scf.for
  // CHECK: gpu_async.alloc
  scf.for %i = %c0 to %n step %c1 {
    %size = arith.addi %i, %c1 : index
    %x, %tx = gpu_async.alloc async (%size) : memref<?xf32, 1>
    %a = gpu_async.memset async [%tx] %x, %v : memref<?xf32, 1>, f32
    gpu_async.wait [%a]
    %f = gpu_async.dealloc async %x : memref<?xf32, 1>
  }
  return
}

// An allocation that has to come after work of its round, one that the host
// uses, and those of a loop whose rounds nobody can foretell.
// CHECK-LABEL: func.func @stay(
// CHECK-NOT: gpu_async.alloc
// CHECK: scf.for
// CHECK: gpu_async.alloc
// CHECK: scf.for
// CHECK: gpu_async.alloc
// CHECK: scf.while
// CHECK: gpu_async.alloc
func.func @stay(%n: index, %v: f32, %y: !m, %h: memref<i1>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ready = gpu_async.wait async
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %ready) -> !gpu_async.token {
    %b = gpu_async.memset async [%t] %y, %v : !m, f32
    %x, %tx = gpu_async.alloc async [%b] () : !m
    %a = gpu_async.memset async [%tx] %x, %v : !m, f32
    %f = gpu_async.dealloc async [%a] %x : !m
    scf.yield %a : !gpu_async.token
  }
  gpu_async.wait [%r]
  scf.for %i = %c0 to %n step %c1 {
    %x, %tx = gpu_async.alloc async host_shared () : !h
    %a = gpu_async.memset async [%tx] %x, %v : !h, f32
    gpu_async.wait [%a]
    %f = gpu_async.dealloc async %x : !h
  }
  scf.while : () -> () {
    %go = memref.load %h[] : memref<i1>
    scf.condition(%go)
  } do {
    %x, %tx = gpu_async.alloc async () : !m
    %a = gpu_async.memset async [%tx] %x, %v : !m, f32
    gpu_async.wait [%a]
    %f = gpu_async.dealloc async %x : !m
    scf.yield
  }
  return
}

// RUN: gpu-opt %s -gpu-async-plan-memory --remarks-filter=gpu-async-plan-memory --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] HoistedAllocations | Category:gpu-async-plan-memory | Function=ordered | hoisted-buffers=1{{$}}

// Work that an scf.while in the loop leaves behind may still use its memory: %b gets
// other bytes than %a.
// CHECK-LABEL: @behindWhile
// CHECK: gpu_async.alloc async() : memref<512xi8>
func.func @behindWhile(%n: index, %c: i1, %v: i32, %out: memref<64xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a, %t = gpu_async.alloc async () : memref<64xi32>
  %b, %u = gpu_async.alloc async () : memref<64xi32>
  scf.for %i = %c0 to %n step %c1 {
    scf.while : () -> () {
      scf.condition(%c)
    } do {
      %w = gpu_async.memset async [%t] %a, %v : memref<64xi32>, i32
      scf.yield
    }
  }
  %p = gpu_async.memset async [%u] %b, %v : memref<64xi32>, i32
  %q = gpu_async.memcpy async [%p] %out, %b : memref<64xi32>, memref<64xi32>
  %f = gpu_async.dealloc async [%q] %b : memref<64xi32>
  gpu_async.wait [%q]
  %g = gpu_async.dealloc async %a : memref<64xi32>
  return
}
