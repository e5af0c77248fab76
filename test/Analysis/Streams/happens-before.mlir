// The work that is done before each work and host wait, by tokens and host waits
// (Analysis/Streams/HappensBefore.h). Numbers are those of work in the text.
// RUN: order-judge --print < %s | FileCheck %s
// RUN: order-judge < %s | FileCheck %s --check-prefix=JUDGE
// RUN: not order-judge --plant < %s 2>/dev/null | FileCheck %s --check-prefix=PLANT
// JUDGE: {{[1-9][0-9]*}} claims, 0 refused
// PLANT: claims, {{[1-9][0-9]*}} refused

!m = memref<8xf32>

// A fork, a join, and a host wait, before which all later work is behind. A
// free is no item, since nobody waits for it.
// CHECK-LABEL: @line
func.func @line(%x: !m, %v: f32) {
  // CHECK-NEXT: 0 alloc:{{$}}
  %y, %t = gpu_async.alloc async () : !m
  %t0, %t1 = gpu_async.fork %t : 2
  // CHECK-NEXT: 1 memset: 0{{$}}
  %a = gpu_async.memset async [%t0] %y, %v : !m, f32
  // CHECK-NEXT: 2 memset:{{$}}
  %b = gpu_async.memset async %x, %v : !m, f32
  %b0, %b1 = gpu_async.fork %b : 2
  %j = gpu_async.wait async [%a, %b0]
  // CHECK-NEXT: 3 memset: 0 1 2{{$}}
  %c = gpu_async.memset async [%j] %y, %v : !m, f32
  // CHECK-NEXT: 4 memset: 0{{$}}
  %d = gpu_async.memset async [%t1] %x, %v : !m, f32
  // CHECK-NEXT: wait: 2{{$}}
  gpu_async.wait [%b1]
  %f = gpu_async.dealloc async [%c] %y : !m
  // CHECK-NEXT: 6 memset: 2{{$}}
  %e = gpu_async.memset async %x, %v : !m, f32
  // CHECK-NEXT: wait: 0 1 2 3 4 6{{$}}
  gpu_async.wait [%d, %e, %f]
  return
}

// The work of a branch is before its token, and so is other work that both name.
// Work of the branch that was not taken counts as done.
// CHECK-LABEL: @branch
func.func @branch(%k: i1, %x: !m, %v: f32) {
  %a = gpu_async.memset async %x, %v : !m, f32
  %b = gpu_async.memset async %x, %v : !m, f32
  %a0, %a1 = gpu_async.fork %a : 2
  %r = scf.if %k -> !gpu_async.token {
    // CHECK: 2 memset: 0 1{{$}}
    %c = gpu_async.memset async [%a0, %b] %x, %v : !m, f32
    // CHECK-NEXT: 3 memset:{{$}}
    %u = gpu_async.memset async %x, %v : !m, f32
    gpu_async.release %u
    scf.yield %c : !gpu_async.token
  } else {
    gpu_async.release %b
    // CHECK-NEXT: 4 memset: 0{{$}}
    %d = gpu_async.memset async [%a0] %x, %v : !m, f32
    scf.yield %d : !gpu_async.token
  }
  // CHECK-NEXT: 5 memset: 0 2 4{{$}}
  %e = gpu_async.memset async [%r] %x, %v : !m, f32
  gpu_async.wait [%a1, %e]
  return
}

// The argument stands for 0 at first, and then for 2 of the iteration before,
// which comes after it. 1 is after neither in the first iteration.
// CHECK-LABEL: @loop
func.func @loop(%n: index, %x: !m, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : !m, f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a) -> !gpu_async.token {
    // CHECK: 1 memset:{{$}}
    %b = gpu_async.memset async %x, %v : !m, f32
    // CHECK-NEXT: 2 memset: 0 1{{$}}
    %c = gpu_async.memset async [%t, %b] %x, %v : !m, f32
    // CHECK-NEXT: 1 memset in a later iteration of scf.for:{{$}}
    // CHECK-NEXT: 2 memset in a later iteration of scf.for: 0 1 2{{$}}
    scf.yield %c : !gpu_async.token
  }
  // CHECK-NEXT: 3 memset: 0 1 2{{$}}
  %d = gpu_async.memset async [%r] %x, %v : !m, f32
  gpu_async.wait [%d]
  return
}

// The argument takes turns with another one: 0 is before 2 in the first
// iteration only, 1 in the second one, so that neither is said to be.
// CHECK-LABEL: @rotated
func.func @rotated(%n: index, %x: !m, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : !m, f32
  %b = gpu_async.memset async %x, %v : !m, f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%t = %a, %u = %b)
      -> (!gpu_async.token, !gpu_async.token) {
    // CHECK: 2 memset:{{$}}
    // CHECK-NEXT: 2 memset in a later iteration of scf.for:{{$}}
    %c = gpu_async.memset async [%t] %x, %v : !m, f32
    scf.yield %u, %c : !gpu_async.token, !gpu_async.token
  }
  gpu_async.wait [%r#0, %r#1]
  return
}

// An scf.while in a loop: work that its second region left open is behind the
// host wait of that region, and before nothing that takes no token of it.
// CHECK-LABEL: @whiles
func.func @whiles(%n: index, %k: i1, %x: !m, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.while : () -> () {
      // CHECK: 0 memset:{{$}}
      %a = gpu_async.memset async %x, %v : !m, f32
      gpu_async.release %a
      scf.condition(%k)
    } do {
      // CHECK-NEXT: 1 memset:{{$}}
      %b = gpu_async.memset async %x, %v : !m, f32
      // CHECK-NEXT: wait: 1{{$}}
      gpu_async.wait [%b]
      // CHECK-NEXT: 2 memset: 1{{$}}
      %c = gpu_async.memset async %x, %v : !m, f32
      gpu_async.release %c
      scf.yield
    }
  }
  // CHECK: {{^}}  3 memset: 1{{$}}
  %d = gpu_async.memset async %x, %v : !m, f32
  gpu_async.wait [%d]
  return
}

// A call orders nothing: what it returns stands for work of its own.
// CHECK-LABEL: @callee
func.func private @callee(%t: !gpu_async.token, %x: !m, %v: f32) -> !gpu_async.token {
  // CHECK-NEXT: 0 memset:{{$}}
  %a = gpu_async.memset async [%t] %x, %v : !m, f32
  // CHECK-NEXT: 1 memset: 0{{$}}
  %b = gpu_async.memset async [%a] %x, %v : !m, f32
  return %b : !gpu_async.token
}
// CHECK-LABEL: @caller
func.func @caller(%x: !m, %v: f32) {
  // CHECK-NEXT: 0 memset:{{$}}
  %a = gpu_async.memset async %x, %v : !m, f32
  %b = func.call @callee(%a, %x, %v) : (!gpu_async.token, !m, f32) -> !gpu_async.token
  // CHECK-NEXT: 1 memset:{{$}}
  %c = gpu_async.memset async [%b] %x, %v : !m, f32
  // CHECK-NEXT: wait: 1{{$}}
  gpu_async.wait [%c]
  return
}
