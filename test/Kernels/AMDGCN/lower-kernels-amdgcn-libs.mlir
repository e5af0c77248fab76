// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The amdgcn target with Debian's rocm-device-libs: what has no expansion.
// Code objects are linked by ld.lld; the library is a package that need not be there.
// REQUIRES: lld, rocm-device-libs
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=amdgcn:gfx90a rocm=/usr/lib/x86_64-linux-gnu" -o %t.mlir
// RUN: %python %S/../Inputs/images.py %t.mlir %t
// RUN: llvm-readelf --notes --dyn-symbols %t-gfx90a.hsaco | FileCheck %s

// CHECK-NOT: UND {{[a-z_]}}
// printf goes through a buffer that the driver passes.
// CHECK: .value_kind: hidden_hostcall_buffer
// CHECK: .name: f
gpu.module @k {
  gpu.func @f(%x: memref<f64>) kernel {
    %v = memref.load %x[] : memref<f64>
    %e = math.sinh %v : f64
    gpu.printf "%f\n", %e : f64
    memref.store %e, %x[] : memref<f64>
    gpu.return
  }
}
