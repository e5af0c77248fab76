// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libdevice's powers take exponents of 32 bits; with others, of scalars and of
// vectors, they are multiplied out.
// RUN: mkdir -p %t/nvvm/libdevice
// RUN: llvm-as -o %t/nvvm/libdevice/libdevice.10.bc %S/Inputs/powers.ll
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none libdevice=%t" | FileCheck %s

// CHECK: .entry wide(
// CHECK-NOT: 1109917696
// CHECK: mul.rn.f32
// CHECK: .entry word(
// CHECK: 1109917696
gpu.module @k {
  gpu.func @wide(%a: memref<?xf32>, %v: memref<?xvector<2xf32>>, %n: i64, %m: vector<2xi64>) kernel {
    %i = gpu.thread_id x
    %x = memref.load %a[%i] : memref<?xf32>
    %y = math.fpowi %x, %n : f32, i64
    memref.store %y, %a[%i] : memref<?xf32>
    %z = memref.load %v[%i] : memref<?xvector<2xf32>>
    %p = math.fpowi %z, %m : vector<2xf32>, vector<2xi64>
    memref.store %p, %v[%i] : memref<?xvector<2xf32>>
    gpu.return
  }
  gpu.func @word(%a: memref<?xf32>, %n: i32) kernel {
    %i = gpu.thread_id x
    %x = memref.load %a[%i] : memref<?xf32>
    %y = math.fpowi %x, %n : f32, i32
    memref.store %y, %a[%i] : memref<?xf32>
    gpu.return
  }
}
