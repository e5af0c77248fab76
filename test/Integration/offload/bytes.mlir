// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of bytes are exact, whatever these are and however many there are: sums
// of floats would not be. Of 1000 steps, signed, unsigned and of both.
// RUN: gpu-runner %s --device=cpu --input=5x1000xi8=-128 --input=1000x70xi8=-128 --input=127 --output=result0=- --output=result1=- --output=result2=- | FileCheck %s
// RUN: gpu-runner %s --device=cpu --input=5x1000xi8=-1 --input=1000x70xi8=-1 --input=1 --output=result0=- --output=result1=- --output=result2=- | FileCheck %s --check-prefix=ONES
// RUN: gpu-opt %s --gpu-async-offload=device=gpu | gpu-runner - --device=cpu --input=5x1000xi8=-128 --input=1000x70xi8=-128 --input=127 --output=result0=- --output=result1=- --output=result2=- | FileCheck %s

// 16384000 + 127
// CHECK: result[0]: 5x70xi32=[16384127 16384127
// 128 * 128 * 1000 and -128 * 128 * 1000, and what was there
// CHECK: result[1]: 5x70xi32=[16384127 16384127
// CHECK: result[2]: 5x70xi64=[-16383873 -16383873
// 1000 + 1
// ONES: result[0]: 5x70xi32=[1001 1001
// 255 * 255 * 1000 and -255 * 1000
// ONES: result[1]: 5x70xi32=[65025001 65025001
// ONES: result[2]: 5x70xi64=[-254999 -254999
#row = affine_map<(i, j, k) -> (i, k)>
#column = affine_map<(i, j, k) -> (k, j)>
#sum = affine_map<(i, j, k) -> (i, j)>
func.func @main(%a: tensor<5x1000xi8>, %b: tensor<1000x70xi8>, %begin: i32) -> (tensor<5x70xi32>, tensor<5x70xi32>, tensor<5x70xi64>) {
  %s = tensor.splat %begin : tensor<5x70xi32>
  %long = arith.extsi %begin : i32 to i64
  %t = tensor.splat %long : tensor<5x70xi64>
  %signed = linalg.matmul ins(%a, %b : tensor<5x1000xi8>, tensor<1000x70xi8>) outs(%s : tensor<5x70xi32>) -> tensor<5x70xi32>
  %unsigned = linalg.matmul {cast = #linalg.type_fn<cast_unsigned>} ins(%a, %b : tensor<5x1000xi8>, tensor<1000x70xi8>) outs(%s : tensor<5x70xi32>) -> tensor<5x70xi32>
  %mixed = linalg.generic {indexing_maps = [#row, #column, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %b : tensor<5x1000xi8>, tensor<1000x70xi8>) outs(%t : tensor<5x70xi64>) {
  ^bb0(%x: i8, %y: i8, %o: i64):
    %u = arith.extui %x : i8 to i64
    %v = arith.extsi %y : i8 to i64
    %m = arith.muli %v, %u : i64
    %r = arith.addi %m, %o : i64
    linalg.yield %r : i64
  } -> tensor<5x70xi64>
  return %signed, %unsigned, %mixed : tensor<5x70xi32>, tensor<5x70xi32>, tensor<5x70xi64>
}
