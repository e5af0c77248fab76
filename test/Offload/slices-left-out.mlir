// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A slice that leaves out one of two dimensions of the same stride: upstream
// cannot tell which (it crashed).
// RUN: gpu-opt %s -gpu-async-pipeline="targets=nvptx:sm_90 ptxas=none libdevice=none" -o /dev/null
// RUN: gpu-runner %s --device=cpu --input=3x1x4x1xf32=0,1,2,3,4,5,6,7,8,9,10,11 --input=2 | FileCheck %s
// CHECK: 2x1x1xf32={{\[\[2\]\]\[\[10\]\]}}
func.func @main(%a: tensor<3x1x4x1xf32>, %i: index) -> tensor<2x1x1xf32> {
  %s = tensor.extract_slice %a[0, 0, %i, 0] [2, 1, 1, 1] [2, 1, 3, 1] : tensor<3x1x4x1xf32> to tensor<2x1x1xf32>
  return %s : tensor<2x1x1xf32>
}
