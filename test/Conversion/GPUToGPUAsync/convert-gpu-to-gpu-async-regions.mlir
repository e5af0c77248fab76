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

// -----

// The host reads what the last iteration copies to, since the window has moved on; it
// does not wait for this iteration's copy, which it does not touch.
// CHECK-LABEL: func.func @host_reads_of_last_iteration
func.func @host_reads_of_last_iteration(%d: memref<4xf32> {llvm.noalias}, %h: memref<64xf32> {llvm.noalias}, %out: memref<4xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %{{.*}}) -> (!gpu_async.token)
  // expected-note @+1 {{nobody takes this token}}
  scf.for %i = %c0 to %n step %c1 {
    %o = arith.muli %i, %c4 : index
    %w = memref.reinterpret_cast %h to offset: [%o], sizes: [8], strides: [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
    %a = memref.subview %w[0][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %b = memref.subview %w[4][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // CHECK: %[[T:.*]] = gpu_async.memcpy async
    // CHECK-NEXT: gpu_async.wait [%[[LAST]]]
    // CHECK-NEXT: memref.load
    // CHECK: scf.yield %[[T]]
    %s = gpu.wait async
    %t = gpu.memcpy async [%s] %b, %d : memref<4xf32, strided<[1], offset: ?>>, memref<4xf32>
    %v = memref.load %a[%c0] : memref<4xf32, strided<[1], offset: ?>>
    memref.store %v, %out[%c0] : memref<4xf32>
  }
  // expected-remark @+1 {{the host waits here}}
  return
}

// -----

// What is distinct in an iteration may have been the other one in the last.
// CHECK-LABEL: func.func @host_reads_exchanged
func.func @host_reads_exchanged(%d: memref<4xf32> {llvm.noalias}, %h0: memref<4xf32>, %h1: memref<4xf32>, %out: memref<4xf32> {llvm.noalias}, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %{{.*}}) -> (!gpu_async.token)
  // expected-note @+1 {{nobody takes this token}}
  scf.for %i = %c0 to %n step %c1 {
    %is = arith.cmpi eq, %i, %c0 : index
    %x = arith.select %is, %h0, %h1 : memref<4xf32>
    %y = arith.select %is, %h1, %h0 : memref<4xf32>
    %a, %b = memref.distinct_objects %x, %y : memref<4xf32>, memref<4xf32>
    // CHECK: %[[T:.*]] = gpu_async.memcpy async
    // CHECK-NEXT: gpu_async.wait [%[[LAST]]]
    // CHECK-NEXT: memref.load
    // CHECK: scf.yield %[[T]]
    %s = gpu.wait async
    %t = gpu.memcpy async [%s] %b, %d : memref<4xf32>, memref<4xf32>
    %v = memref.load %a[%c0] : memref<4xf32>
    memref.store %v, %out[%c0] : memref<4xf32>
  }
  // expected-remark @+1 {{the host waits here}}
  return
}

// -----

// Host code whose ops have effects of their own besides those of their regions.
// CHECK-LABEL: func.func @structured_host_code
func.func @structured_host_code(%c: i1, %h: memref<8xf32>, %x: memref<8xf32>, %v: f32) {
  %r = gpu.wait async
  %d, %td = gpu.alloc async [%r] () : memref<8xf32>
  %e, %te = gpu.alloc async [%r] () : memref<8xf32>
  // CHECK: %[[DOWN:.*]] = gpu_async.memcpy async
  // CHECK-NEXT: gpu_async.wait [%[[DOWN]]]
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: linalg.generic
  %down = gpu.memcpy async [%td] %h, %d : memref<8xf32>, memref<8xf32>
  scf.if %c {
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%h : memref<8xf32>) outs(%x : memref<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    %set = gpu.memset async [%te] %e, %v : memref<8xf32>, f32
    gpu.wait [%set]
  }
  return
}
