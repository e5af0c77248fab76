// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies -gpu-async-make-forks-explicit -gpu-async-verify-form=form=linear -o /dev/null

// Two kernels in turns: each iteration begins where the last one ended, which one
// token says. Nothing waits in the loop.
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @copy(%x: memref<16xf32>, %y: memref<16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<16xf32>
    memref.store %v, %y[%c0] : memref<16xf32>
    gpu.return
  }
}
// CHECK-LABEL: func.func @chain
func.func @chain(%n: index, %h : memref<16xf32>) {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memcpy async [%[[TX]]]
  // CHECK: %[[B:.*]] = gpu_async.memcpy async [%[[TY]]]
  // CHECK: %[[J:.*]] = gpu_async.wait async [%[[A]], %[[B]]]
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[T:.*]] = %[[J]]) -> (!gpu_async.token) {
  // CHECK-NEXT: %[[F:.*]] = gpu_async.launch async [%[[T]]]
  // CHECK-NEXT: %[[G:.*]] = gpu_async.launch async [%[[F]], %[[T]]]
  // CHECK-NEXT: scf.yield %[[G]]
  // CHECK: gpu_async.memcpy async [%[[A]], %[[B]], %[[R]]]
  // CHECK-NEXT: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu_async.alloc () : memref<16xf32>
  %y = gpu_async.alloc () : memref<16xf32>
  gpu_async.memcpy %x, %h : memref<16xf32>, memref<16xf32>
  gpu_async.memcpy %y, %h : memref<16xf32>, memref<16xf32>
  scf.for %i = %c0 to %n step %c1 {
    gpu_async.launch @k::@copy blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%x : memref<16xf32>, %y : memref<16xf32>)
    gpu_async.launch @k::@copy blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%y : memref<16xf32>, %x : memref<16xf32>)
  }
  gpu_async.memcpy %h, %x : memref<16xf32>, memref<16xf32>
  return
}

// Two chains that have nothing to do with each other stay two tokens.
// CHECK-LABEL: func.func @two_chains
func.func @two_chains(%n: index, %v: f32) {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc
  // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[S:.*]] = %[[TX]], %[[T:.*]] = %[[TY]])
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[S]]] %[[X]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[T]]] %[[Y]]
  // CHECK-NEXT: scf.yield %[[A]], %[[B]]
  // CHECK: gpu_async.dealloc async [%[[R]]#0] %[[X]]
  // CHECK: gpu_async.dealloc async [%[[R]]#1] %[[Y]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu_async.alloc () : memref<16xf32>
  %y = gpu_async.alloc () : memref<16xf32>
  scf.for %i = %c0 to %n step %c1 {
    gpu_async.memset %x, %v : memref<16xf32>, f32
    gpu_async.memset %y, %v : memref<16xf32>, f32
  }
  gpu_async.dealloc %x : memref<16xf32>
  gpu_async.dealloc %y : memref<16xf32>
  return
}

// Memory of an iteration's own concerns no other one: nothing is carried, and what
// iterations read is captured.
// CHECK-LABEL: func.func @own_memory
func.func @own_memory(%n: index, %x: memref<16xf32> {llvm.noalias}, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK-NEXT: scf.for %{{[^ ]*}} = %{{[^ ]*}} to %{{[^ ]*}} step %{{[^ ]*}} {
  // CHECK-NEXT: %[[M:.*]], %[[T:.*]] = gpu_async.alloc
  // CHECK-NEXT: %[[L:.*]] = gpu_async.launch async [%[[A]], %[[T]]]
  // CHECK-NEXT: gpu_async.dealloc async [%[[L]]] %[[M]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu_async.memset %x, %v : memref<16xf32>, f32
  scf.for %i = %c0 to %n step %c1 {
    %m = gpu_async.alloc () : memref<16xf32>
    gpu_async.launch @k::@copy blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%x : memref<16xf32>, %m : memref<16xf32>)
    gpu_async.dealloc %m : memref<16xf32>
  }
  return
}

