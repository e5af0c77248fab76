// RUN: gpu-opt %s -split-input-file -convert-gpu-to-gpu-async -verify-diagnostics | FileCheck %s
//
// What host waits control flow needs: each block is scheduled by itself, but for
// its tokens (D06; the tokens: convert-gpu-to-gpu-async-tokens.mlir).

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @f(%x: memref<8xf32>) kernel {
    gpu.return
  }
}

// CHECK-LABEL: func.func @loop_with_local_tokens
func.func @loop_with_local_tokens(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // The allocation's users are in another block: its token goes there.
  // CHECK: %[[M:.*]], %[[A:.*]] = gpu_async.alloc
  // CHECK-NEXT: scf.for
  %m = gpu.alloc () : memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    // CHECK: %[[T:.*]] = gpu_async.wait async
    // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[T]], %[[A]]] %[[M]]
    // CHECK-NEXT: %[[L:.*]] = gpu_async.launch async [%[[B]]] @k::@f
    // CHECK-NEXT: gpu_async.wait [%[[L]]]
    // CHECK-NEXT: }
    %t = gpu.wait async
    %b = gpu.memset async [%t] %m, %v : memref<8xf32>, f32
    %l = gpu.launch_func async [%b] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<8xf32>)
    gpu.wait [%l]
  }
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: gpu_async.dealloc async %[[M]]
  gpu.dealloc %m : memref<8xf32>
  return
}
}

// -----

// What a sync op in a region must start after is waited for before the region;
// used work on other memory is not.
// CHECK-LABEL: func.func @before_a_region
func.func @before_a_region(%x: memref<8xf32>, %y: memref<8xf32> {llvm.noalias}, %z: memref<8xf32>, %v: f32, %c: i1) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]], %[[C]]]
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: %[[S:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: gpu_async.wait [%[[S]]]
  // CHECK-NEXT: }
  // CHECK-NEXT: gpu_async.wait [%[[A]], %[[B]]]
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  %u = gpu.memset async %z, %v : memref<8xf32>, f32
  scf.if %c {
    gpu.memset %x, %v : memref<8xf32>, f32
  }
  gpu.wait [%a, %b]
  return
}

// -----

// Async ops with tokens of their own start at once; what nobody waits for comes
// out as a token.
// CHECK-LABEL: func.func @async_in_a_region
func.func @async_in_a_region(%x: memref<8xf32>, %v: f32, %c: i1) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: %[[R:.*]] = scf.if
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: scf.yield %[[B]]
  // CHECK: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: gpu_async.wait [%[[R]]]
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // expected-note @below {{nobody takes this token}}
  scf.if %c {
    %b = gpu.memset async %x, %v : memref<8xf32>, f32
  }
  gpu.wait [%a]
  // expected-remark @below {{the host waits here}}
  return
}

// -----

// Through other ops no token goes: their regions wait, and so does who comes
// before them.
// CHECK-LABEL: func.func @async_in_a_scope
func.func @async_in_a_scope(%v: f32, %c: i1) {
  // CHECK: %[[M:.*]], %[[A:.*]] = gpu_async.alloc
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: memref.alloca_scope
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async %[[M]]
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  %m = gpu.alloc () : memref<8xf32>
  scf.if %c {
    // expected-remark @below {{the host waits here}}
    memref.alloca_scope {
      // expected-note @below {{nobody takes this token}}
      %b = gpu.memset async %m, %v : memref<8xf32>, f32
    }
  }
  return
}

// -----

func.func private @opaque()

// CHECK-LABEL: func.func @opaque_in_a_region
func.func @opaque_in_a_region(%x: memref<8xf32>, %v: f32, %c: i1) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: call @opaque
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  scf.if %c {
    func.call @opaque() : () -> ()
  }
  gpu.wait [%a]
  return
}

// -----

// Blocks of a function: each ends with its own work done.
// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: memref<8xf32>, %v: f32, %c: i1) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: cf.cond_br
  // expected-note @below {{nobody takes this token}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // expected-remark @below {{the host waits here}}
  cf.cond_br %c, ^then, ^end
^then:
  // CHECK: %[[B:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  // CHECK-NEXT: cf.br
  gpu.memset %x, %v : memref<8xf32>, f32
  cf.br ^end
^end:
  return
}

// -----

// A region op in the body of an async.execute is waited into, since no order is
// carried through it.
// CHECK-LABEL: func.func @loop_in_execute
func.func @loop_in_execute(%x: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  // CHECK-NEXT: }
  // CHECK-NEXT: return
  %a = async.execute {
    gpu.memset %x, %v : memref<8xf32>, f32
    scf.for %i = %c0 to %n step %c1 {
      gpu.memset %x, %v : memref<8xf32>, f32
    }
    async.yield
  }
  async.await %a : !async.token
  return
}

// -----

// Bodies inside a loop overlap within an iteration.
// CHECK-LABEL: func.func @execute_in_loop
func.func @execute_in_loop(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  scf.for %i = %c0 to %n step %c1 {
    %a = async.execute {
      gpu.memset %x, %v : memref<8xf32>, f32
      async.yield
    }
    %b = async.execute {
      gpu.memset %y, %v : memref<8xf32>, f32
      async.yield
    }
    async.await %a : !async.token
    async.await %b : !async.token
  }
  return
}
