// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names a race of a small kernel in a loop, which is one kernel without
// it, and has one thread then.
// RUN: not gpu-runner --device=cpu --check %s --input=8xi32 --input=3 2>&1 | FileCheck %s
// RUN: gpu-runner --device=cpu %s --input=8xi32 --input=3 --stats 2>&1 | FileCheck %s --check-prefix=ONE

// ONE: "launches": 1,
func.func @main(%x: memref<8xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.parallel (%j) = (%c0) to (%c8) step (%c1) {
      %v = arith.index_cast %j : index to i32
      // CHECK: race-in-loop.mlir:[[#@LINE+1]]:7: error: data race between threads of a block: write by block (0, 0, 0), thread (1, 0, 0)
      memref.store %v, %x[%c0] : memref<8xi32>
      scf.reduce
    }
  }
  return
}