// Somebody writes later what iterations read: all of them are joined.
// CHECK-LABEL: func.func @readers
func.func @readers(%n: index, %x: memref<16xf32> {llvm.noalias}, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK: %[[READY:.*]] = gpu_async.wait async
  // CHECK: %[[R:.*]] = scf.for {{.*}} iter_args(%[[ALL:.*]] = %[[READY]])
  // CHECK: %[[M:.*]], %[[T:.*]] = gpu_async.alloc
  // CHECK-NEXT: %[[L:.*]] = gpu_async.launch async [%[[A]], %[[T]]]
  // CHECK-NEXT: gpu_async.dealloc async [%[[L]]] %[[M]]
  // CHECK-NEXT: %[[J:.*]] = gpu_async.wait async [%[[ALL]], %[[L]]]
  // CHECK-NEXT: scf.yield %[[J]]
  // CHECK: gpu_async.memset async [%[[A]], %[[R]]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu_async.memset %x, %v : memref<16xf32>, f32
  scf.for %i = %c0 to %n step %c1 {
    %m = gpu_async.alloc () : memref<16xf32>
    gpu_async.launch @k::@copy blocks in (%c1,%c1,%c1) threads in (%c1,%c1,%c1) args(%x : memref<16xf32>, %m : memref<16xf32>)
    gpu_async.dealloc %m : memref<16xf32>
  }
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}

// Host code of a loop that meets only what was before it waits before the loop;
// what meets the loop's own work waits in it.
// CHECK-LABEL: func.func @host_in_loop
func.func @host_in_loop(%n: index, %x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias}) -> f32 {
  // CHECK: %[[H:.*]] = memref.alloc
  // CHECK: %[[G:.*]] = memref.alloc
  // CHECK: %[[D:.*]] = gpu_async.memcpy async %[[H]]
  // CHECK: gpu_async.wait [%[[D]]]
  // CHECK: scf.for {{.*}} iter_args(%{{[^,]*}} = %{{[^,]*}}) -> (f32) {
  // CHECK-NEXT: %[[E:.*]] = gpu_async.memcpy async %[[G]]
  // CHECK-NEXT: memref.load %[[H]]
  // CHECK-NEXT: gpu_async.wait [%[[E]]]
  // CHECK-NEXT: memref.load %[[G]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f0 = arith.constant 0.0 : f32
  %h = memref.alloc() : memref<16xf32>
  %g = memref.alloc() : memref<16xf32>
  gpu_async.memcpy %h, %x : memref<16xf32>, memref<16xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %f0) -> (f32) {
    gpu_async.memcpy %g, %y : memref<16xf32>, memref<16xf32>
    %a = memref.load %h[%i] : memref<16xf32>
    %b = memref.load %g[%i] : memref<16xf32>
    %t = arith.addf %a, %b : f32
    scf.yield %t : f32
  }
  return %sum : f32
}

// CHECK-LABEL: func.func @while
func.func @while(%n: i32, %x: memref<16xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK: %[[R:.*]]:2 = scf.while (%[[I:.*]] = %{{.*}}, %[[T:.*]] = %[[A]])
  // CHECK: scf.condition(%{{.*}}) %[[I]], %[[T]] : i32, !gpu_async.token
  // CHECK: ^bb0(%[[J:.*]]: i32, %[[U:.*]]: !gpu_async.token):
  // CHECK: %[[B:.*]] = gpu_async.memset async [%[[U]]]
  // CHECK: scf.yield %{{.*}}, %[[B]] : i32, !gpu_async.token
  // CHECK: gpu_async.memset async [%[[R]]#1]
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  gpu_async.memset %x, %v : memref<16xf32>, f32
  %r = scf.while (%i = %c0) : (i32) -> i32 {
    %more = arith.cmpi slt, %i, %n : i32
    scf.condition(%more) %i : i32
  } do {
  ^bb0(%j: i32):
    gpu_async.memset %x, %v : memref<16xf32>, f32
    %next = arith.addi %j, %c1 : i32
    scf.yield %next : i32
  }
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}

// What a branch leaves is yielded; where nothing was done, what was there before.
// CHECK-LABEL: func.func @branch
func.func @branch(%c: i1, %v: f32) {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc
  // CHECK: %[[R:.*]] = scf.if %{{.*}} -> (!gpu_async.token) {
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[TX]]] %[[X]]
  // CHECK-NEXT: scf.yield %[[A]]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: scf.yield %[[TX]]
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu_async.memset async [%[[TY]]] %[[Y]]
  // CHECK-NEXT: gpu_async.memset async [%[[R]]] %[[X]]
  %x = gpu_async.alloc () : memref<16xf32>
  %y = gpu_async.alloc () : memref<16xf32>
  scf.if %c {
    gpu_async.memset %x, %v : memref<16xf32>, f32
  }
  gpu_async.memset %y, %v : memref<16xf32>, f32
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}

