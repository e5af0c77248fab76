// RUN: gpu-opt %s -split-input-file -convert-gpu-to-gpu-async -verify-diagnostics | FileCheck %s
// RUN: gpu-opt %s -split-input-file -convert-gpu-to-gpu-async -verify-diagnostics -mlir-print-op-generic | gpu-opt -split-input-file | FileCheck %s
//
// The import rule on straight-line code, one known failure of upstream's
// lowering after another (D04, D09, D13, D18, D19).

// Several ops on one token, results unused: they keep their order, and a wait for
// the token covers them all.
// CHECK-LABEL: func.func @several_ops_on_one_token
func.func @several_ops_on_one_token(%x: memref<8xf32>, %h: memref<8xf32>, %v: f32) {
  // CHECK: %[[T:.*]] = gpu_async.wait async
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memcpy async [%[[T]]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[A]]]
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memcpy async [%[[B]]]
  // CHECK-NEXT: gpu_async.wait [%[[C]]]
  // CHECK-NEXT: return
  %t = gpu.wait async
  %0 = gpu.memcpy async [%t] %x, %h : memref<8xf32>, memref<8xf32>
  %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  %2 = gpu.memcpy async [%t] %h, %x : memref<8xf32>, memref<8xf32>
  gpu.wait [%t]
  return
}

// -----

// Nothing joins them: the function's end does, and says so.
// CHECK-LABEL: func.func @never_joined
func.func @never_joined(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[T:.*]] = gpu_async.wait async
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[A]]]
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  // CHECK-NEXT: return
  %t = gpu.wait async
  %0 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  // expected-note @below {{nobody takes this token}}
  %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  // expected-remark @below {{the host waits here for device work that the program does not wait for}}
  return
}

// -----

// A token with two used results is a fork: the branches stay unordered.
// CHECK-LABEL: func.func @implicit_fork
func.func @implicit_fork(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memcpy async [%[[A]]]
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memcpy async [%[[A]]]
  // CHECK-NEXT: gpu_async.wait [%[[B]], %[[C]]]
  // CHECK-NEXT: return
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memcpy async [%a] %y, %x : memref<8xf32>, memref<8xf32>
  %c = gpu.memcpy async [%a] %z, %x : memref<8xf32>, memref<8xf32>
  gpu.wait [%b, %c]
  return
}

// -----

// Used and unused results on one token: the tail follows the unused one only.
// CHECK-LABEL: func.func @fork_and_tail
func.func @fork_and_tail(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %v: f32) {
  // CHECK: %[[T:.*]] = gpu_async.wait async
  // CHECK-NEXT: %[[U:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[L:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[M:.*]] = gpu_async.memset async [%[[L]]]
  // CHECK-NEXT: gpu_async.wait [%[[U]]]
  // CHECK-NEXT: gpu_async.wait [%[[M]]]
  %t = gpu.wait async
  %u = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  %l = gpu.memset async [%t] %y, %v : memref<8xf32>, f32
  %m = gpu.memset async [%t] %z, %v : memref<8xf32>, f32
  gpu.wait [%u]
  gpu.wait [%t]
  return
}

// -----

// A join whose result nobody takes is the tail of what it joins.
// CHECK-LABEL: func.func @join_is_last_use
func.func @join_is_last_use(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[J:.*]] = gpu_async.wait async [%[[A]], %[[B]]]
  // CHECK-NEXT: gpu_async.wait [%[[J]]]
  // CHECK-NEXT: return
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  // expected-note @below {{nobody takes this token}}
  %j = gpu.wait async [%a, %b]
  // expected-remark @below {{the host waits here}}
  return
}

// -----

// A token without a past that nobody takes is nothing.
// CHECK-LABEL: func.func @unused_ready_token
func.func @unused_ready_token() {
  // CHECK-NEXT: return
  %t = gpu.wait async
  return
}

// -----

// CHECK-LABEL: func.func @double_wait
func.func @double_wait(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: return
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  gpu.wait [%a, %a]
  gpu.wait [%a]
  return
}

