// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A petabyte of device memory: refused at the op that asks for it, with the size.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s
// RUN: %if cuda %{ not gpu-runner --device=cuda %s 2>&1 | FileCheck %s %}

func.func @main() {
  %c1 = arith.constant 1 : index
  %n = arith.constant 1125899906842624 : index
  // CHECK: out-of-memory.mlir:[[@LINE+2]]
  // CHECK-SAME: 1125899906842624
  %x = gpu.alloc (%n) : memref<?xi8>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %one = arith.constant 1 : i8
    memref.store %one, %x[%tx] : memref<?xi8>
    gpu.terminator
  }
  gpu.dealloc %x : memref<?xi8>
  return
}
