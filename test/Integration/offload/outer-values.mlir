// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop's first region computes in the place of what the second one yields. That is a tensor from outside of the loop,
// which is read behind it: a round begins with a copy.
// RUN: gpu-runner %s --device=cpu --input=5xi32=7 | FileCheck %s
// RUN: gpu-opt %s -gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu - --input=5xi32=7 | FileCheck %s

// CHECK: 5xi32=0 2 4 6 8
// CHECK: 5xi32=0 1 2 3 4
#map = affine_map<(i) -> (i)>
func.func @main(%y: tensor<5xi32>) -> (tensor<5xi32>, tensor<5xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<5xi32>
  %x = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%e : tensor<5xi32>) {
  ^bb0(%out: i32):
    %k = linalg.index 0 : index
    %v = arith.index_cast %k : index to i32
    linalg.yield %v : i32
  } -> tensor<5xi32>
  %r:2 = scf.while (%i = %c0, %a = %y) : (index, tensor<5xi32>) -> (index, tensor<5xi32>) {
    %s = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<5xi32>) outs(%a : tensor<5xi32>) {
    ^bb0(%p: i32, %q: i32):
      %t = arith.addi %p, %q : i32
      linalg.yield %t : i32
    } -> tensor<5xi32>
    %more = arith.cmpi slt, %i, %c1 : index
    scf.condition(%more) %i, %s : index, tensor<5xi32>
  } do {
  ^bb0(%i: index, %s: tensor<5xi32>):
    %n = arith.addi %i, %c1 : index
    scf.yield %n, %x : index, tensor<5xi32>
  }
  return %r#1, %x : tensor<5xi32>, tensor<5xi32>
}