// -----

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @f(%x: memref<8xf32>) kernel {
    gpu.return
  }
}

// Two dependencies, clusters, dynamic shared memory, sizes of other types.
// CHECK-LABEL: func.func @two_dependencies
// CHECK-SAME: %[[X:.*]]: memref<8xf32>, %{{.*}}: memref<8xf32>, %{{.*}}: f32, %[[N:.*]]: i32, %[[M:.*]]: i64
func.func @two_dependencies(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: i32, %m: i64) {
  // CHECK: %[[C1:.*]] = arith.constant 1 : index
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[L:.*]] = gpu_async.launch async [%[[A]], %[[B]]] @k::@f
  // CHECK-SAME: blocks in{{ ?}}(%[[C1]], %[[C1]], %[[C1]]) threads in{{ ?}}(%[[C1]], %[[C1]], %[[C1]])
  // CHECK-SAME: clusters in{{ ?}}(%[[C1]], %[[C1]], %[[C1]])
  // CHECK-SAME: dynamic_shared_memory_size %[[N]]
  // CHECK-SAME: args(%[[X]] : memref<8xf32>)
  %c1 = arith.constant 1 : index
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  %l = gpu.launch_func async [%a, %b] @k::@f clusters in (%c1, %c1, %c1)
      blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      dynamic_shared_memory_size %n args(%x : memref<8xf32>)
  // CHECK: %[[N0:.*]] = arith.index_cast %[[N]] : i32 to index
  // CHECK: gpu_async.launch async [%[[L]]] @k::@f blocks in{{ ?}}(%[[N0]], %[[N0]], %[[N0]])
  %l2 = gpu.launch_func async [%l] @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) : i32 args(%x : memref<8xf32>)
  // CHECK: %[[M0:.*]] = arith.index_cast %[[M]] : i64 to index
  // CHECK: gpu_async.launch async [%{{.*}}] @k::@f blocks in{{ ?}}(%[[M0]], %[[M0]], %[[M0]])
  %l3 = gpu.launch_func async [%l2] @k::@f blocks in (%m, %m, %m) threads in (%m, %m, %m) : i64 args(%x : memref<8xf32>)
  gpu.wait [%l3]
  return
}
}

// -----

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @f(%x: memref<8xf32>) kernel {
    gpu.return
  }
}

// Without a token, an async op or a stream: op by op, in no order of our own.
// CHECK-LABEL: func.func @sequential
// CHECK-SAME: %[[H:.*]]: memref<8xf32>, %[[N:.*]]: i32
func.func @sequential(%h: memref<8xf32>, %n: i32, %c: i1) {
  // CHECK: %[[M:.*]] = gpu_async.alloc () : memref<8xf32>
  // CHECK: gpu_async.host_register
  // CHECK-NEXT: gpu_async.memcpy %[[M]], %[[H]]
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: %[[I:.*]] = arith.index_cast %[[N]]
  // CHECK-NEXT: gpu_async.launch @k::@f blocks in{{ ?}}(%[[I]]
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu_async.memcpy %[[H]], %[[M]]
  // CHECK-NEXT: gpu_async.host_unregister
  // CHECK-NEXT: gpu_async.dealloc %[[M]]
  // CHECK-NEXT: return
  %m = gpu.alloc () : memref<8xf32>
  %u = memref.cast %h : memref<8xf32> to memref<*xf32>
  gpu.host_register %u : memref<*xf32>
  gpu.memcpy %m, %h : memref<8xf32>, memref<8xf32>
  scf.if %c {
    gpu.launch_func @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) : i32 args(%m : memref<8xf32>)
    gpu.wait
  }
  gpu.memcpy %h, %m : memref<8xf32>, memref<8xf32>
  gpu.host_unregister %u : memref<*xf32>
  gpu.dealloc %m : memref<8xf32>
  return
}

