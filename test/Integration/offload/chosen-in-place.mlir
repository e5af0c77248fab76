// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A branch chooses what was computed in the place of one thing that a loop
// carries, to become another: it yields a copy.
// RUN: gpu-runner --device=cpu %s --input=5xf32=1,2,3,4,5 --input=5xf32=10,20,30,40,50 --input=3 --input=0 | FileCheck %s --check-prefix=ELSE
// RUN: gpu-runner --device=cpu --check %s --input=5xf32=1,2,3,4,5 --input=5xf32=10,20,30,40,50 --input=3 --input=1 | FileCheck %s --check-prefix=THEN
// RUN: gpu-runner --device=cpu -e behind %s --input=5xf32=1,2,3,4,5 --input=5xf32=10,20,30,40,50 --input=3 --input=0 | FileCheck %s --check-prefix=BEHIND-ELSE
// RUN: gpu-runner --device=cpu -e behind %s --input=5xf32=1,2,3,4,5 --input=5xf32=10,20,30,40,50 --input=3 --input=1 | FileCheck %s --check-prefix=BEHIND-THEN

// ELSE: result[0]: 5xf32=50 50 30 20 10
// ELSE-NEXT: result[1]: 5xf32=5 4 1 2 1
// THEN: result[0]: 5xf32=10 20 30 50 50
// THEN-NEXT: result[1]: 5xf32=5 4 5 2 1
// BEHIND-ELSE: result[0]: 5xf32=50 40 50 20 10
// BEHIND-ELSE-NEXT: result[1]: 5xf32=5 4 3 1 1
// BEHIND-THEN: result[0]: 5xf32=10 20 10 40 50
// BEHIND-THEN-NEXT: result[1]: 5xf32=1 1 3 4 5
#to = affine_map<(i) -> (i)>
#back = affine_map<(i) -> (4 - i)>
func.func @main(%x: tensor<5xf32>, %y: tensor<5xf32>, %n: index, %c: i1) -> (tensor<5xf32>, tensor<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<5xf32>, tensor<5xf32>) {
    %e = tensor.empty() : tensor<5xf32>
    %s = tensor.extract_slice %a[0] [1] [1] : tensor<5xf32> to tensor<1xf32>
    %in = tensor.insert_slice %s into %a[%i] [1] [1] : tensor<1xf32> into tensor<5xf32>
    %chosen = scf.if %c -> tensor<5xf32> {
      scf.yield %in : tensor<5xf32>
    } else {
      %turned = linalg.generic {indexing_maps = [#back, #to], iterator_types = ["parallel"]} ins(%in : tensor<5xf32>) outs(%e : tensor<5xf32>) {
      ^bb0(%v: f32, %old: f32):
        linalg.yield %v : f32
      } -> tensor<5xf32>
      scf.yield %turned : tensor<5xf32>
    }
    %p = linalg.generic {indexing_maps = [#back, #to], iterator_types = ["parallel"]} ins(%b : tensor<5xf32>) outs(%e : tensor<5xf32>) {
    ^bb0(%v: f32, %old: f32):
      linalg.yield %v : f32
    } -> tensor<5xf32>
    scf.yield %p, %chosen : tensor<5xf32>, tensor<5xf32>
  }
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}

// What is written behind the branches may be the other's place, too.
func.func @behind(%x: tensor<5xf32>, %y: tensor<5xf32>, %n: index, %c: i1) -> (tensor<5xf32>, tensor<5xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<5xf32>, tensor<5xf32>) {
    %e = tensor.empty() : tensor<5xf32>
    %p = scf.if %c -> tensor<5xf32> {
      scf.yield %a : tensor<5xf32>
    } else {
      %turned = linalg.generic {indexing_maps = [#back, #to], iterator_types = ["parallel"]} ins(%a : tensor<5xf32>) outs(%e : tensor<5xf32>) {
      ^bb0(%v: f32, %old: f32):
        linalg.yield %v : f32
      } -> tensor<5xf32>
      scf.yield %turned : tensor<5xf32>
    }
    %q = scf.if %c -> tensor<5xf32> {
      scf.yield %b : tensor<5xf32>
    } else {
      %turned = linalg.generic {indexing_maps = [#back, #to], iterator_types = ["parallel"]} ins(%b : tensor<5xf32>) outs(%e : tensor<5xf32>) {
      ^bb0(%v: f32, %old: f32):
        linalg.yield %v : f32
      } -> tensor<5xf32>
      scf.yield %turned : tensor<5xf32>
    }
    %s = tensor.extract_slice %q[%c0] [1] [1] : tensor<5xf32> to tensor<1xf32>
    %in = tensor.insert_slice %s into %q[%i] [1] [1] : tensor<1xf32> into tensor<5xf32>
    scf.yield %in, %p : tensor<5xf32>, tensor<5xf32>
  }
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}
