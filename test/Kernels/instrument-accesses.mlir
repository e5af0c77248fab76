// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each access of a kernel becomes conditional and is told of; private memory only
// as far as its indices go; host code is told of where it may be the device's.
// RUN: gpu-opt --gpu-async-instrument-accesses %s | FileCheck %s

// CHECK-DAG: llvm.mlir.global internal constant @{{.*}}("{{.*}}instrument-accesses.mlir:[[#LOAD:]]:10\0Amemref.load\0A@f\00")
// CHECK-DAG: llvm.func @gpuasync_check_access(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr, i32) -> !llvm.ptr
// CHECK-DAG: llvm.func @gpuasync_check_index(!llvm.ptr, i32, i32, i64, i64, i64, i64)
gpu.module @k {
  // CHECK-LABEL: gpu.func @f
  gpu.func @f(%x: memref<4x?xf32>, %i: index, %p: !llvm.ptr) private(%own : memref<2xf32, #gpu.address_space<private>>) kernel {
    // CHECK-DAG: gpu.thread_id x
    // CHECK-DAG: gpu.thread_id y
    // CHECK-DAG: gpu.thread_id z
    // CHECK: %[[OK:.+]] = scf.if %{{.*}} -> (i1) {
    // CHECK: %[[A:.+]] = llvm.call @gpuasync_check_access
    // CHECK: llvm.icmp "ne" %[[A]]
    // CHECK: } else {
    // CHECK: llvm.call @gpuasync_check_index
    // CHECK: %[[V:.+]] = scf.if %[[OK]] -> (f32) {
    // CHECK-NEXT: %[[L:.+]] = memref.load
    // CHECK-NEXT: scf.yield %[[L]]
    // CHECK-NEXT: } else {
    // CHECK-NEXT: arith.constant 0.0
    %v = memref.load %x[%i, %i] : memref<4x?xf32>
    // CHECK: scf.if
    // CHECK-NOT: gpuasync_check_access
    // CHECK: gpuasync_check_index
    // CHECK: scf.if
    // CHECK-NEXT: memref.store %[[V]]
    memref.store %v, %own[%i] : memref<2xf32, #gpu.address_space<private>>
    // CHECK: llvm.call @gpuasync_check_arrive
    // CHECK-NEXT: gpu.barrier
    gpu.barrier
    // 4 bytes, read, observed as an atomic: 1024 + 2 + 4 + 8.
    // CHECK: %[[C:.+]] = arith.constant 1038 : i64
    // CHECK: %[[P:.+]] = llvm.call @gpuasync_check_pointer(%{{.*}}, %{{.*}}, %[[C]],
    // CHECK: llvm.load volatile %[[P]]
    %w = llvm.load volatile %p : !llvm.ptr -> i32
    gpu.return
  }
}

// Host code is conditional in the same way; what it allocates and frees is told.
// CHECK-LABEL: func.func @host
func.func @host(%x: memref<4xf32>, %i: index) -> f32 {
  // CHECK: %[[OK:.+]] = scf.if %{{.*}} -> (i1) {
  // CHECK: %[[A:.+]] = llvm.call @gpuasync_check_host(
  // CHECK: llvm.icmp "ne" %[[A]]
  // CHECK: } else {
  // CHECK: llvm.call @gpuasync_check_index
  // CHECK: scf.if %[[OK]] -> (f32) {
  // CHECK-NEXT: memref.load
  %v = memref.load %x[%i] : memref<4xf32>
  // CHECK: memref.alloca
  // CHECK-NOT: gpuasync_check_host
  // CHECK: llvm.call @gpuasync_check_index
  // CHECK: memref.store
  %h = memref.alloca() : memref<4xf32>
  memref.store %v, %h[%i] : memref<4xf32>
  // CHECK: memref.alloc(
  // CHECK: llvm.call @gpuasync_check_host_alloc
  %m = memref.alloc(%i) : memref<?xf32>
  // CHECK-COUNT-2: llvm.call @gpuasync_check_host(
  // CHECK: scf.if
  // CHECK-NEXT: memref.copy
  memref.copy %x, %m : memref<4xf32> to memref<?xf32>
  // CHECK: %[[FREE:.+]] = llvm.call @gpuasync_check_host_free
  // CHECK: %[[MAY:.+]] = llvm.icmp "ne" %[[FREE]]
  // CHECK: scf.if %[[MAY]]
  // CHECK-NEXT: memref.dealloc
  memref.dealloc %m : memref<?xf32>
  return %v : f32
}
