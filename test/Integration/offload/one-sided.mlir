// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a block keeps of its tile is bounded, however long one side of it is: a
// column of 2200000 elements, rows of 40000, and memory that a program
// allocates for each block. Cut for a GPU, too, where a kernel has 48 KiB.
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
// RUN: gpu-opt %s "--gpu-async-pipeline=offload=error targets=nvptx:sm_90 ptxas=none" -o /dev/null
// RUN: gpu-runner --device=cpu --offload=error -e column %s --input=2200000xf32=0.5 --input=3xf32=1,2,4 --expect=3xf32=1100000,2200000,4400000 --tolerance=1e-6
// RUN: gpu-runner --device=cpu -e column %t.gpu.mlir --input=2200000xf32=0.5 --input=3xf32=1,2,4 --expect=3xf32=1100000,2200000,4400000 --tolerance=1e-6
// RUN: gpu-runner --device=cpu --offload=error -e added %s --input=2200000xf32=0.5 --input=3xf32=1,2,4 --input=2200000x3xf32=0.5 --expect=3xf32=2200000,3300000,5500000 --tolerance=1e-6
// RUN: gpu-runner --device=cpu --offload=error -e place %s --input=2200000xf32=0.5 --input=3xf32=1,2,4 --expect=3xi32=0
// RUN: gpu-runner --device=cpu --offload=error -e rows %s --input=130x40000xf32=0.5 --input=40000xf32=0.25 --expect=130xf32=10000 --tolerance=1e-6
// RUN: gpu-runner --device=cpu -e rows %t.gpu.mlir --input=130x40000xf32=0.5 --input=40000xf32=0.25 --expect=130xf32=10000 --tolerance=1e-6
// RUN: gpu-runner --device=cpu -e complex %t.gpu.mlir '--input=256x256xcomplex<f64>=1+1j' '--expect=256x256xcomplex<f64>=512j'
// RUN: gpu-runner --device=cpu --offload=error -e blocks %s --input=3x2400000xf32=0.5 --expect=3x2400000xf32=1.5
// RUN: gpu-runner --device=cpu -e blocks %t.gpu.mlir --input=3x2400000xf32=0.5 --expect=3x2400000xf32=1.5

#row = affine_map<(i, j) -> (i)>
#column = affine_map<(i, j) -> (j)>
#both = affine_map<(i, j) -> (i, j)>

func.func @column(%v: tensor<2200000xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2200000x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2200000x3xf32>) -> tensor<2200000x3xf32>
  %outer = linalg.generic {indexing_maps = [#row, #column, #both], iterator_types = ["parallel", "parallel"]} ins(%v, %w : tensor<2200000xf32>, tensor<3xf32>) outs(%f : tensor<2200000x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<2200000x3xf32>
  %e1 = tensor.empty() : tensor<3xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3xf32>) -> tensor<3xf32>
  %r = linalg.reduce { arith.addf } ins(%outer : tensor<2200000x3xf32>) outs(%f1 : tensor<3xf32>) dimensions = [0]
  return %r : tensor<3xf32>
}

