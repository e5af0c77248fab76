// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A function of the LLVM dialect that gpu, or any vendor, calls a kernel is one for
// all targets; other vendors' attributes have no say.
// Code objects are linked by ld.lld.
// REQUIRES: lld
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90,amdgcn:gfx90a ptxas=none libdevice=none rocm=none" -o %t.mlir
// RUN: %python %S/Inputs/images.py %t.mlir %t
// RUN: FileCheck %s --check-prefix=PTX < %t-sm_90.ptx
// RUN: llvm-readelf --notes %t-gfx90a.hsaco | FileCheck %s --check-prefix=AMD

// PTX: .visible .entry gpu(
// PTX: .visible .entry nvvm(
// PTX: .maxntid 64
// PTX: .visible .entry rocdl(

// AMD: .max_flat_workgroup_size: 1024
// AMD-NEXT: .name: gpu
// AMD: .max_flat_workgroup_size: 1024
// AMD-NEXT: .name: nvvm
// AMD: .max_flat_workgroup_size: 128
// AMD-NEXT: .name: rocdl

gpu.module @k {
  llvm.func @gpu(%p: !llvm.ptr) attributes {gpu.kernel} {
    llvm.store %p, %p : !llvm.ptr, !llvm.ptr
    llvm.return
  }
  llvm.func @nvvm(%p: !llvm.ptr) attributes {nvvm.kernel, nvvm.maxntid = array<i32: 64>} {
    llvm.store %p, %p : !llvm.ptr, !llvm.ptr
    llvm.return
  }
  llvm.func @rocdl(%p: !llvm.ptr) attributes {rocdl.kernel, rocdl.flat_work_group_size = "1,128"} {
    llvm.store %p, %p : !llvm.ptr, !llvm.ptr
    llvm.return
  }
}