// The host waits in the branch that reads, not before it; memory of a scope is
// waited for at its end.
// CHECK-LABEL: func.func @host_in_branch
func.func @host_in_branch(%i: index, %x: memref<16xf32>) {
  // CHECK: %[[D:.*]] = gpu_async.memcpy
  // CHECK-NEXT: scf.index_switch
  // CHECK-NEXT: case 0
  // CHECK-NEXT: gpu_async.wait [%[[D]]]
  // CHECK-NEXT: memref.load
  // CHECK: memref.alloca_scope
  // CHECK: %[[E:.*]] = gpu_async.memcpy async
  // CHECK-NEXT: gpu_async.wait [%[[E]]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %c0 = arith.constant 0 : index
  %h = memref.alloc() : memref<16xf32>
  gpu_async.memcpy %h, %x : memref<16xf32>, memref<16xf32>
  scf.index_switch %i
  case 0 {
    %v = memref.load %h[%c0] : memref<16xf32>
    memref.store %v, %h[%c0] : memref<16xf32>
    scf.yield
  }
  default {
  }
  memref.alloca_scope {
    %g = memref.alloca() : memref<16xf32>
    gpu_async.memcpy %g, %x : memref<16xf32>, memref<16xf32>
  }
  return
}

// Nested loops: one token through both.
// CHECK-LABEL: func.func @nested
func.func @nested(%n: index, %x: memref<16xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK: scf.for {{.*}} iter_args(%[[T:.*]] = %[[A]])
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[R:.*]] = scf.for {{.*}} iter_args(%[[U:.*]] = %[[B]])
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async [%[[U]]]
  // CHECK-NEXT: scf.yield %[[C]]
  // CHECK-NEXT: }
  // CHECK-NEXT: scf.yield %[[R]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu_async.memset %x, %v : memref<16xf32>, f32
  scf.for %i = %c0 to %n step %c1 {
    gpu_async.memset %x, %v : memref<16xf32>, f32
    scf.for %j = %c0 to %n step %c1 {
      gpu_async.memset %x, %v : memref<16xf32>, f32
    }
  }
  return
}

// A call that nobody knows, before a loop within a loop: it meets what the inner
// loop did in the last iteration of the outer one.
func.func private @opaque()
// CHECK-LABEL: func.func @call_in_outer_loop
func.func @call_in_outer_loop(%n: index, %x: memref<16xf32>, %v: f32) {
  // CHECK: scf.for {{.*}} iter_args(%[[T:.*]] = %{{.*}})
  // CHECK-NEXT: gpu_async.wait [%[[T]]]
  // CHECK-NEXT: call @opaque
  // CHECK: %[[R:.*]] = scf.for
  // CHECK: scf.yield %[[R]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @opaque() : () -> ()
    scf.for %j = %c0 to %n step %c1 {
      gpu_async.memset %x, %v : memref<16xf32>, f32
    }
  }
  return
}
}

// -----

// Call of unknown code in a loop that carries several tokens: it waits for the one that
// stands for all work, though block arguments of the inner loop came and went.
module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @update(%y: memref<4xi32, strided<[?], offset: ?>>, %x: memref<4xi32, strided<[?], offset: ?>>) kernel {
    %i0 = arith.constant 0 : index
    %v = memref.load %x[%i0] : memref<4xi32, strided<[?], offset: ?>>
    memref.store %v, %y[%i0] : memref<4xi32, strided<[?], offset: ?>>
    gpu.return
  }
}
func.func private @anything(memref<16xi32>)
// CHECK-LABEL: func.func @call_in_a_loop
// CHECK: scf.while
// CHECK: %[[R:.*]]:2 = scf.for
// CHECK: scf.yield
// CHECK: %[[U:.*]] = gpu_async.launch async
// CHECK: %[[ALL:.*]] = gpu_async.wait async [%[[R]]#0, %[[U]]]
// CHECK: scf.condition({{.*}}) %{{[^,]*}}, %[[ALL]],
// CHECK: ^bb0(%{{.*}}: index, %[[BEFORE:[^:]*]]: !gpu_async.token,
// CHECK: %[[M:.*]] = gpu_async.memset async
// CHECK-NEXT: gpu_async.wait [%[[BEFORE]], %[[M]]]
// CHECK-NEXT: func.call @anything
func.func @call_in_a_loop(%n: index, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b1 = gpu_async.alloc () : memref<16xi32>
  gpu_async.memset %b1, %v : memref<16xi32>, i32
  %b2 = gpu_async.alloc () : memref<16xi32>
  gpu_async.memset %b2, %v : memref<16xi32>, i32
  %w = scf.while (%i = %c0) : (index) -> index {
    scf.for %j = %c0 to %n step %c1 {
      %b8 = gpu_async.alloc () : memref<16xi32>
      gpu_async.memset %b8, %v : memref<16xi32>, i32
      %s0 = memref.subview %b2[12] [4] [1] : memref<16xi32> to memref<4xi32, strided<[1], offset: 12>>
      %p0 = memref.cast %s0 : memref<4xi32, strided<[1], offset: 12>> to memref<4xi32, strided<[?], offset: ?>>
      %s1 = memref.subview %b8[0] [4] [2] : memref<16xi32> to memref<4xi32, strided<[2], offset: 0>>
      %p1 = memref.cast %s1 : memref<4xi32, strided<[2], offset: 0>> to memref<4xi32, strided<[?], offset: ?>>
      gpu_async.launch @k::@update blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p0 : memref<4xi32, strided<[?], offset: ?>>, %p1 : memref<4xi32, strided<[?], offset: ?>>)
      gpu_async.dealloc %b8 : memref<16xi32>
    }
    %s2 = memref.subview %b2[8] [4] [1] : memref<16xi32> to memref<4xi32, strided<[1], offset: 8>>
    %p2 = memref.cast %s2 : memref<4xi32, strided<[1], offset: 8>> to memref<4xi32, strided<[?], offset: ?>>
    %s3 = memref.subview %b2[4] [4] [3] : memref<16xi32> to memref<4xi32, strided<[3], offset: 4>>
    %p3 = memref.cast %s3 : memref<4xi32, strided<[3], offset: 4>> to memref<4xi32, strided<[?], offset: ?>>
    gpu_async.launch @k::@update blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p2 : memref<4xi32, strided<[?], offset: ?>>, %p3 : memref<4xi32, strided<[?], offset: ?>>)
    %goes = arith.cmpi ult, %i, %n : index
    scf.condition(%goes) %i : index
  } do {
  ^bb0(%i: index):
    gpu_async.memset %b1, %v : memref<16xi32>, i32
    func.call @anything(%b2) : (memref<16xi32>) -> ()
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  gpu_async.dealloc %b1 : memref<16xi32>
  gpu_async.dealloc %b2 : memref<16xi32>
  return
}
}

