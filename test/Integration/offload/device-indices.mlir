// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slices at places that kernels compute: on the CPU the host reads the places, with the cut of
// GPUs kernels do. All numbers are exact.
// DEFINE: %{e} =
// DEFINE: %{run} = gpu-runner --device=cpu -e %{e} %s --input=random:1 --input=2xi32=2,1 --output=result0=@%t.npy && gpu-opt %s -gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu -O0 -e %{e} - --input=random:1 --input=2xi32=2,1 --expect=@%t.npy && gpu-opt %s -gpu-async-offload="device=gpu offload=error" | gpu-runner --check -e %{e} - --input=random:1 --input=2xi32=2,1
// REDEFINE: %{e} = reads
// RUN: %{run}
// REDEFINE: %{e} = strided
// RUN: %{run}
// REDEFINE: %{e} = writes
// RUN: %{run}
// REDEFINE: %{e} = moves
// RUN: %{run}
// REDEFINE: %{e} = chained
// RUN: %{run}
// REDEFINE: %{e} = loops
// RUN: %{run}

#one = affine_map<(d0) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>

func.func private @next(%i: tensor<2xi32>) -> (index, index) {
  %e = tensor.empty() : tensor<2xi32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %more = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%i : tensor<2xi32>) outs(%e : tensor<2xi32>) {
  ^bb0(%a: i32, %o: i32):
    %sum = arith.addi %a, %one : i32
    linalg.yield %sum : i32
  } -> tensor<2xi32>
  %a = tensor.extract %more[%c0] : tensor<2xi32>
  %b = tensor.extract %more[%c1] : tensor<2xi32>
  %x = arith.index_cast %a : i32 to index
  %y = arith.index_cast %b : i32 to index
  return %x, %y : index, index
}

// A row, without its dimension, and a block.
func.func @reads(%x: tensor<7x9xf32>, %i: tensor<2xi32>) -> tensor<2x4xf32> {
  %a, %b = call @next(%i) : (tensor<2xi32>) -> (index, index)
  %row = tensor.extract_slice %x[%a, %b] [1, 4] [1, 1] : tensor<7x9xf32> to tensor<4xf32>
  %block = tensor.extract_slice %x[%b, %a] [2, 4] [1, 1] : tensor<7x9xf32> to tensor<2x4xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%row, %block : tensor<4xf32>, tensor<2x4xf32>) outs(%e : tensor<2x4xf32>) {
  ^bb0(%u: f32, %v: f32, %o: f32):
    %d = arith.subf %u, %v : f32
    linalg.yield %d : f32
  } -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

func.func @strided(%x: tensor<7x9xf32>, %i: tensor<2xi32>) -> tensor<7x9xf32> {
  %a, %b = call @next(%i) : (tensor<2xi32>) -> (index, index)
  %s = tensor.extract_slice %x[%b, %a] [2, 2] [2, 3] : tensor<7x9xf32> to tensor<2x2xf32>
  %w = tensor.insert_slice %s into %x[%a, %b] [2, 2] [3, 2] : tensor<2x2xf32> into tensor<7x9xf32>
  return %w : tensor<7x9xf32>
}

// A row without its dimension; what is written is computed.
func.func @writes(%x: tensor<7x9xf32>, %i: tensor<2xi32>) -> tensor<7x9xf32> {
  %a, %b = call @next(%i) : (tensor<2xi32>) -> (index, index)
  %row = tensor.extract_slice %x[0, 0] [1, 4] [1, 1] : tensor<7x9xf32> to tensor<4xf32>
  %e = tensor.empty() : tensor<4xf32>
  %n = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%row : tensor<4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%u: f32, %o: f32):
    %d = arith.addf %u, %u : f32
    linalg.yield %d : f32
  } -> tensor<4xf32>
  %w = tensor.insert_slice %n into %x[%a, %b] [1, 4] [1, 1] : tensor<4xf32> into tensor<7x9xf32>
  return %w : tensor<7x9xf32>
}

// A block goes to a place of the same array that it overlaps.
func.func @moves(%x: tensor<7x9xf32>, %i: tensor<2xi32>) -> tensor<7x9xf32> {
  %a, %b = call @next(%i) : (tensor<2xi32>) -> (index, index)
  %e = tensor.empty() : tensor<7x9xf32>
  %y = linalg.generic {indexing_maps = [#all, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<7x9xf32>) outs(%e : tensor<7x9xf32>) {
  ^bb0(%u: f32, %o: f32):
    %d = arith.addf %u, %u : f32
    linalg.yield %d : f32
  } -> tensor<7x9xf32>
  %s = tensor.extract_slice %y[%b, %b] [4, 5] [1, 1] : tensor<7x9xf32> to tensor<4x5xf32>
  %w = tensor.insert_slice %s into %y[%a, %a] [4, 5] [1, 1] : tensor<4x5xf32> into tensor<7x9xf32>
  return %w : tensor<7x9xf32>
}

// The place of a place.
func.func @chained(%x: tensor<7x9xf32>, %i: tensor<2xi32>) -> tensor<9xf32> {
  %a, %b = call @next(%i) : (tensor<2xi32>) -> (index, index)
  %places = arith.constant dense<[3, 0, 6, 5, 1]> : tensor<5xindex>
  %p = tensor.extract %places[%a] : tensor<5xindex>
  %s = tensor.extract_slice %x[%p, 0] [1, 9] [1, 1] : tensor<7x9xf32> to tensor<9xf32>
  return %s : tensor<9xf32>
}

func.func @loops(%x: tensor<7x9xf32>, %i: tensor<2xi32>) -> tensor<7x9xf32> {
  %a, %b = call @next(%i) : (tensor<2xi32>) -> (index, index)
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%y = %x) -> (tensor<7x9xf32>) {
    %at = arith.addi %a, %k : index
    %s = tensor.extract_slice %y[%at, 0] [1, 9] [1, 1] : tensor<7x9xf32> to tensor<9xf32>
    %w = tensor.insert_slice %s into %y[%k, 0] [1, 9] [1, 1] : tensor<9xf32> into tensor<7x9xf32>
    %to = arith.addi %b, %k : index
    %v = tensor.insert_slice %s into %w[%to, 0] [1, 9] [1, 1] : tensor<9xf32> into tensor<7x9xf32>
    scf.yield %v : tensor<7x9xf32>
  }
  return %r : tensor<7x9xf32>
}
