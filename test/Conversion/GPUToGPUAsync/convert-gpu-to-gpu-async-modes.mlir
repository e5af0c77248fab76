// RUN: gpu-opt %s -convert-gpu-to-gpu-async=import=check -verify-diagnostics | FileCheck %s --check-prefix=TRUST
// RUN: gpu-opt %s -convert-gpu-to-gpu-async=import=strict | FileCheck %s --check-prefix=STRICT
// RUN: not gpu-opt %s -convert-gpu-to-gpu-async=import=guess 2>&1 | FileCheck %s --check-prefix=MODE
//
// import=check warns of races and changes nothing, import=strict orders them.

module attributes {gpu.container_module} {
// MODE: for the --import option: 'guess' is none of trust, check, strict

gpu.module @k {
  gpu.func @read(%x: memref<8xf32>, %y: memref<8xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<8xf32>
    memref.store %v, %y[%c0] : memref<8xf32>
    gpu.return
  }
}

// TRUST-LABEL: func.func @races
// STRICT-LABEL: func.func @races
func.func @races(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.alloc () : memref<8xf32>
  %y = gpu.alloc () : memref<8xf32>
  %z = gpu.alloc host_shared () : memref<8xf32>
  // TRUST: %[[A:.*]] = gpu_async.memset
  // STRICT: %[[A:.*]] = gpu_async.memset
  // expected-note @below {{the earlier op}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // TRUST: gpu_async.launch async [%{{.*}}, %{{.*}}] @k::@read
  // STRICT: %[[B:.*]] = gpu_async.launch async [%{{.*}}, %[[A]]] @k::@read
  // expected-warning @below {{may race with an earlier op: no token orders them, they touch the same memory, and one writes}}
  %b = gpu.launch_func async @k::@read blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %y : memref<8xf32>)
  // Two readers of %x do not race, and %z is another buffer.
  // expected-note @below {{the earlier op}}
  // expected-warning @below {{may race with an earlier op}}
  %c = gpu.launch_func async @k::@read blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<8xf32>, %z : memref<8xf32>)
  // STRICT: %[[C:.*]] = gpu_async.launch
  // STRICT-NEXT: gpu_async.wait [%[[C]]]
  // STRICT-NEXT: memref.store
  // expected-warning @below {{may race with an earlier op}}
  memref.store %v, %z[%c0] : memref<8xf32>
  gpu.wait [%a, %b, %c]
  return
}
// Two arguments may be one piece of memory; the attribute says that they are not.
// TRUST-LABEL: func.func @arguments
// STRICT-LABEL: func.func @arguments
// STRICT:       %[[A:.*]] = gpu_async.memset async
// STRICT:       gpu_async.memset async [%[[A]]]
func.func @arguments(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32> {llvm.noalias}, %v: f32) {
  // expected-note @below {{the earlier op}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // expected-warning @below {{may race with an earlier op: no token orders them, they may touch the same memory, and one writes}}
  // expected-note @below {{argument 1 may be argument 0; if it never is, give one of the two the attribute llvm.noalias}}
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  %c = gpu.memset async %z, %v : memref<8xf32>, f32
  gpu.wait [%a, %b, %c]
  return
}
}
