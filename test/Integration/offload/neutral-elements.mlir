// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions that blocks and threads share begin with what leaves each value as it is:
// sums of floats with -0.
// DEFINE: %{cpu} = gpu-runner --device=cpu --offload=error %s
// DEFINE: %{gpu} = gpu-runner --device=cpu %t.gpu.mlir
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
//
// DEFINE: %{args} = -e sum --input=200000xf32=-0.0 --input=f32=-0.0
// RUN: %{cpu} %{args} | FileCheck %s --check-prefix=NEGATIVE
// RUN: %{gpu} %{args} | FileCheck %s --check-prefix=NEGATIVE
// REDEFINE: %{args} = -e sum --input=200000xf32=-0.0 --input=f32=0.0
// RUN: %{cpu} %{args} | FileCheck %s --check-prefix=POSITIVE
// RUN: %{gpu} %{args} | FileCheck %s --check-prefix=POSITIVE
// REDEFINE: %{args} = -e rows --input=3x500xf32=-0.0
// RUN: %{cpu} %{args} | FileCheck %s --check-prefix=NEGATIVES
// RUN: %{gpu} %{args} | FileCheck %s --check-prefix=NEGATIVES
// REDEFINE: %{args} = -e row --input=4x300xf32=-0.0
// RUN: %{cpu} %{args} | FileCheck %s --check-prefix=NEGATIVES
// RUN: %{gpu} %{args} | FileCheck %s --check-prefix=NEGATIVES
// REDEFINE: %{args} = -e product --input=3x37xf32=-0.0 --input=37x20xf32=1 --input=3x20xf32=-0.0
// RUN: %{cpu} %{args} | FileCheck %s --check-prefix=NEGATIVES
// RUN: %{gpu} %{args} | FileCheck %s --check-prefix=NEGATIVES
// REDEFINE: %{args} = -e vector --input=4096xf32=-0.0 --input=4096x4096xf32=1 --input=4096xf32=-0.0
// RUN: %{gpu} %{args} | FileCheck %s --check-prefix=NEGATIVES
// REDEFINE: %{args} = -e most --input=200000xindex=7 --expect=result0=index=7
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e sumOfSums --input=200000xi32=1 --expect=result0=i32=200000 --expect=result1=i32=-1474736480
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// NEGATIVE: f32=-0{{$}}
// POSITIVE: f32=0{{$}}
// NEGATIVES-NOT: {{[ =]0|\[0 }}
// NEGATIVES: f32={{\[?}}-0 -0 -0
// NEGATIVES-NOT: {{[ =]0|\[0 }}

#map = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
#both = affine_map<(i, j) -> (i, j)>
#first = affine_map<(i, j) -> (i)>

func.func @sum(%x: tensor<200000xf32>, %first: f32) -> tensor<f32> {
  %z = tensor.from_elements %first : tensor<f32>
  %r = linalg.generic {indexing_maps = [#map, #none], iterator_types = ["reduction"]} ins(%x : tensor<200000xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

func.func @rows(%x: tensor<3x500xf32>) -> tensor<3xf32> {
  %zero = arith.constant dense<-0.0> : tensor<3xf32>
  %r = linalg.generic {indexing_maps = [#both, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x500xf32>) outs(%zero : tensor<3xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<3xf32>
  return %r : tensor<3xf32>
}

// Rows that stay in registers.
func.func @row(%x: tensor<4x300xf32>) -> tensor<4x300xf32> {
  %zero = arith.constant -0.0 : f32
  %e = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  %s = linalg.generic {indexing_maps = [#both, #first], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<4x300xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %y = arith.addf %o, %a : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %g = tensor.empty() : tensor<4x300xf32>
  %r = linalg.generic {indexing_maps = [#both, #first, #both], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<4x300xf32>, tensor<4xf32>) outs(%g : tensor<4x300xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %y = arith.addf %b, %a : f32
    linalg.yield %y : f32
  } -> tensor<4x300xf32>
  return %r : tensor<4x300xf32>
}

// Behind the last step there is nothing to add.
func.func @product(%x: tensor<3x37xf32>, %y: tensor<37x20xf32>, %z: tensor<3x20xf32>) -> tensor<3x20xf32> {
  %r = linalg.matmul ins(%x, %y : tensor<3x37xf32>, tensor<37x20xf32>) outs(%z : tensor<3x20xf32>) -> tensor<3x20xf32>
  return %r : tensor<3x20xf32>
}

func.func @vector(%x: tensor<4096xf32>, %y: tensor<4096x4096xf32>, %z: tensor<4096xf32>) -> tensor<4096xf32> {
  %r = linalg.vecmat ins(%x, %y : tensor<4096xf32>, tensor<4096x4096xf32>) outs(%z : tensor<4096xf32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// Upstream knows no least number of the index type.
func.func @most(%x: tensor<200000xindex>) -> tensor<index> {
  %five = arith.constant dense<5> : tensor<index>
  %r = linalg.generic {indexing_maps = [#map, #none], iterator_types = ["reduction"]} ins(%x : tensor<200000xindex>) outs(%five : tensor<index>) {
  ^bb0(%a: index, %o: index):
    %y = arith.maxsi %o, %a : index
    linalg.yield %y : index
  } -> tensor<index>
  return %r : tensor<index>
}

// The second sum is of what the first one is so far: its elements have an order.
func.func @sumOfSums(%x: tensor<200000xi32>) -> (tensor<i32>, tensor<i32>) {
  %z = arith.constant dense<0> : tensor<i32>
  %r:2 = linalg.generic {indexing_maps = [#map, #none, #none], iterator_types = ["reduction"]} ins(%x : tensor<200000xi32>) outs(%z, %z : tensor<i32>, tensor<i32>) {
  ^bb0(%a: i32, %o: i32, %p: i32):
    %s = arith.addi %a, %o : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %s, %t : i32, i32
  } -> (tensor<i32>, tensor<i32>)
  return %r#0, %r#1 : tensor<i32>, tensor<i32>
}
