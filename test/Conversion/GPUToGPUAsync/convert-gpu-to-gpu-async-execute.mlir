// RUN: gpu-opt %s -split-input-file -convert-gpu-to-gpu-async -verify-diagnostics | FileCheck %s --implicit-check-not=async.execute --implicit-check-not=async.await
//
// async.execute is inlined in program order; its body's waits are put off, so
// that independent bodies overlap.

// Fork and join, in sync ops: two bodies start after the first, none after the
// other, and the host waits once.
// CHECK-LABEL: func.func @fork_join
func.func @fork_join(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[Y:.*]], %[[AY:.*]] = gpu_async.alloc async{{ ?}}()
  // CHECK-NEXT: %[[B1:.*]] = gpu_async.memcpy async [%[[A]], %[[AY]]] %[[Y]]
  // CHECK-NEXT: %[[B2:.*]] = gpu_async.memset async [%[[B1]]] %[[Y]]
  // CHECK-NEXT: %[[Z:.*]], %[[AZ:.*]] = gpu_async.alloc async{{ ?}}()
  // CHECK-NEXT: %[[C1:.*]] = gpu_async.memcpy async [%[[A]], %[[AZ]]] %[[Z]]
  // CHECK-NEXT: %[[D:.*]] = gpu_async.memcpy async [%[[B2]], %[[C1]]] %[[Y]], %[[Z]]
  // CHECK-NEXT: gpu_async.wait [%[[D]]]
  // CHECK-NEXT: return
  %a = async.execute {
    gpu.memset %x, %v : memref<8xf32>, f32
    async.yield
  }
  %b, %y = async.execute [%a] -> !async.value<memref<8xf32>> {
    %m = gpu.alloc () : memref<8xf32>
    gpu.memcpy %m, %x : memref<8xf32>, memref<8xf32>
    gpu.memset %m, %v : memref<8xf32>, f32
    async.yield %m : memref<8xf32>
  }
  %c, %z = async.execute [%a] -> !async.value<memref<8xf32>> {
    %m = gpu.alloc () : memref<8xf32>
    gpu.memcpy %m, %x : memref<8xf32>, memref<8xf32>
    async.yield %m : memref<8xf32>
  }
  %d = async.execute [%b, %c] (%y as %yy: !async.value<memref<8xf32>>, %z as %zz: !async.value<memref<8xf32>>) {
    gpu.memcpy %yy, %zz : memref<8xf32>, memref<8xf32>
    async.yield
  }
  async.await %d : !async.token
  return
}

// -----

// Async ops in bodies: the token is the join of the body's work, a value carries
// its body's token, and a body with several ends is joined for who follows it.
// CHECK-LABEL: func.func @tokens_in_bodies
func.func @tokens_in_bodies(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %v: f32) {
  // CHECK: %[[T:.*]] = gpu_async.wait async
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async [%[[T]]]
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[J:.*]] = gpu_async.wait async [%[[A]], %[[B]]]
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async [%[[J]]]
  // CHECK-NEXT: gpu_async.wait [%[[C]]]
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: return
  %a, %t = async.execute -> !async.value<!gpu.async.token> {
    %t0 = gpu.wait async
    %t1 = gpu.memset async [%t0] %x, %v : memref<8xf32>, f32
    %t2 = gpu.memset async %y, %v : memref<8xf32>, f32
    async.yield %t1 : !gpu.async.token
  }
  %c = async.execute [%a] {
    gpu.memset %z, %v : memref<8xf32>, f32
    async.yield
  }
  async.await %c : !async.token
  %tt = async.await %t : !async.value<!gpu.async.token>
  gpu.wait [%tt]
  return
}

// -----

func.func private @print(memref<8xf32>)

// Host code in a body stays in program order: what it may see is waited for.
// CHECK-LABEL: func.func @host_code_in_body
func.func @host_code_in_body(%h: memref<8xf32>, %g: memref<8xf32> {llvm.noalias}, %v: f32, %i: index) -> f32 {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: memref.store %{{.*}}, %arg1
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: memref.load
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  // CHECK-NEXT: call @print
  // CHECK-NEXT: return
  %a, %f = async.execute -> !async.value<f32> {
    gpu.memset %h, %v : memref<8xf32>, f32
    memref.store %v, %g[%i] : memref<8xf32>
    %l = memref.load %h[%i] : memref<8xf32>
    gpu.memset %h, %v : memref<8xf32>, f32
    func.call @print(%h) : (memref<8xf32>) -> ()
    async.yield %l : f32
  }
  %r = async.await %f : !async.value<f32>
  return %r : f32
}

// -----

// An await in a body orders that body alone; nested bodies start where they are.
// CHECK-LABEL: func.func @await_in_body_and_nested
func.func @await_in_body_and_nested(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memcpy async [%[[A]], %[[B]]]
  // CHECK-NEXT: %[[D:.*]] = gpu_async.memset async [%[[C]]]
  // CHECK-NEXT: gpu_async.wait [%[[D]]]
  // CHECK-NEXT: return
  %a = async.execute {
    gpu.memset %x, %v : memref<8xf32>, f32
    async.yield
  }
  %b = async.execute {
    gpu.memset %y, %v : memref<8xf32>, f32
    async.await %a : !async.token
    gpu.memcpy %y, %x : memref<8xf32>, memref<8xf32>
    %n = async.execute {
      gpu.memset %y, %v : memref<8xf32>, f32
      async.yield
    }
    async.await %n : !async.token
    async.yield
  }
  async.await %b : !async.token
  return
}

// -----

// Nobody awaits it: the end of the function does. A body without device work is
// done at once.
// CHECK-LABEL: func.func @never_awaited
func.func @never_awaited(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: return
  %a = async.execute {
    // expected-note @below {{nobody takes this token}}
    gpu.memset %x, %v : memref<8xf32>, f32
    async.yield
  }
  %b = async.execute {
    async.yield
  }
  async.await %b : !async.token
  // expected-remark @below {{the host waits here}}
  return
}