// -----

// Memory that one branch alone uses, and that is only freed behind, needs no token
// of its own: that of what comes after its use says enough. Where it is read it has
// one.
// CHECK-LABEL: func.func @workspace
func.func @workspace(%c: i1, %v: f32) {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[W:.*]], %[[TW:.*]] = gpu_async.alloc
  // CHECK: %[[R:.*]] = scf.if {{.*}} -> (!gpu_async.token) {
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[TW]]] %[[W]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memcpy async [%[[TX]], %[[A]]] %[[X]], %[[W]]
  // CHECK-NEXT: scf.yield %[[B]]
  // CHECK: %[[D:.*]] = gpu_async.memset async [%[[TX]]] %[[X]]
  // CHECK: %[[J:.*]] = gpu_async.wait async [%[[D]], %[[TW]]]
  // CHECK-NEXT: scf.yield %[[J]]
  // CHECK: gpu_async.dealloc async [%[[R]]] %[[W]]
  // CHECK: gpu_async.memset async [%[[R]]] %[[X]]
  %x = gpu_async.alloc () : memref<16xf32>
  %w = gpu_async.alloc () : memref<16xf32>
  scf.if %c {
    gpu_async.memset %w, %v : memref<16xf32>, f32
    gpu_async.memcpy %x, %w : memref<16xf32>, memref<16xf32>
  } else {
    gpu_async.memset %x, %v : memref<16xf32>, f32
  }
  gpu_async.dealloc %w : memref<16xf32>
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.dealloc %x : memref<16xf32>
  return
}

// CHECK-LABEL: func.func @read_behind
func.func @read_behind(%c: i1, %v: f32, %h: memref<16xf32>) {
  // CHECK: %[[X:.*]], %{{.*}} = gpu_async.alloc
  // CHECK: %[[W:.*]], %{{.*}} = gpu_async.alloc
  // CHECK: %[[S:.*]] = gpu_async.memset
  // CHECK: %[[R:.*]]:3 = scf.if
  // CHECK: scf.yield %[[S]], %{{.*}}, %{{.*}} :
  // CHECK: gpu_async.memcpy async [%[[R]]#0] %{{.*}}, %[[W]]
  %x = gpu_async.alloc () : memref<16xf32>
  %w = gpu_async.alloc () : memref<16xf32>
  gpu_async.memset %w, %v : memref<16xf32>, f32
  scf.if %c {
    gpu_async.memset %w, %v : memref<16xf32>, f32
    gpu_async.memcpy %x, %w : memref<16xf32>, memref<16xf32>
  } else {
    gpu_async.memset %x, %v : memref<16xf32>, f32
  }
  gpu_async.memcpy %h, %w : memref<16xf32>, memref<16xf32>
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.dealloc %w : memref<16xf32>
  gpu_async.dealloc %x : memref<16xf32>
  return
}
