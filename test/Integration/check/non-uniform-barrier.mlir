// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names a barrier that some threads of the block do not come to, because
// they end or because they are at another one. One in control flow that all
// threads agree about is silent.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %c8 = arith.constant 8 : index
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c2, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %second = arith.cmpi eq, %bx, %c1 : index
    scf.if %second {
      gpu.barrier
    }
    %few = arith.cmpi ult, %tx, %c5 : index
    scf.if %few {
      // CHECK-DAG: non-uniform-barrier.mlir:[[#@LINE+1]]:7: error: barrier that not all threads of the block come to: block (0, 0, 0), thread (0, 0, 0) of kernel @{{.*}} does
      gpu.barrier
      // CHECK-DAG: non-uniform-barrier.mlir:[[#@LINE-1]]:7: note: block (0, 0, 0), thread (5, 0, 0) ends without it
    }
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %few = arith.cmpi ult, %tx, %c5 : index
    scf.if %few {
      // CHECK-DAG: non-uniform-barrier.mlir:[[#@LINE+1]]:7: note: block (0, 0, 0), thread (0, 0, 0) is at another barrier
      gpu.barrier
    } else {
      // CHECK-DAG: non-uniform-barrier.mlir:[[#@LINE+1]]:7: error: barrier that not all threads of the block come to: block (0, 0, 0), thread (5, 0, 0) of kernel @{{.*}} does
      gpu.barrier
    }
    gpu.terminator
  }
  return
}
// CHECK: gpu-runner: error: --check found 2 bugs
