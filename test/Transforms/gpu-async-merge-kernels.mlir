// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-kernel-outlining -gpu-async-merge-kernels | FileCheck %s

// Of three equal kernels there is one. Which memory they have, how many threads, and where
// they stand in the file does not matter; what they compute does, and what is known of it.
// CHECK-LABEL: func.func @layers
// CHECK: gpu.launch_func @layers_kernel::@layers_kernel blocks in (%[[ONE:.*]], %[[ONE]], %[[ONE]]) {{.*}} args(%arg0 : memref<8xf32>)
// CHECK: gpu.launch_func @layers_kernel::@layers_kernel {{.*}} args(%arg1 : memref<8xf32>)
// CHECK: gpu.launch_func @layers_kernel_1::@layers_kernel {{.*}} args(%arg0 : memref<8xf32>)
// CHECK: gpu.launch_func @layers_kernel::@layers_kernel {{.*}} args(%arg0 : memref<8xf32>)
// A grid of one block is known.
// CHECK: gpu.launch_func @layers_kernel_3::@layers_kernel {{.*}} args(%arg0 : memref<8xf32>)
// CHECK-NOT: gpu.module @layers_kernel_0
// CHECK: gpu.module @layers_kernel {
// CHECK-NOT: gpu.module @layers_kernel_0
// CHECK: gpu.module @layers_kernel_1 {
// CHECK-NOT: gpu.module @layers_kernel_2
// CHECK: gpu.module @layers_kernel_3 {
// A kernel is named after its function.
// CHECK: func.func @other
// CHECK: gpu.launch_func @other_kernel::@other_kernel
// CHECK: gpu.module @other_kernel {
module attributes {gpu.container_module} {
  func.func @layers(%a: memref<8xf32>, %b: memref<8xf32>, %n: index, %m: index) {
    %c1 = arith.constant 1 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
      %v = memref.load %a[%tx] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %a[%tx] : memref<8xf32>
      gpu.terminator
    }
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
      %v = memref.load %b[%tx] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %b[%tx] : memref<8xf32>
      gpu.terminator
    }
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
      %v = memref.load %a[%tx] : memref<8xf32>
      %w = arith.mulf %v, %v : f32
      memref.store %w, %a[%tx] : memref<8xf32>
      gpu.terminator
    }
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %m, %sy = %c1, %sz = %c1) {
      %v = memref.load %a[%tx] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %a[%tx] : memref<8xf32>
      gpu.terminator
    }
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %m, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
      %v = memref.load %a[%tx] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %a[%tx] : memref<8xf32>
      gpu.terminator
    }
    return
  }
  func.func @other(%a: memref<8xf32>, %n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %n, %sy = %c1, %sz = %c1) {
      %v = memref.load %a[%tx] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %a[%tx] : memref<8xf32>
      gpu.terminator
    }
    return
  }
}

// -----

// An assertion names its place, and these are at two.
// CHECK-LABEL: func.func @asserted
// CHECK: gpu.launch_func @asserted_kernel::@asserted_kernel
// CHECK: gpu.launch_func @asserted_kernel_0::@asserted_kernel
module attributes {gpu.container_module} {
  func.func @asserted(%n: index) {
    %c1 = arith.constant 1 : index
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %ok = arith.cmpi eq, %n, %tx : index
      cf.assert %ok, "other"
      gpu.terminator
    }
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      %ok = arith.cmpi eq, %n, %tx : index
      cf.assert %ok, "other"
      gpu.terminator
    }
    return
  }
}

// -----

// Kernels that the program names itself, or that others refer to, stay.
// CHECK-LABEL: func.func @named
// CHECK: gpu.launch_func @k::@f
// CHECK: gpu.launch_func @l::@f
// CHECK: gpu.launch_func @m_kernel_0::@m_kernel
// CHECK: gpu.launch_func @m_kernel_1::@m_kernel
// CHECK: gpu.launch_func @m_kernel_1::@m_kernel
module attributes {gpu.container_module} {
  func.func @named(%n: index) {
    gpu.launch_func @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
    gpu.launch_func @l::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
    gpu.launch_func @m_kernel_0::@m_kernel blocks in (%n, %n, %n) threads in (%n, %n, %n)
    gpu.launch_func @m_kernel_1::@m_kernel blocks in (%n, %n, %n) threads in (%n, %n, %n)
    gpu.launch_func @m_kernel_1::@m_kernel blocks in (%n, %n, %n) threads in (%n, %n, %n)
    return
  }
  gpu.module @k { gpu.func @f() kernel { gpu.return } }
  gpu.module @l { gpu.func @f() kernel { gpu.return } }
  gpu.module @m_kernel_0 { gpu.func @m_kernel() kernel { gpu.return } }
  gpu.module @m_kernel_1 { gpu.func @m_kernel() kernel { gpu.return } }
}

// RUN: gpu-opt %s -split-input-file -gpu-kernel-outlining -gpu-async-merge-kernels --remarks-filter=gpu-async-merge-kernels --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Merged | Category:gpu-async-merge-kernels | Function=layers | merged-kernels=1{{$}}
