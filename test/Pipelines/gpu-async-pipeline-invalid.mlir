// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the pipeline as a whole refuses.
// RUN: gpu-opt %s --gpu-async-pipeline="targets=cpu offload=off" -split-input-file -verify-diagnostics

// expected-error @below {{works on tensors; the pipeline takes programs on memrefs: bufferize first}}
// expected-note @below {{offload=auto, the default, makes kernels of tensors}}
func.func @tensors(%t: tensor<4xf32>) -> tensor<4xf32> {
  return %t : tensor<4xf32>
}

// -----

// expected-error @below {{works on tensors; the pipeline takes programs on memrefs: bufferize first}}
func.func @tensors_beside_device_work(%t: tensor<4xf32>) -> tensor<4xf32> {
  // expected-note @below {{offload makes kernels of tensors, but leaves functions as they are that give a device work themselves, as here}}
  %m = gpu.alloc () : memref<4xf32>
  gpu.dealloc %m : memref<4xf32>
  return %t : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op has the name of a function of the C library that ops of the dialects math and complex, as this module has them, become calls of: give it another name}}
func.func @erff(%x: f32) -> f32 {
  return %x : f32
}
func.func @uses(%x: f32) -> f32 {
  %y = math.erf %x : f32
  return %y : f32
}

// -----

func.func @unknown(%m: memref<4xf32>) {
  // expected-error @below {{has no lowering to LLVM dialect}}
  acc.wait
  return
}

// -----

func.func @realloc(%m: memref<4xf32>, %n: index) -> memref<?xf32> {
  // expected-error @below {{run expand-realloc before this pipeline}}
  %r = memref.realloc %m(%n) : memref<4xf32> to memref<?xf32>
  return %r : memref<?xf32>
}

// -----

func.func @kernel_in_kernel() {
  %c1 = arith.constant 1 : index
  // expected-note @below {{the kernel}}
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // expected-error @below {{'gpu.launch' op is in a kernel, but only the host starts kernels, moves and allocates memory of the device and waits for it: do that before or after the launch}}
    gpu.launch blocks(%bx2, %by2, %bz2) in (%nbx2 = %c1, %nby2 = %c1, %nbz2 = %c1)
               threads(%tx2, %ty2, %tz2) in (%ntx2 = %c1, %nty2 = %c1, %ntz2 = %c1) {
      gpu.terminator
    }
    gpu.terminator
  }
  return
}

// -----

// The functions alone are right, and so are the kernels.
func.func @launches() {
  %c1 = arith.constant 1 : index
  // expected-note @below {{the function does so here}}
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    gpu.terminator
  }
  return
}
func.func @between() {
  call @launches() : () -> ()
  return
}
func.func @calls_launcher() {
  %c1 = arith.constant 1 : index
  // expected-note @below {{the kernel}}
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // expected-error @below {{is in a kernel and calls @between, but only the host starts kernels, moves and allocates memory of the device and waits for it: call the function before or after the launch}}
    func.call @between() : () -> ()
    gpu.terminator
  }
  return
}

// -----

func.func @calls_itself(%m: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  // expected-note @below {{the kernel}}
  // expected-note @below {{the function does so here}}
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // expected-error @below {{is in a kernel and calls @calls_itself, but only the host}}
    func.call @calls_itself(%m) : (memref<4xf32>) -> ()
    gpu.terminator
  }
  return
}

// -----

func.func @tensor(%m: memref<4xf32>) {
  // expected-note @below {{the function has a tensor here}}
  %t = bufferization.to_tensor %m restrict : memref<4xf32> to tensor<4xf32>
  %r = arith.addf %t, %t : tensor<4xf32>
  bufferization.materialize_in_destination %r in restrict writable %m : (tensor<4xf32>, memref<4xf32>) -> ()
  return
}
func.func @calls_tensor(%m: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  // expected-note @below {{the kernel}}
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // expected-error @below {{is in a kernel and calls @tensor, which works on tensors, but kernels work on memrefs: let the function do so, or call it before or after the launch}}
    func.call @tensor(%m) : (memref<4xf32>) -> ()
    gpu.terminator
  }
  return
}

// -----

// expected-note @below {{the kernel}}
gpu.module @k {
  gpu.func @f(%x: memref<4xf32>, %y: memref<4xf32>) kernel {
    // expected-error @below {{'gpu.memcpy' op is in a kernel, but only the host}}
    gpu.memcpy %x, %y : memref<4xf32>, memref<4xf32>
    // expected-error @below {{'gpu.wait' op is in a kernel, but only the host}}
    gpu.wait
    // expected-error @below {{'gpu_async.wait' op is in a kernel, but only the host}}
    %t = gpu_async.wait async
    %u = memref.cast %x : memref<4xf32> to memref<*xf32>
    // expected-error @below {{'gpu.host_register' op is in a kernel, but only the host}}
    gpu.host_register %u : memref<*xf32>
    gpu.return
  }
}

// -----

#halves = affine_map<(d0) -> (d0 floordiv 2)>
// expected-error @below {{'func.func' op has an argument of type 'memref<4xf32, affine_map<(d0) -> (d0 floordiv 2)>>', whose layout has no strides, so that its elements have no address here: give it strides or no layout (normalize-memrefs does, in host code)}}
func.func @no_strides(%m: memref<4xf32, #halves>, %h: memref<4xf32>) {
  // Once is enough.
  gpu.memcpy %m, %h : memref<4xf32, #halves>, memref<4xf32>
  return
}

// -----

#swapped = affine_map<(d0, d1) -> (d1, d0)>
func.func @alloc_no_strides() {
  // expected-error @below {{'gpu.alloc' op has a result of type 'memref<4x8xf32, affine_map<(d0, d1) -> (d1, d0)>>', whose layout has no strides}}
  %x = gpu.alloc () : memref<4x8xf32, #swapped>
  gpu.dealloc %x : memref<4x8xf32, #swapped>
  return
}

// -----

// expected-error @below {{'func.func' op has an argument of type 'tuple<!gpu.async.token, i32>': tokens, streams and events are never part of another value, where nobody could follow them; pass each as a value of its own}}
func.func @token_in_tuple(%t: tuple<!gpu.async.token, i32>) {
  return
}

// -----

// expected-error @below {{'func.func' op has a result of type 'tuple<tuple<!gpu_async.token>>': tokens, streams and events are never part of another value}}
func.func private @token_in_result() -> tuple<tuple<!gpu_async.token>>

// -----

func.func @token_in_cast(%i: i32) {
  // expected-error @below {{op has a result of type 'tuple<i32, !gpu_async.stream>': tokens, streams and events are never part of another value}}
  %t = builtin.unrealized_conversion_cast %i : i32 to tuple<i32, !gpu_async.stream>
  return
}
