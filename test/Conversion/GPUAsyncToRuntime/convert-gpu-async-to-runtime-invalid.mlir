// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What cannot be lowered is an error at its place.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="on-error=status" -split-input-file -verify-diagnostics

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [8, 4]>] images [#gpu_async.image<ptx, "sm_90" data = "p">]
func.func @wrongArguments(%s: !gpu_async.stream, %n: index, %x: i64) {
  // expected-error @below {{passes arguments that are not those of the kernel: 1 parameters of [8] bytes instead of 2 of [8, 4]}}
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%x : i64)
  return
}

// -----

// expected-note @below {{this is not a gpu_async.binary}}
gpu.module @k {
  gpu.func @f() kernel { gpu.return }
}
func.func @notCompiled(%s: !gpu_async.stream, %n: index) {
  // expected-error @below {{needs the compiled kernels @k: run gpu-async-lower-kernels first}}
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}

// -----

func.func @tokens(%m: memref<4xi32>) {
  // expected-error @below {{still has tokens}}
  %t = gpu_async.dealloc async %m : memref<4xi32>
  return
}

// -----

func.func @structured(%s: !gpu_async.stream, %m: memref<4xi32>, %c: i1) {
  // expected-note @below {{the structured op}}
  scf.if %c {
    // expected-error @below {{is within a structured op: lower control flow to cf first}}
    gpu_async.dealloc on %s %m : memref<4xi32>
  }
  return
}

// -----

// expected-note @below {{the function}}
func.func @addressTaken(%s: !gpu_async.stream) {
  gpu_async.stream.destroy %s
  return
}
func.func @takesAddress() -> ((!gpu_async.stream) -> ()) {
  // expected-error @below {{refers to @addressTaken, whose type changes}}
  %f = constant @addressTaken : (!gpu_async.stream) -> ()
  return %f : (!gpu_async.stream) -> ()
}

// -----

// expected-error @below {{works on tensors, which this pipeline does not lower: bufferize the program first}}
func.func @tensors(%t: tensor<4xf32>) -> tensor<4xf32> {
  %u = math.cbrt %t : tensor<4xf32>
  return %u : tensor<4xf32>
}

// -----

func.func @upstream(%m: memref<4xi32>) {
  // expected-error @below {{failed to legalize operation 'gpu.dealloc'}}
  gpu.dealloc %m : memref<4xi32>
  return
}

// -----

// expected-note @below {{the function}}
func.func private @privateAddress(%s: !gpu_async.stream) {
  gpu_async.stream.destroy %s
  return
}
func.func @takesPrivateAddress() {
  // expected-error @below {{a private function with device work can only be called directly}}
  %f = constant @privateAddress : (!gpu_async.stream) -> ()
  return
}

// -----

llvm.func @llvmFunction(%p: !llvm.ptr) {
  // expected-error @below {{is not in a func.func of this module: device work is lowered nowhere else}}
  %s = gpu_async.stream.external %p : !llvm.ptr
  llvm.return
}

// -----

func.func @largerThanAnything(%s: !gpu_async.stream) {
  // expected-error @below {{has 'memref<4294967296x4294967296xf32>', whose elements of 4 bytes are 2^63 bytes or more}}
  %m = gpu_async.alloc on %s () : memref<4294967296x4294967296xf32>
  return
}

// -----

func.func @copiesMoreThanAnything(%s: !gpu_async.stream, %a: memref<2305843009213693952xf32>, %b: memref<2305843009213693952xf32>) {
  // expected-error @below {{whose elements of 4 bytes are 2^63 bytes or more}}
  gpu_async.memcpy on %s %a, %b : memref<2305843009213693952xf32>, memref<2305843009213693952xf32>
  return
}

// -----

func.func private @library(i32)
func.func @callsInBothWays(%s: !gpu_async.stream, %n: i32) {
  // expected-note @below {{the call}}
  gpu_async.call on %s @library(%n : i32)
  // expected-error @below {{uses @library, which gpu_async.call calls with another first argument}}
  call @library(%n) : (i32) -> ()
  return
}

// -----

// expected-note @below {{it is here}}
func.func private @library(i32) attributes {gpu_async.nonblocking, gpu_async.replayable}
func.func @callsLibrary(%n: i32) {
  // expected-error @below {{calls @library, which has 'gpu_async.replayable' and so is a library's function: call it by gpu_async.call}}
  call @library(%n) : (i32) -> ()
  return
}
