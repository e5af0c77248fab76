// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Few rounds of minnumf: LLVM 22 left out those that fill no vector, which are the
// last three of a subgroup's eight threads.
// RUN: gpu-opt %s -gpu-async-offload=device=gpu -o %t.mlir
// RUN: gpu-runner --device=cpu -O0 %t.mlir --input=random:1 --input=random:2 --output=result0=@%t.npy
// RUN: gpu-runner --device=cpu %t.mlir --input=random:1 --input=random:2 --expect=@%t.npy | FileCheck %s

// CHECK: result[0]: error 0
func.func @main(%x: tensor<32x2000xf32>, %start: tensor<32xf32>) -> tensor<32xf32> {
  %r = linalg.reduce {arith.minnumf} ins(%x : tensor<32x2000xf32>) outs(%start : tensor<32xf32>) dimensions = [1]
  return %r : tensor<32xf32>
}
