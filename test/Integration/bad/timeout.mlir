// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that never ends, and a limit: the message names the unfinished launch.
// RUN: not gpu-runner --device=cpu --timeout=2 %s 2>&1 | FileCheck %s
// RUN: %if cuda %{ not gpu-runner --device=cuda --timeout=2 %s 2>&1 | FileCheck %s %}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %x = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %zero : memref<1xi32>, i32
  // CHECK: timeout.mlir:{{[0-9]+}}
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    scf.while : () -> () {
      %seen = memref.atomic_rmw addi %zero, %x[%c0] : (i32, memref<1xi32>) -> i32
      %wait = arith.cmpi eq, %seen, %zero : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    gpu.terminator
  }
  gpu.dealloc %x : memref<1xi32>
  return
}