// The op adds to what it was given, and only the sum is read.
func.func @added(%v: tensor<2200000xf32>, %w: tensor<3xf32>, %start: tensor<2200000x3xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0.0 : f32
  %outer = linalg.generic {indexing_maps = [#row, #column, #both], iterator_types = ["parallel", "parallel"]} ins(%v, %w : tensor<2200000xf32>, tensor<3xf32>) outs(%start : tensor<2200000x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<2200000x3xf32>
  %e1 = tensor.empty() : tensor<3xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3xf32>) -> tensor<3xf32>
  %r = linalg.reduce { arith.addf } ins(%outer : tensor<2200000x3xf32>) outs(%f1 : tensor<3xf32>) dimensions = [0]
  return %r : tensor<3xf32>
}

// The place of the largest element of each column.
func.func @place(%v: tensor<2200000xf32>, %w: tensor<3xf32>) -> tensor<3xi32> {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0 : i32
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<2200000x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2200000x3xf32>) -> tensor<2200000x3xf32>
  %outer = linalg.generic {indexing_maps = [#row, #column, #both], iterator_types = ["parallel", "parallel"]} ins(%v, %w : tensor<2200000xf32>, tensor<3xf32>) outs(%f : tensor<2200000x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<2200000x3xf32>
  %e1 = tensor.empty() : tensor<3xf32>
  %f1 = linalg.fill ins(%least : f32) outs(%e1 : tensor<3xf32>) -> tensor<3xf32>
  %e2 = tensor.empty() : tensor<3xi32>
  %f2 = linalg.fill ins(%none : i32) outs(%e2 : tensor<3xi32>) -> tensor<3xi32>
  %r:2 = linalg.generic {indexing_maps = [#both, #column, #column], iterator_types = ["reduction", "parallel"]} ins(%outer : tensor<2200000x3xf32>) outs(%f1, %f2 : tensor<3xf32>, tensor<3xi32>) {
  ^bb0(%a: f32, %most: f32, %at: i32):
    %i = linalg.index 0 : index
    %here = arith.index_cast %i : index to i32
    %isMore = arith.cmpf ogt, %a, %most : f32
    %x = arith.select %isMore, %a, %most : f32
    %y = arith.select %isMore, %here, %at : i32
    linalg.yield %x, %y : f32, i32
  } -> (tensor<3xf32>, tensor<3xi32>)
  return %r#1 : tensor<3xi32>
}

// A computed matrix by a vector.
func.func @rows(%x: tensor<130x40000xf32>, %a: tensor<40000xf32>) -> tensor<130xf32> {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant dense<2.0> : tensor<130x40000xf32>
  %y = arith.mulf %x, %two : tensor<130x40000xf32>
  %e = tensor.empty() : tensor<130xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<130xf32>) -> tensor<130xf32>
  %r = linalg.matvec ins(%y, %a : tensor<130x40000xf32>, tensor<40000xf32>) outs(%f : tensor<130xf32>) -> tensor<130xf32>
  return %r : tensor<130xf32>
}

// The same, of so many rows that a GPU takes each product whole.
func.func @many_rows(%x: tensor<20000x1000xf32>, %a: tensor<1000xf32>) -> tensor<20000xf32> {
  %zero = arith.constant 0.0 : f32
  %y = math.exp %x : tensor<20000x1000xf32>
  %e = tensor.empty() : tensor<20000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<20000xf32>) -> tensor<20000xf32>
  %r = linalg.matvec ins(%y, %a : tensor<20000x1000xf32>, tensor<1000xf32>) outs(%f : tensor<20000xf32>) -> tensor<20000xf32>
  return %r : tensor<20000xf32>
}

// Products of 16 bytes an element.
func.func @complex(%x: tensor<256x256xcomplex<f64>>) -> tensor<256x256xcomplex<f64>> {
  %zero = complex.constant [0.0, 0.0] : complex<f64>
  %e = tensor.empty() : tensor<256x256xcomplex<f64>>
  %f = linalg.fill ins(%zero : complex<f64>) outs(%e : tensor<256x256xcomplex<f64>>) -> tensor<256x256xcomplex<f64>>
  %r = linalg.matmul ins(%x, %x : tensor<256x256xcomplex<f64>>, tensor<256x256xcomplex<f64>>) outs(%f : tensor<256x256xcomplex<f64>>) -> tensor<256x256xcomplex<f64>>
  return %r : tensor<256x256xcomplex<f64>>
}

// A block allocates 9.6 MB: more than it may keep, so that it has a part of the
// device's memory.
func.func @blocks(%x: tensor<3x2400000xf32>) -> tensor<3x2400000xf32> {
  %e = tensor.empty() : tensor<3x2400000xf32>
  %r = scf.forall (%i) in (3) shared_outs(%o = %e) -> (tensor<3x2400000xf32>) {
    %s = tensor.extract_slice %x[%i, 0] [1, 2400000] [1, 1] : tensor<3x2400000xf32> to tensor<2400000xf32>
    %e1 = tensor.empty() : tensor<2400000xf32>
    %twice = linalg.add ins(%s, %s : tensor<2400000xf32>, tensor<2400000xf32>) outs(%e1 : tensor<2400000xf32>) -> tensor<2400000xf32>
    %least = arith.constant 0.0 : f32
    %e2 = tensor.empty() : tensor<f32>
    %f2 = linalg.fill ins(%least : f32) outs(%e2 : tensor<f32>) -> tensor<f32>
    %most = linalg.reduce { arith.maximumf } ins(%twice : tensor<2400000xf32>) outs(%f2 : tensor<f32>) dimensions = [0]
    %e3 = tensor.empty() : tensor<2400000xf32>
    %thrice = linalg.add ins(%twice, %s : tensor<2400000xf32>, tensor<2400000xf32>) outs(%e3 : tensor<2400000xf32>) -> tensor<2400000xf32>
    %e4 = tensor.empty() : tensor<2400000xf32>
    %q = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%thrice, %most : tensor<2400000xf32>, tensor<f32>) outs(%e4 : tensor<2400000xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %p = arith.mulf %a, %b : f32
      linalg.yield %p : f32
    } -> tensor<2400000xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %q into %o[%i, 0] [1, 2400000] [1, 1] : tensor<2400000xf32> into tensor<3x2400000xf32>
    }
  }
  return %r : tensor<3x2400000xf32>
}
