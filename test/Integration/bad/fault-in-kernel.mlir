// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that writes to an address which is no memory: one message that names
// the kernel or its launch, and no crash of the program around it.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s
// RUN: %if cuda %{ not gpu-runner --device=cuda %s 2>&1 | FileCheck %s %}

// CHECK: fault-in-kernel.mlir:{{[0-9]+}}
func.func @main() {
  %c1 = arith.constant 1 : index
  %nowhere = arith.constant 64 : i64
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %one = arith.constant 1 : i32
    %p = llvm.inttoptr %nowhere : i64 to !llvm.ptr
    llvm.store volatile %one, %p : i32, !llvm.ptr
    gpu.terminator
  }
  return
}
