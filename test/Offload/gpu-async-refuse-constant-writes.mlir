// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --gpu-async-refuse-constant-writes -split-input-file -verify-diagnostics
// RUN: gpu-opt %s --gpu-async-pipeline="targets=cpu offload=off" -split-input-file -verify-diagnostics

// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
func.func @store(%x: f32) {
  %c0 = arith.constant 0 : index
  %c = memref.get_global @c : memref<4xf32>
  // expected-error @below {{writes @c, which is a constant: leave out 'constant' where the global is made}}
  memref.store %x, %c[%c0] : memref<4xf32>
  return
}

// -----

// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
func.func @fill_of_view(%x: f32) {
  %c = memref.get_global @c : memref<4xf32>
  %v = memref.subview %c[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
  // expected-error @below {{writes @c, which is a constant}}
  linalg.fill ins(%x : f32) outs(%v : memref<2xf32, strided<[1], offset: 1>>)
  return
}

// -----

// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
func.func @copy(%m: memref<4xf32>) {
  %c = memref.get_global @c : memref<4xf32>
  memref.copy %c, %m : memref<4xf32> to memref<4xf32>
  // expected-error @below {{writes @c, which is a constant}}
  memref.copy %m, %c : memref<4xf32> to memref<4xf32>
  return
}

// -----

// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
func.func @fill_on_device(%x: f32) {
  %c = gpu_async.constant @c : memref<4xf32>
  // expected-error @below {{writes @c, which is a constant}}
  gpu_async.memset %c, %x : memref<4xf32>, f32
  return
}

// -----

// A kernel reads one constant, and writes a view of the other.
// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
memref.global "private" constant @d : memref<4xf32> = dense<1.0>
gpu.module @k {
  gpu.func @f(%y: memref<4xf32>, %z: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %z[%c0] : memref<4xf32>
    %part = memref.subview %y[1] [2] [1] : memref<4xf32> to memref<2xf32, strided<[1], offset: 1>>
    // expected-error @below {{writes @c, which is a constant}}
    memref.store %v, %part[%c0] : memref<2xf32, strided<[1], offset: 1>>
    gpu.return
  }
}
func.func @launch() {
  %c1 = arith.constant 1 : index
  %c = gpu_async.constant @c : memref<4xf32>
  %d = gpu_async.constant @d : memref<4xf32>
  gpu_async.launch @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%c : memref<4xf32>, %d : memref<4xf32>)
  return
}

// -----

module attributes {gpu.container_module} {
// expected-note @below {{the global}}
memref.global "private" constant @c : memref<4xf32> = dense<1.0>
gpu.module @k {
  gpu.func @f(%y: memref<4xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = arith.constant 2.0 : f32
    // expected-error @below {{writes @c, which is a constant}}
    memref.store %v, %y[%c0] : memref<4xf32>
    gpu.return
  }
}
func.func @launch_func() {
  %c1 = arith.constant 1 : index
  %c = memref.get_global @c : memref<4xf32>
  gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%c : memref<4xf32>)
  return
}
}