// Sync ops among ops with tokens: the host waits for each but the allocation; a
// free comes after a wait for what uses the memory, of which there is nothing left
// here.
// CHECK-LABEL: func.func @sync
func.func @sync(%h: memref<8xf32>) {
  // CHECK: %[[M:.*]], %[[A:.*]] = gpu_async.alloc async{{ ?}}() : memref<8xf32>
  // CHECK-NEXT: %[[U:.*]] = gpu_async.memcpy async [%[[A]]] %[[M]]
  // CHECK-NEXT: gpu_async.wait [%[[U]]]
  // CHECK-NEXT: %[[L:.*]] = gpu_async.launch async @k::@f
  // CHECK-NEXT: gpu_async.wait [%[[L]]]
  // CHECK-NEXT: %[[D:.*]] = gpu_async.memcpy async %{{.*}}, %[[M]]
  // CHECK-NEXT: gpu_async.wait [%[[D]]]
  // CHECK-NEXT: gpu_async.dealloc async %[[M]]
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  %t = gpu.wait async
  %m = gpu.alloc () : memref<8xf32>
  gpu.memcpy %m, %h : memref<8xf32>, memref<8xf32>
  gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<8xf32>)
  gpu.memcpy %h, %m : memref<8xf32>, memref<8xf32>
  gpu.dealloc %m : memref<8xf32>
  return
}
}

// -----

// A sync op starts after all tails, and after used work that may touch the same
// memory; other used work is left alone.
// CHECK-LABEL: func.func @sync_after_tails_and_conflicts
func.func @sync_after_tails_and_conflicts(%v: f32, %h: memref<8xf32>) {
  // CHECK: %[[X:.*]], %[[AX:.*]] = gpu_async.alloc
  // CHECK-NEXT: %[[Y:.*]], %[[AY:.*]] = gpu_async.alloc
  // CHECK-NEXT: %[[Z:.*]], %[[AZ:.*]] = gpu_async.alloc
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[AX]]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[AY]]]
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async [%[[AZ]]]
  // CHECK-NEXT: %[[S:.*]] = gpu_async.memcpy async [%[[A]], %[[C]]] %{{.*}}, %[[X]]
  // CHECK-NEXT: gpu_async.wait [%[[S]]]
  // CHECK-NEXT: gpu_async.wait [%[[A]], %[[B]]]
  %x = gpu.alloc () : memref<8xf32>
  %y = gpu.alloc () : memref<8xf32>
  %z = gpu.alloc () : memref<8xf32>
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  %c = gpu.memset async %z, %v : memref<8xf32>, f32
  gpu.memcpy %h, %x : memref<8xf32>, memref<8xf32>
  gpu.wait [%a, %b]
  return
}

// -----

// Views lead to the memory they show; unknown memory conflicts with all.
// CHECK-LABEL: func.func @conflicts_through_views
func.func @conflicts_through_views(%v: f32, %g: memref<4xf32>, %table: memref<2xmemref<4xf32>>, %i: index) {
  // CHECK: %[[X:.*]], %[[AX:.*]] = gpu_async.alloc
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[AX]]]
  %x = gpu.alloc () : memref<8xf32>
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // CHECK: %[[V:.*]] = memref.subview
  %s = memref.subview %x[%i] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
  %s2 = memref.cast %s : memref<4xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[?], offset: ?>>
  // CHECK: %[[B:.*]] = gpu_async.memset async [%[[A]]] %{{.*}} : memref<4xf32, strided<[?], offset: ?>>
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  gpu.memset %s2, %v : memref<4xf32, strided<[?], offset: ?>>, f32
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async %{{.*}} : memref<8xf32>
  %c = gpu.memset async %x, %v : memref<8xf32>, f32
  // An argument is distinct from what is allocated here.
  // CHECK: %[[D:.*]] = gpu_async.memset async %{{.*}} : memref<4xf32>
  // CHECK-NEXT: gpu_async.wait [%[[D]]]
  gpu.memset %g, %v : memref<4xf32>, f32
  // CHECK: memref.load
  %u = memref.load %table[%i] : memref<2xmemref<4xf32>>
  // CHECK-NEXT: %[[E:.*]] = gpu_async.memset async [%[[C]]]
  // CHECK-NEXT: gpu_async.wait [%[[E]]]
  gpu.memset %u, %v : memref<4xf32>, f32
  gpu.wait [%a, %c]
  return
}

