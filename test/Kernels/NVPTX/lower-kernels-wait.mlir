// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// On chips that make a kernel ready before what it comes after has ended, all
// kernels wait before they do anything, and the image says so.
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none" | FileCheck %s
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_100a ptxas=none" | FileCheck %s
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_89 ptxas=none" | FileCheck %s --check-prefix=OLD

// CHECK: #gpu_async.image<ptx
// CHECK-SAME: .visible .entry f(
// CHECK-NOT: ld.
// CHECK-SAME: {\0A\09griddepcontrol.wait;
// CHECK-SAME: ld.param
// CHECK-SAME: .visible .entry g(
// CHECK-SAME: {\0A\09griddepcontrol.wait;
// CHECK-SAME: .visible .global .u8 gpuasync_kernels_wait;
// OLD-NOT: griddepcontrol
// OLD-NOT: gpuasync_kernels_wait
gpu.module @k {
  gpu.func @f(%x: memref<4xf32> {llvm.noalias, llvm.readonly}, %y: memref<4xf32>) kernel
      attributes {known_block_size = array<i32: 4, 1, 1>} {
    %i = gpu.thread_id x
    %v = memref.load %x[%i] : memref<4xf32>
    memref.store %v, %y[%i] : memref<4xf32>
    gpu.return
  }
  gpu.func @g() kernel {
    gpu.return
  }
}
