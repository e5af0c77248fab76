// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block of columns keeps as many of them as leave half of a stack of a
// megabyte: 64 of a thousand f64.
// RUN: gpu-opt %s -gpu-async-offload=device=cpu | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: gpu.launch
// CHECK-NOT: memref<1024000xi8>
// CHECK: memref.alloca() {{.*}} : memref<512000xi8>
// CHECK-NOT: memref<1024000xi8>
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<1000x300xf64>) -> tensor<1000x300xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<1000x300xf64>
  %exp = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1000x300xf64>) outs(%e : tensor<1000x300xf64>) {
  ^bb0(%v: f64, %o: f64):
    %r = math.exp %v : f64
    linalg.yield %r : f64
  } -> tensor<1000x300xf64>
  %s = tensor.empty() : tensor<300xf64>
  %f = linalg.fill ins(%zero : f64) outs(%s : tensor<300xf64>) -> tensor<300xf64>
  %sum = linalg.generic {indexing_maps = [#all, #column], iterator_types = ["reduction", "parallel"]} ins(%exp : tensor<1000x300xf64>) outs(%f : tensor<300xf64>) {
  ^bb0(%v: f64, %o: f64):
    %r = arith.addf %v, %o : f64
    linalg.yield %r : f64
  } -> tensor<300xf64>
  %q = linalg.generic {indexing_maps = [#all, #column, #all], iterator_types = ["parallel", "parallel"]} ins(%exp, %sum : tensor<1000x300xf64>, tensor<300xf64>) outs(%e : tensor<1000x300xf64>) {
  ^bb0(%v: f64, %d: f64, %o: f64):
    %r = arith.divf %v, %d : f64
    linalg.yield %r : f64
  } -> tensor<1000x300xf64>
  return %q : tensor<1000x300xf64>
}
