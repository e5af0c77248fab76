// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that comes to where it said it never would stops there, and does not
// run on into the code that lies behind it.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s
// RUN: not gpu-runner --device=cpu -O0 %s 2>&1 | FileCheck %s

// CHECK-NOT: result
// CHECK: illegal instruction
// CHECK-NOT: result
module attributes {gpu.container_module} {
gpu.module @k {
  llvm.func @never(%p: !llvm.ptr, %c: i32) attributes {gpu.kernel} {
    llvm.unreachable
  }
  llvm.func @behind(%p: !llvm.ptr, %c: i32) attributes {gpu.kernel} {
    llvm.store volatile %c, %p : i32, !llvm.ptr
    llvm.return
  }
}
func.func @main() -> i32 {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %x = gpu.alloc () : memref<1xi32>
  %i = memref.extract_aligned_pointer_as_index %x : memref<1xi32> -> index
  %a = arith.index_cast %i : index to i64
  %p = llvm.inttoptr %a : i64 to !llvm.ptr
  gpu.launch_func @k::@never blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr, %one : i32)
  gpu.launch_func @k::@behind blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr, %one : i32)
  gpu.dealloc %x : memref<1xi32>
  return %one : i32
}
}
