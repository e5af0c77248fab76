// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of the runtime and of lowered programs are not a program's own: one
// that defined them got undefined symbols, or was called in their place.
// RUN: gpu-opt %s --gpu-async-pipeline="targets=cpu" -split-input-file -verify-diagnostics
// RUN: gpu-opt %s --convert-gpu-async-to-runtime -split-input-file -verify-diagnostics

// expected-error @below {{has the name 'gpuasync_stream_create': names that begin with 'gpuasync' are the runtime's, which can be declared but not defined}}
func.func @gpuasync_stream_create() {
  return
}

// -----

// expected-error @below {{has the name 'gpuasync_launch'}}
llvm.func @gpuasync_launch(%p: !llvm.ptr) {
  llvm.return
}

// -----

// expected-error @below {{has the name 'gpuasync_alloc'}}
memref.global @gpuasync_alloc : memref<4xi32> = dense<0>

// -----

// expected-error @below {{has the name 'gpuasync_stats_read'}}
llvm.mlir.global @gpuasync_stats_read(7 : i32) : i32

// -----

// The functions of its kernels would be named so.
// expected-error @below {{has the name 'gpuasync'}}
gpu.module @gpuasync {
  gpu.func @launch() kernel { gpu.return }
}

// -----

// expected-error @below {{has the name '_gpuasync_packed_main': names that begin with '_gpuasync' are given to what lowered programs consist of}}
func.func @_gpuasync_packed_main() {
  return
}

// -----

// expected-error @below {{has the name '_gpuasync_program'}}
memref.global "private" @_gpuasync_program : memref<4xi32> = dense<0>

// -----

// expected-error @below {{declares 'gpuasync_frame_enter', which lowered programs call: that can only be an llvm.func}}
func.func private @gpuasync_frame_enter(!llvm.ptr, !llvm.ptr) -> i32

// -----

// expected-error @below {{declares the runtime's 'gpuasync_stream_create' with '!llvm.func<ptr (ptr)>'; its type is '!llvm.func<ptr (ptr, i32, i32)>'}}
llvm.func @gpuasync_stream_create(!llvm.ptr) -> !llvm.ptr
func.func @wrongly_declared() {
  %s = gpu_async.stream.create
  gpu_async.stream.destroy %s
  return
}

// -----

// Declarations of what there is, and what lowered programs have, are right.
llvm.func @gpuasync_stream_create(!llvm.ptr, i32, i32) -> !llvm.ptr
llvm.func @gpuasync_abi_version() -> i32
func.func private @gpuasync_initialize() -> i32
llvm.mlir.global internal constant @_gpuasync_string("main\00") {addr_space = 0 : i32}
func.func @gpuasyncronous() -> i32 {
  %s = gpu_async.stream.create
  gpu_async.stream.destroy %s
  %v = llvm.call @gpuasync_abi_version() : () -> i32
  return %v : i32
}
