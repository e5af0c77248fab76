// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The examples of docs/reference/ABI.md.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime=on-error=status --canonicalize --cse | FileCheck %s

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [8]>] images [#gpu_async.image<ptx, "sm_90" data = "p">]

// CHECK-LABEL: llvm.func @straight(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) -> !llvm.ptr
// CHECK: gpuasync_frame_enter
// CHECK: gpuasync_stream_create
// CHECK: gpuasync_launch
// CHECK: gpuasync_stream_synchronize
// CHECK: gpuasync_stream_destroy
// CHECK: gpuasync_frame_leave
// CHECK: gpuasync_frame_leave
func.func @straight(%x: !llvm.ptr) -> i32 {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %r = arith.constant 7 : i32
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%x : !llvm.ptr)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return %r : i32
}

// CHECK-LABEL: llvm.func @tokens(
// CHECK: gpuasync_frame_enter
// CHECK-NEXT: gpuasync_event_import
// CHECK: gpuasync_stream_create
// CHECK: gpuasync_stream_wait
// CHECK: gpuasync_event_destroy
// CHECK: gpuasync_memcpy
// CHECK: gpuasync_event_record
// CHECK: gpuasync_stream_destroy
// CHECK: gpuasync_event_export
// CHECK: gpuasync_frame_leave
func.func @tokens(%before: !gpu_async.event, %m: memref<4xi32>, %h: memref<4xi32>) -> !gpu_async.event {
  %s = gpu_async.stream.create
  gpu_async.stream.wait %s, %before
  gpu_async.event.destroy %before
  gpu_async.memcpy on %s id(0) %m, %h : memref<4xi32>, memref<4xi32>
  %r = gpu_async.event.record on %s
  gpu_async.stream.destroy %s
  return %r : !gpu_async.event
}

// CHECK-LABEL: llvm.func @callers(
// CHECK: gpuasync_frame_enter
// CHECK: gpuasync_stream_external
// CHECK: gpuasync_memcpy
// CHECK: gpuasync_stream_destroy
// CHECK-NOT: synchronize
// CHECK: gpuasync_frame_leave
func.func @callers(%stream: !llvm.ptr, %m: memref<4xi32>, %h: memref<4xi32>) {
  %s = gpu_async.stream.external %stream : !llvm.ptr
  gpu_async.memcpy on %s id(0) %m, %h : memref<4xi32>, memref<4xi32>
  gpu_async.stream.destroy %s
  return
}

// CHECK-LABEL: llvm.func @loop(
// CHECK: gpuasync_frame_enter
// CHECK: gpuasync_stream_create
// CHECK: gpuasync_memcpy
// CHECK: llvm.load
// CHECK: weights([1, 2000])
// CHECK: gpuasync_stream_synchronize
// CHECK: gpuasync_frame_leave
func.func @loop(%n: i64, %m: memref<4xi32>, %h: memref<4xi32>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  %s = gpu_async.stream.create
  cf.br ^header(%c0 : i64)
^header(%i: i64):
  %more = arith.cmpi slt, %i, %n : i64
  cf.cond_br %more, ^body, ^exit
^body:
  gpu_async.memcpy on %s id(0) %m, %h : memref<4xi32>, memref<4xi32>
  %next = arith.addi %i, %c1 : i64
  cf.br ^header(%next : i64)
^exit:
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}
