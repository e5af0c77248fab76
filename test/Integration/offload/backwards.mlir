// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is read backwards, or at remainders, is no tile of what a block has, on
// memrefs either: it is read element by element, and what only it told, how
// long a loop is, is known still.
// RUN: gpu-runner --device=cpu --check %s --input=2x5xf32=1,2,3,4,5,6,7,8,9,10 --input=5xf32=1,2,3,4,5 --input=5xf32=10 --input=5xf32=0 --output= --output= --output=- --output=- | FileCheck %s
// RUN: gpu-opt %s --gpu-async-offload=device=gpu -o %t.mlir
// RUN: gpu-runner --device=cpu --check %t.mlir --input=2x5xf32=1,2,3,4,5,6,7,8,9,10 --input=5xf32=1,2,3,4,5 --input=5xf32=10 --input=5xf32=0 --output= --output= --output=- --output=- | FileCheck %s

// CHECK: arg[2]: 5xf32=25 34 23 32 21
// CHECK-NEXT: arg[3]: 5xf32=17 17 17 17 17
func.func @main(%x: memref<2x5xf32>, %y: memref<5xf32>, %o: memref<5xf32>, %s: memref<5xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (4 - i)>, affine_map<(i) -> (i mod 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%y, %y : memref<5xf32>, memref<5xf32>) outs(%o : memref<5xf32>) {
  ^bb0(%a: f32, %b: f32, %v: f32):
    %ten = arith.constant 10.0 : f32
    %p = arith.mulf %b, %ten : f32
    %q = arith.addf %v, %a : f32
    %r = arith.addf %q, %p : f32
    linalg.yield %r : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, 4 - j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%x, %y : memref<2x5xf32>, memref<5xf32>) outs(%s : memref<5xf32>) {
  ^bb0(%a: f32, %b: f32, %v: f32):
    %p = arith.addf %a, %b : f32
    %q = arith.addf %v, %p : f32
    linalg.yield %q : f32
  }
  return
}