// -----

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @f(%x: memref<8xf32>) kernel {
    gpu.return
  }
}

// A caller's stream: one name per block, launches in order, nothing waits; the
// name ends with stream assignment.
// CHECK-LABEL: func.func @explicit_stream
// CHECK-SAME: %[[P:.*]]: !llvm.ptr
func.func @explicit_stream(%p: !llvm.ptr, %x: memref<8xf32>) {
  // CHECK: %[[S:.*]] = gpu_async.stream.external %[[P]] : !llvm.ptr
  // CHECK-NEXT: %[[A:.*]] = gpu_async.launch async on %[[S]] @k::@f
  // CHECK-NEXT: gpu_async.launch async [%[[A]]] on %[[S]] @k::@f
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  gpu.launch_func <%p : !llvm.ptr> @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>)
  gpu.launch_func <%p : !llvm.ptr> @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>)
  return
}
}

// -----

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @f(%x: memref<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %f0 = arith.constant 0.0 : f32
    memref.store %f0, %x[%c0] : memref<8xf32>
    gpu.return
  }
}

// With a caller's stream nothing is waited for at the end: stream assignment
// orders what is outstanding into that stream. Conflicting work comes before the
// launch, a conflicting sync op after it.
// CHECK-LABEL: func.func @callers_stream_and_own_work
func.func @callers_stream_and_own_work(%p: !llvm.ptr, %x: memref<8xf32>, %y: memref<8xf32> {llvm.noalias}, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async
  // CHECK-NEXT: %[[T:.*]] = gpu_async.memset async
  // CHECK: %[[L:.*]] = gpu_async.launch async [%[[A]]] on %{{.*}} @k::@f
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[T]], %[[L]]]
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  // CHECK-NEXT: gpu_async.memset async
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  gpu.launch_func <%p : !llvm.ptr> @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>)
  gpu.memset %x, %v : memref<8xf32>, f32
  %c = gpu.memset async %x, %v : memref<8xf32>, f32
  return
}
}

// -----

// 8-bit patterns, and copies between strided memrefs.
// CHECK-LABEL: func.func @memset_i8_memcpy_strided
func.func @memset_i8_memcpy_strided(%x: memref<8xi8>, %v: i8, %m: memref<4x4xf32, strided<[8, 2]>>, %h: memref<4x4xf32>) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %{{.*}} : memref<8xi8>, i8
  // CHECK: %[[B:.*]] = gpu_async.memcpy async %{{.*}} : memref<4x4xf32, strided<[8, 2]>>, memref<4x4xf32>
  // CHECK: gpu_async.wait [%[[A]], %[[B]]]
  %a = gpu.memset async %x, %v : memref<8xi8>, i8
  %b = gpu.memcpy async %m, %h : memref<4x4xf32, strided<[8, 2]>>, memref<4x4xf32>
  gpu.wait [%a, %b]
  return
}

// -----

// An allocation precedes the users of its memref, whatever tokens they take.
// CHECK-LABEL: func.func @allocation_before_users
func.func @allocation_before_users(%v: f32, %n: index) {
  // CHECK: %[[T:.*]] = gpu_async.wait async
  // CHECK-NEXT: %[[X:.*]], %[[AX:.*]] = gpu_async.alloc async [%[[T]]]{{ ?}}(%{{.*}})
  // CHECK-NEXT: %[[Y:.*]], %[[AY:.*]] = gpu_async.alloc async host_shared{{ ?}}()
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[T]], %[[AX]]] %[[X]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[A]], %[[AY]]] %[[Y]]
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async [%[[B]]] %[[Y]]
  // CHECK-NEXT: gpu_async.wait [%[[C]], %[[AX]]]
  %t = gpu.wait async
  %x, %ax = gpu.alloc async [%t] (%n) : memref<?xf32>
  %y = gpu.alloc host_shared () : memref<8xf32>
  %a = gpu.memset async [%t] %x, %v : memref<?xf32>, f32
  %b = gpu.memset async [%a] %y, %v : memref<8xf32>, f32
  %c = gpu.memset async [%b] %y, %v : memref<8xf32>, f32
  gpu.wait [%c, %ax]
  return
}

