// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Of a loop with a choice among several, as JAX writes its branches, upstream's
// analysis does not see that a case yields what the loop carries: that was
// overwritten before it was read.
// RUN: gpu-runner --device=cpu --check %s --input=5xf32=1,2,3,4,5 --input=5xf32=10,20,30,40,50 --input=1 | FileCheck %s --check-prefix=ONE
// RUN: gpu-runner --device=cpu %s --input=5xf32=1,2,3,4,5 --input=5xf32=10,20,30,40,50 --input=3 | FileCheck %s --check-prefix=THREE
// RUN: gpu-opt %s --gpu-async-offload=device=gpu -o %t.mlir
// RUN: gpu-runner --device=cpu --check %t.mlir --input=5xf32=1,2,3,4,5 --input=5xf32=10,20,30,40,50 --input=3 | FileCheck %s --check-prefix=THREE

// ONE: result[0]: 5xf32=50 40 30 20 10
// ONE-NEXT: result[1]: 5xf32=1 2 3 4 5
// THREE: result[0]: 5xf32=51 41 31 21 11
// THREE-NEXT: result[1]: 5xf32=1 2 3 4 5
#to = affine_map<(i) -> (i)>
#back = affine_map<(i) -> (4 - i)>
func.func @main(%x: tensor<5xf32>, %y: tensor<5xf32>, %n: index) -> (tensor<5xf32>, tensor<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<5xf32>, tensor<5xf32>) {
    %e = tensor.empty() : tensor<5xf32>
    %chosen = scf.index_switch %i -> tensor<5xf32>
    case 1 {
      %more = linalg.generic {indexing_maps = [#to, #to], iterator_types = ["parallel"]} ins(%a : tensor<5xf32>) outs(%e : tensor<5xf32>) {
      ^bb0(%v: f32, %old: f32):
        %w = arith.addf %v, %one : f32
        linalg.yield %w : f32
      } -> tensor<5xf32>
      scf.yield %more : tensor<5xf32>
    }
    case 2 {
      scf.yield %a : tensor<5xf32>
    }
    default {
      %turned = linalg.generic {indexing_maps = [#back, #to], iterator_types = ["parallel"]} ins(%a : tensor<5xf32>) outs(%e : tensor<5xf32>) {
      ^bb0(%v: f32, %old: f32):
        linalg.yield %v : f32
      } -> tensor<5xf32>
      scf.yield %turned : tensor<5xf32>
    }
    %p = linalg.generic {indexing_maps = [#back, #to], iterator_types = ["parallel"]} ins(%b : tensor<5xf32>) outs(%e : tensor<5xf32>) {
    ^bb0(%v: f32, %old: f32):
      linalg.yield %v : f32
    } -> tensor<5xf32>
    %q = linalg.generic {indexing_maps = [#back, #to], iterator_types = ["parallel"]} ins(%chosen : tensor<5xf32>) outs(%e : tensor<5xf32>) {
    ^bb0(%v: f32, %old: f32):
      linalg.yield %v : f32
    } -> tensor<5xf32>
    scf.yield %p, %q : tensor<5xf32>, tensor<5xf32>
  }
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}
