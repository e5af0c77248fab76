// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constant places and sizes are those of the device's data layout: an i64 is
// aligned to 8 bytes in a struct, and is written as a whole.
// REQUIRES: linker
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none libdevice=none" | FileCheck %s
// RUN: sed 's/@k {/@k [#gpu_async.cpu<chip = "x86-64">] {/' %s | gpu-opt --gpu-module-to-binary=format=bin -o %t.mlir
// RUN: %python %S/Inputs/images.py %t.mlir %t
// RUN: llvm-objdump -d %t-k.elf | FileCheck %s --check-prefix=CPU

// CHECK-LABEL: gpu_async.binary @k
// CHECK: st.volatile.global.b64 {{.*}}[s+40], 77;
// CHECK: st.global.b64 {{.*}}+8], 16;
// CPU: movq{{.*}}$0x10, 0x8(
gpu.module @k {
  llvm.mlir.global internal @s() {addr_space = 1 : i32} : !llvm.array<4 x struct<(i32, i64)>>
  gpu.func @f(%x: memref<8xi64>) kernel {
    %c1 = arith.constant 1 : index
    %c77 = arith.constant 77 : i64
    %base = llvm.mlir.addressof @s : !llvm.ptr<1>
    %place = llvm.getelementptr %base[0, 2, 1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, !llvm.array<4 x struct<(i32, i64)>>
    llvm.store volatile %c77, %place : i64, !llvm.ptr<1>
    %null = llvm.mlir.zero : !llvm.ptr
    %next = llvm.getelementptr %null[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i64)>
    %size = llvm.ptrtoint %next : !llvm.ptr to i64
    memref.store %size, %x[%c1] : memref<8xi64>
    gpu.return
  }
}