// -----

// Tokens in a signature: arguments are the callee's, results the caller's.
// CHECK-LABEL: func.func private @outside(!gpu_async.token) -> !gpu_async.token
func.func private @outside(!gpu.async.token) -> !gpu.async.token

// CHECK-LABEL: func.func @signature
// CHECK-SAME: (%[[T:.*]]: !gpu_async.token, %{{.*}}: memref<8xf32>, %{{.*}}: f32) -> !gpu_async.token
func.func @signature(%t: !gpu.async.token, %x: memref<8xf32>, %v: f32) -> !gpu.async.token {
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[B:.*]] = call @outside(%[[A]]) : (!gpu_async.token) -> !gpu_async.token
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async [%[[B]]]
  // CHECK-NEXT: return %[[C]] : !gpu_async.token
  %a = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  %b = call @outside(%a) : (!gpu.async.token) -> !gpu.async.token
  %c = gpu.memset async [%b] %x, %v : memref<8xf32>, f32
  return %c : !gpu.async.token
}

// -----

func.func private @opaque()
func.func private @print(memref<*xf32>)

// Opaque calls start after all outstanding work; host code waits for tails that
// it may see, and never for what it cannot.
// CHECK-LABEL: func.func @host_code
func.func @host_code(%v: f32, %h: memref<8xf32>, %other: memref<8xf32> {llvm.noalias}, %i: index) -> (index, f32) {
  // CHECK: %[[T:.*]] = gpu_async.wait async
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  %t = gpu.wait async
  %a = gpu.memset async [%t] %h, %v : memref<8xf32>, f32
  // Pure, or another buffer.
  // CHECK-NEXT: arith.addi
  // CHECK-NEXT: memref.load
  %j = arith.addi %i, %i : index
  %o = memref.load %other[%i] : memref<8xf32>
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: memref.load
  %l = memref.load %h[%i] : memref<8xf32>
  // Its token is taken: the program knows what it does.
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: memref.load
  %b = gpu.memset async %h, %v : memref<8xf32>, f32
  %m = memref.load %h[%i] : memref<8xf32>
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  // CHECK-NEXT: call @opaque
  call @opaque() : () -> ()
  gpu.wait [%b]
  %s = arith.addf %l, %m : f32
  %s2 = arith.addf %s, %o : f32
  return %j, %s2 : index, f32
}

// -----

// CHECK-LABEL: func.func @host_register
func.func @host_register(%h: memref<8xf32>, %v: f32) {
  // CHECK: %[[U:.*]] = memref.cast
  // CHECK-NEXT: gpu_async.host_register %[[U]] : memref<*xf32>
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: gpu_async.host_unregister %[[U]] : memref<*xf32>
  %u = memref.cast %h : memref<8xf32> to memref<*xf32>
  gpu.host_register %u : memref<*xf32>
  %a = gpu.memset async %h, %v : memref<8xf32>, f32
  gpu.host_unregister %u : memref<*xf32>
  gpu.wait [%a]
  return
}

// -----

