// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// An address may be computed from null, on each target: LLVM takes an access by it for
// unreachable unless it is told, and the kernel would do nothing.
// Code objects are linked by ld.lld.
// REQUIRES: lld
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=cpu,nvptx:sm_90,amdgcn:gfx90a ptxas=none libdevice=none rocm=none" -o %t.mlir
// RUN: FileCheck %s --check-prefix=CPU < %t.mlir
// RUN: %python %S/Inputs/images.py %t.mlir %t
// RUN: FileCheck %s --check-prefix=PTX < %t-sm_90.ptx
// RUN: llvm-objdump -d %t-gfx90a.hsaco | FileCheck %s --check-prefix=AMD

// CPU: llvm.func internal @k_store{{.*}}passthrough = [{{.*}}"null_pointer_is_valid"
// PTX: .entry store(
// PTX: st.b32
// AMD: <store>:
// AMD: {{flat|global}}_store_dword
gpu.module @k {
  gpu.func @store(%a: i64, %v: i32) kernel {
    %z = llvm.mlir.zero : !llvm.ptr
    %p = llvm.getelementptr %z[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    llvm.store %v, %p : i32, !llvm.ptr
    gpu.return
  }
}
