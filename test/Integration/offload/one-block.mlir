// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Small ops that are one block's work: what all elements need of all others is there when they
// need it. Elements are their place, so that results are known.
// DEFINE: %{cpu} = gpu-runner --device=cpu %s
// DEFINE: %{check} = gpu-opt %s --gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu --check -O0 -
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu -O0 -
// RUN: %{cpu} -e deviations --input=i32=7 --expect=5xi32=-540,-270,0,270,540 --stats 2>&1 | FileCheck %s
// RUN: %{gpu} -e deviations --input=i32=7 --expect=5xi32=-540,-270,0,270,540
// RUN: %{cpu} -e mixed --input=30x40xi32=1 --expect=30x40xi32=1271 --stats 2>&1 | FileCheck %s
// RUN: %{gpu} -e mixed --input=30x40xi32=1 --expect=30x40xi32=1271 --stats 2>&1 | FileCheck %s
// RUN: %{check} -e mixed --input=30x40xi32=1 --expect=30x40xi32=1271
// RUN: %{cpu} -e norm --input=random:5 --output=result0=@%t.npy
// RUN: %{cpu} -e row_norm --input=random:5 --expect=@%t.npy --tolerance=1e-6
// RUN: %{gpu} -e norm --input=random:5 --expect=@%t.npy --tolerance=1e-6
// RUN: %{check} -e norm --input=random:5 --expect=@%t.npy --tolerance=1e-6
// RUN: %if cuda %{ gpu-runner --device=cuda %s -e norm --input=random:5 --expect=@%t.npy --tolerance=1e-6 %}

// CHECK: "launches": 1,

func.func @deviations(%seed: i32) -> tensor<5xi32> {
  %zero = arith.constant 0 : i32
  %five = arith.constant 5 : i32
  %e0 = tensor.empty() : tensor<i32>
  %e = tensor.empty() : tensor<5xi32>
  %f0 = linalg.fill ins(%zero : i32) outs(%e0 : tensor<i32>) -> tensor<i32>
  %x = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%e : tensor<5xi32>) {
  ^bb0(%o: i32):
    %i = linalg.index 0 : index
    %n = arith.index_cast %i : index to i32
    %t = arith.constant 3 : i32
    %r = arith.muli %n, %t : i32
    %s = arith.addi %r, %seed : i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  %sum = linalg.reduce {arith.addi} ins(%x : tensor<5xi32>) outs(%f0 : tensor<i32>) dimensions = [0]
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %sum : tensor<5xi32>, tensor<i32>) outs(%e : tensor<5xi32>) {
  ^bb0(%a: i32, %s: i32, %o: i32):
    %mean = arith.divsi %s, %five : i32
    %r = arith.subi %a, %mean : i32
    linalg.yield %r : i32
  } -> tensor<5xi32>
  %squares = linalg.dot ins(%d, %d : tensor<5xi32>, tensor<5xi32>) outs(%f0 : tensor<i32>) -> tensor<i32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%d, %squares : tensor<5xi32>, tensor<i32>) outs(%e : tensor<5xi32>) {
  ^bb0(%a: i32, %s: i32, %o: i32):
    %p = arith.muli %a, %s : i32
    linalg.yield %p : i32
  } -> tensor<5xi32>
  return %r : tensor<5xi32>
}

// A sum of columns and one of all, which no row of threads goes through.
func.func @mixed(%x: tensor<30x40xi32>) -> tensor<30x40xi32> {
  %zero = arith.constant 0 : i32
  %e0 = tensor.empty() : tensor<i32>
  %e1 = tensor.empty() : tensor<40xi32>
  %e = tensor.empty() : tensor<30x40xi32>
  %f0 = linalg.fill ins(%zero : i32) outs(%e0 : tensor<i32>) -> tensor<i32>
  %f1 = linalg.fill ins(%zero : i32) outs(%e1 : tensor<40xi32>) -> tensor<40xi32>
  %columns = linalg.reduce {arith.addi} ins(%x : tensor<30x40xi32>) outs(%f1 : tensor<40xi32>) dimensions = [0]
  %all = linalg.reduce {arith.addi} ins(%x : tensor<30x40xi32>) outs(%f0 : tensor<i32>) dimensions = [0, 1]
  %most = linalg.reduce {arith.maxsi} ins(%columns : tensor<40xi32>) outs(%f0 : tensor<i32>) dimensions = [0]
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> ()>, affine_map<(i, j) -> ()>,
      affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %columns, %all, %most : tensor<30x40xi32>, tensor<40xi32>, tensor<i32>, tensor<i32>) outs(%e : tensor<30x40xi32>) {
  ^bb0(%a: i32, %c: i32, %s: i32, %m: i32, %o: i32):
    %0 = arith.addi %a, %c : i32
    %1 = arith.addi %0, %s : i32
    %t = arith.constant 10 : i32
    %2 = arith.addi %1, %t : i32
    %3 = arith.addi %2, %m : i32
    linalg.yield %3 : i32
  } -> tensor<30x40xi32>
  return %r : tensor<30x40xi32>
}

func.func @norm(%x: tensor<700xf32>) -> tensor<700xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 700.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<700xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce {arith.addf} ins(%x : tensor<700xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  %d = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %sum : tensor<700xf32>, tensor<f32>) outs(%e : tensor<700xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %mean = arith.divf %s, %n : f32
    %r = arith.subf %a, %mean : f32
    linalg.yield %r : f32
  } -> tensor<700xf32>
  %squares = linalg.dot ins(%d, %d : tensor<700xf32>, tensor<700xf32>) outs(%f0 : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%d, %squares : tensor<700xf32>, tensor<f32>) outs(%e : tensor<700xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %v = arith.divf %s, %n : f32
    %i = math.rsqrt %v : f32
    %r = arith.mulf %a, %i : f32
    linalg.yield %r : f32
  } -> tensor<700xf32>
  return %y : tensor<700xf32>
}

// The same in rows of a matrix.
func.func @row_norm(%v: tensor<700xf32>) -> tensor<700xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 700.0 : f32
  %b = tensor.empty() : tensor<2x700xf32>
  %x = linalg.broadcast ins(%v : tensor<700xf32>) outs(%b : tensor<2x700xf32>) dimensions = [0]
  %e0 = tensor.empty() : tensor<2xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<2xf32>) -> tensor<2xf32>
  %sum = linalg.reduce {arith.addf} ins(%x : tensor<2x700xf32>) outs(%f0 : tensor<2xf32>) dimensions = [1]
  %d = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %sum : tensor<2x700xf32>, tensor<2xf32>) outs(%b : tensor<2x700xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %mean = arith.divf %s, %n : f32
    %r = arith.subf %a, %mean : f32
    linalg.yield %r : f32
  } -> tensor<2x700xf32>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%d : tensor<2x700xf32>) outs(%f0 : tensor<2xf32>) {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %a, %a : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<2xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%d, %squares : tensor<2x700xf32>, tensor<2xf32>) outs(%b : tensor<2x700xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %q = arith.divf %s, %n : f32
    %i = math.rsqrt %q : f32
    %r = arith.mulf %a, %i : f32
    linalg.yield %r : f32
  } -> tensor<2x700xf32>
  %r = tensor.extract_slice %y[1, 0] [1, 700] [1, 1] : tensor<2x700xf32> to tensor<700xf32>
  return %r : tensor<700xf32>
}