module attributes {gpu.container_module} {
// Two launches that wait for each other through memory get no edge between them.
gpu.module @k {
  gpu.func @ping(%x: memref<2xi32>) kernel {
    gpu.return
  }
  gpu.func @pong(%x: memref<2xi32>) kernel {
    gpu.return
  }
}
// CHECK-LABEL: func.func @rendezvous
func.func @rendezvous() {
  // CHECK: %[[M:.*]], %[[T:.*]] = gpu_async.alloc async host_shared
  // CHECK-NEXT: %[[A:.*]] = gpu_async.launch async [%[[T]]] @k::@ping
  // CHECK-NEXT: %[[B:.*]] = gpu_async.launch async [%[[T]]] @k::@pong
  // CHECK-NEXT: gpu_async.wait [%[[A]], %[[B]]]
  // CHECK-NEXT: return
  %c1 = arith.constant 1 : index
  %m, %t = gpu.alloc async host_shared () : memref<2xi32>
  %a = gpu.launch_func async [%t] @k::@ping blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<2xi32>)
  %b = gpu.launch_func async [%t] @k::@pong blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<2xi32>)
  gpu.wait [%a, %b]
  return
}
}

// -----

// A gpu.wait without tokens waits for all tails.
// CHECK-LABEL: func.func @wait_for_tails
func.func @wait_for_tails(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: return
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  gpu.wait
  return
}

// -----

// The token form may be written directly; it is only completed.
// CHECK-LABEL: func.func @token_form
func.func @token_form(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[A]]]
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  // CHECK-NEXT: return
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  // expected-note @below {{nobody takes this token}}
  %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
  // expected-remark @below {{the host waits here}}
  return
}

// -----

// Memory from who knows where may be any allocation that has no token; a ready
// binary tells nothing about its kernels.
module attributes {gpu.container_module} {
gpu.binary @b [#gpu.object<#nvvm.target<chip = "sm_90">, "bytes">]

// CHECK-LABEL: func.func @unknown_memory
func.func @unknown_memory(%c: i1) {
  // CHECK: %[[X:.*]], %[[AX:.*]] = gpu_async.alloc async
  // CHECK-NEXT: %[[Y:.*]], %[[AY:.*]] = gpu_async.alloc async
  // CHECK: %[[Z:.*]] = scf.if
  // CHECK: %[[A:.*]] = gpu_async.launch async [%[[AX]], %[[AY]]] @b::@f
  // CHECK: %[[P:.*]] = memref.extract_aligned_pointer_as_index %[[Y]]
  // CHECK: gpu_async.launch async [%[[AX]], %[[AY]]] @b::@f
  %c1 = arith.constant 1 : index
  %x = gpu.alloc () : memref<8xf32>
  %y = gpu.alloc () : memref<8xf32>
  %z = scf.if %c -> memref<8xf32> {
    scf.yield %x : memref<8xf32>
  } else {
    scf.yield %y : memref<8xf32>
  }
  %a = gpu.launch_func async @b::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%z : memref<8xf32>)
  %i = memref.extract_aligned_pointer_as_index %y : memref<8xf32> -> index
  %p = arith.index_cast %i : index to i64
  %b = gpu.launch_func async @b::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : i64)
  gpu.wait [%a, %b]
  return
}
}

// -----

// CHECK-LABEL: func.func @buffers_carried_by_a_loop
func.func @buffers_carried_by_a_loop(%n: index, %v: f32) {
  // CHECK: %[[X:.*]], %[[AX:.*]] = gpu_async.alloc async
  // CHECK-NEXT: %[[Y:.*]], %[[AY:.*]] = gpu_async.alloc async
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: gpu_async.memset async [%[[AX]], %[[AY]]]
  %x = gpu.alloc () : memref<8xf32>
  %y = gpu.alloc () : memref<8xf32>
  %p, %q = scf.for %i = %n to %n step %n iter_args(%a = %x, %b = %y) -> (memref<8xf32>, memref<8xf32>) {
    %t = gpu.memset async %a, %v : memref<8xf32>, f32
    gpu.wait [%t]
    scf.yield %b, %a : memref<8xf32>, memref<8xf32>
  }
  return
}

// RUN: gpu-opt %s -split-input-file -convert-gpu-to-gpu-async --remarks-filter=convert-gpu-to-gpu-async --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] ImportedByTokens | Category:convert-gpu-to-gpu-async | Function=several_ops_on_one_token | imported-ops=5{{$}}
