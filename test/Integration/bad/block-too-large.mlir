// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// More threads in a block than any GPU has.
// Needs a GPU: the fake library loads no kernels but those that a test gives it.
// REQUIRES: cuda
// RUN: not gpu-runner --device=cuda %s 2>&1 | FileCheck %s

func.func @main() {
  %c1 = arith.constant 1 : index
  %many = arith.constant 5000 : index
  // CHECK: block-too-large.mlir:[[@LINE+1]]
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %many, %nty = %c1, %ntz = %c1) {
    gpu.printf "thread %lld\n", %tx : index
    gpu.terminator
  }
  return
}
