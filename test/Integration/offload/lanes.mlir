// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that are none of a result's lanes read nothing behind the operands: 40
// results have 4 lanes each, and 96 threads are left.
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu --check - --input=64x8xf64=1 --input=64x5xf64=2 --input=8x5xf64=3 | FileCheck %s

// CHECK: 8x5xf64={{\[+}}131 131
func.func @main(%x: tensor<64x8xf64>, %w: tensor<64x5xf64>, %start: tensor<8x5xf64>) -> tensor<8x5xf64> {
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<64x8xf64>, tensor<64x5xf64>) outs(%start : tensor<8x5xf64>) {
  ^bb0(%a: f64, %b: f64, %sum: f64):
    %product = arith.mulf %a, %b : f64
    %next = arith.addf %sum, %product : f64
    linalg.yield %next : f64
  } -> tensor<8x5xf64>
  return %p : tensor<8x5xf64>
}
