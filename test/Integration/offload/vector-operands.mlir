// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of a matrix that a product computes where it takes them: differences of all pairs
// of 0, 1, ..., 9, weighted with their squares, and a matrix of bytes that is scaled.
// DEFINE: %{cpu} = gpu-runner --device=cpu %s
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu -O0 -
// RUN: %{cpu} -e pairs --input=10x1xi32=0,1,2,3,4,5,6,7,8,9 --expect=10x1xi32=2025,1295,775,405,125,-125,-405,-775,-1295,-2025
// RUN: %{gpu} -e pairs --input=10x1xi32=0,1,2,3,4,5,6,7,8,9 --expect=10x1xi32=2025,1295,775,405,125,-125,-405,-775,-1295,-2025
// RUN: %{cpu} -e scaled --input=70xf32=2 --input=70x300xi8=-3 --input=300xf32=0.5 --expect=300xf32=-210
// RUN: %{gpu} -e scaled --input=70xf32=2 --input=70x300xi8=-3 --input=300xf32=0.5 --expect=300xf32=-210
// RUN: %if cuda %{ gpu-runner --device=cuda %s -e scaled --input=70xf32=2 --input=70x300xi8=-3 --input=300xf32=0.5 --expect=300xf32=-210 %}

func.func @pairs(%x: tensor<10x1xi32>) -> tensor<10x1xi32> {
  %zero = arith.constant 0 : i32
  %e3 = tensor.empty() : tensor<10x10x1xi32>
  %d = linalg.generic {indexing_maps = [affine_map<(i, j, c) -> (j, c)>, affine_map<(i, j, c) -> (i, c)>, affine_map<(i, j, c) -> (i, j, c)>],
      iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %x : tensor<10x1xi32>, tensor<10x1xi32>) outs(%e3 : tensor<10x10x1xi32>) {
  ^bb0(%a: i32, %b: i32, %o: i32):
    %r = arith.subi %a, %b : i32
    linalg.yield %r : i32
  } -> tensor<10x10x1xi32>
  %e2 = tensor.empty() : tensor<10x10xi32>
  %f2 = linalg.fill ins(%zero : i32) outs(%e2 : tensor<10x10xi32>) -> tensor<10x10xi32>
  %squares = linalg.generic {indexing_maps = [affine_map<(i, j, c) -> (i, j, c)>, affine_map<(i, j, c) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%d : tensor<10x10x1xi32>) outs(%f2 : tensor<10x10xi32>) {
  ^bb0(%a: i32, %s: i32):
    %p = arith.muli %a, %a : i32
    %r = arith.addi %s, %p : i32
    linalg.yield %r : i32
  } -> tensor<10x10xi32>
  %e1 = tensor.empty() : tensor<10x1xi32>
  %f1 = linalg.fill ins(%zero : i32) outs(%e1 : tensor<10x1xi32>) -> tensor<10x1xi32>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, c, j) -> (i, j, c)>, affine_map<(i, c, j) -> (i, j)>, affine_map<(i, c, j) -> (i, c)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%d, %squares : tensor<10x10x1xi32>, tensor<10x10xi32>) outs(%f1 : tensor<10x1xi32>) {
  ^bb0(%a: i32, %b: i32, %s: i32):
    %p = arith.muli %a, %b : i32
    %r = arith.addi %s, %p : i32
    linalg.yield %r : i32
  } -> tensor<10x1xi32>
  return %sum : tensor<10x1xi32>
}

func.func @scaled(%x: tensor<70xf32>, %w: tensor<70x300xi8>, %scale: tensor<300xf32>) -> tensor<300xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<70x300xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(k, j) -> (k, j)>, affine_map<(k, j) -> (j)>, affine_map<(k, j) -> (k, j)>],
      iterator_types = ["parallel", "parallel"]} ins(%w, %scale : tensor<70x300xi8>, tensor<300xf32>) outs(%e : tensor<70x300xf32>) {
  ^bb0(%a: i8, %b: f32, %o: f32):
    %f = arith.sitofp %a : i8 to f32
    %r = arith.mulf %f, %b : f32
    linalg.yield %r : f32
  } -> tensor<70x300xf32>
  %o = tensor.empty() : tensor<300xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<300xf32>) -> tensor<300xf32>
  %r = linalg.vecmat ins(%x, %m : tensor<70xf32>, tensor<70x300xf32>) outs(%f : tensor<300xf32>) -> tensor<300xf32>
  return %r : tensor<300xf32>
}
