// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gpu.printf from several threads, with arguments of several types.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK-DAG: block 0 thread 0: 1.500000 and -3
// CHECK-DAG: block 0 thread 1: 1.500000 and -3
// CHECK-DAG: block 1 thread 0: 1.500000 and -3
// CHECK-DAG: block 1 thread 1: 1.500000 and -3
// CHECK-DAG: no arguments, 100% text
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %f = arith.constant 1.5 : f32
  %i = arith.constant -3 : i32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c2, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c2, %nty = %c1, %ntz = %c1) {
    gpu.printf "block %lld thread %lld: %f and %d\n", %bx, %tx, %f, %i : index, index, f32, i32
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    gpu.printf "no arguments, 100%% text\n"
    gpu.terminator
  }
  return
}
