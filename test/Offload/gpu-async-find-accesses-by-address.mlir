// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file --gpu-async-find-accesses-by-address | FileCheck %s

// CHECK: func.func @by_name({{.*}}) attributes {gpu_async.no_accesses_by_address, gpu_async.offloaded} {
func.func @by_name(%m: memref<4xf32>, %i: index) attributes {gpu_async.offloaded} {
  %x = memref.load %m[%i] : memref<4xf32>
  return
}
// CHECK: func.func @unmarked({{.*}}) {
func.func @unmarked(%m: memref<4xf32>, %i: index) {
  return
}

// -----

// A function without kernels counts.
// CHECK: func.func @marked({{.*}}) attributes {gpu_async.offloaded} {
func.func @marked(%m: memref<4xf32>) attributes {gpu_async.offloaded} {
  return
}
func.func @through_pointer(%p: !llvm.ptr) {
  %x = llvm.load %p : !llvm.ptr -> f32
  return
}

// -----

// So does a memref that is made of an address.
// CHECK: func.func @marked({{.*}}) attributes {gpu_async.offloaded} {
func.func @marked(%m: memref<memref<4xf32>>) attributes {gpu_async.offloaded} {
  %x = memref.load %m[] : memref<memref<4xf32>>
  return
}

// -----

// Kernels do not.
// CHECK: func.func @marked({{.*}}) attributes {gpu_async.no_accesses_by_address, gpu_async.offloaded} {
func.func @marked(%m: memref<4xf32>) attributes {gpu_async.offloaded} {
  return
}
func.func @launches(%p: !llvm.ptr, %c: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c, %gy = %c, %gz = %c) threads(%tx, %ty, %tz) in (%sx = %c, %sy = %c, %sz = %c) {
    %x = llvm.load %p : !llvm.ptr -> f32
    gpu.terminator
  }
  return
}
