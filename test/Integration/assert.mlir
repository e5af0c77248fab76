// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cf.assert in a kernel: the program ends with an error that has the assert's
// message and its place in this file.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s
// RUN: %if cuda %{ not gpu-runner --device=cuda %s 2>&1 | FileCheck %s %}

func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
    %c3 = arith.constant 3 : index
    %small = arith.cmpi ult, %tx, %c3 : index
    // CHECK: assert.mlir:[[@LINE+2]]
    // CHECK-SAME: thread index is too large
    cf.assert %small, "thread index is too large"
    gpu.terminator
  }
  return
}
