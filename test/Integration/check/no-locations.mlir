// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Without locations bugs are told apart by their kernels.
// RUN: gpu-opt %s --strip-debuginfo | not gpu-runner --device=cpu --check - --input=4xf32 2>&1 | FileCheck %s
// RUN: gpu-opt %s --strip-debuginfo --mlir-print-debuginfo -o %t
// RUN: not gpu-runner --device=cpu --check %t --input=4xf32 2>&1 | FileCheck %s
// CHECK-DAG: out of bounds: write {{.*}} of kernel @k::@a
// CHECK-DAG: data race between threads of a block: write {{.*}} of kernel @k::@b
// CHECK-DAG: out of bounds: write {{.*}} of kernel @k::@c
// CHECK: --check found 3 bugs
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @a(%x: memref<?xf32>, %v: f32) kernel {
      %t = gpu.thread_id x
      %c4 = arith.constant 4 : index
      %i = arith.addi %t, %c4 : index
      memref.store %v, %x[%i] : memref<?xf32>
      gpu.return
    }
    gpu.func @b(%x: memref<?xf32>, %v: f32) kernel {
      %c1 = arith.constant 1 : index
      memref.store %v, %x[%c1] : memref<?xf32>
      gpu.return
    }
    gpu.func @c(%x: memref<?xf32>, %v: f32) kernel {
      %t = gpu.thread_id x
      %c40 = arith.constant 40 : index
      %i = arith.addi %t, %c40 : index
      memref.store %v, %x[%i] : memref<?xf32>
      gpu.return
    }
  }
  func.func @main(%x: memref<?xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = arith.constant 1.0 : f32
    %n = memref.dim %x, %c0 : memref<?xf32>
    %m = gpu.alloc (%n) : memref<?xf32>
    gpu.memcpy %m, %x : memref<?xf32>, memref<?xf32>
    gpu.launch_func @k::@a blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%m : memref<?xf32>, %v : f32)
    gpu.launch_func @k::@b blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%m : memref<?xf32>, %v : f32)
    gpu.launch_func @k::@c blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%m : memref<?xf32>, %v : f32)
    gpu.memcpy %x, %m : memref<?xf32>, memref<?xf32>
    gpu.dealloc %m : memref<?xf32>
    return
  }
}
