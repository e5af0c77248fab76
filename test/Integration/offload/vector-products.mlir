// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of a vector and a matrix come to what products of two equal rows come to: in tiles
// that the sizes do not fill, with rows whole pages apart, and with sizes that are open.
// DEFINE: %{e} = across
// DEFINE: %{run} = gpu-runner --device=cpu -e rows_%{e} %s --input=random:1 --input=random:2 --output=result0=@%t.npy && gpu-runner --device=cpu -e %{e} %s --input=random:1 --input=random:2 --expect=@%t.npy --tolerance=2e-6 && gpu-opt %s -gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu -O0 -e %{e} - --input=random:1 --input=random:2 --expect=@%t.npy --tolerance=2e-6
// RUN: %{run}
// REDEFINE: %{e} = pages
// RUN: %{run}
// REDEFINE: %{e} = along
// RUN: %{run}
// REDEFINE: %{e} = batch
// RUN: %{run}
// DEFINE: %{cpu} = gpu-runner --device=cpu %s
// DEFINE: %{gpu} = gpu-opt %s -gpu-async-offload="device=gpu offload=error" | gpu-runner --device=cpu -O0 -
// RUN: %{cpu} -e open --input=70xi32=3 --input=70x2100xi32=5 --expect=2100xi32=1050
// RUN: %{gpu} -e open --input=70xi32=3 --input=70x2100xi32=5 --expect=2100xi32=1050
// RUN: %{cpu} -e open --input=0xi32 --input=0x5xi32 --expect=5xi32=0
// RUN: %{gpu} -e open --input=0xi32 --input=0x5xi32 --expect=5xi32=0
// RUN: %{cpu} -e scalar_products --input=30x20x3xf32=2 --input=30x20x3xf32=4 --expect=30x20xf32=24
// RUN: %{gpu} -e scalar_products --input=30x20x3xf32=2 --input=30x20x3xf32=4 --expect=30x20xf32=24

func.func private @two_rows(%x: tensor<70xf32>) -> tensor<2x70xf32> {
  %e = tensor.empty() : tensor<2x70xf32>
  %r = linalg.broadcast ins(%x : tensor<70xf32>) outs(%e : tensor<2x70xf32>) dimensions = [0]
  return %r : tensor<2x70xf32>
}

func.func @across(%x: tensor<70xf32>, %e: tensor<70x2100xf32>) -> tensor<2100xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<2100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<2100xf32>) -> tensor<2100xf32>
  %r = linalg.vecmat ins(%x, %e : tensor<70xf32>, tensor<70x2100xf32>) outs(%f : tensor<2100xf32>) -> tensor<2100xf32>
  return %r : tensor<2100xf32>
}
func.func @rows_across(%x: tensor<70xf32>, %e: tensor<70x2100xf32>) -> tensor<2100xf32> {
  %zero = arith.constant 0.0 : f32
  %x2 = call @two_rows(%x) : (tensor<70xf32>) -> tensor<2x70xf32>
  %o = tensor.empty() : tensor<2x2100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<2x2100xf32>) -> tensor<2x2100xf32>
  %p = linalg.matmul ins(%x2, %e : tensor<2x70xf32>, tensor<70x2100xf32>) outs(%f : tensor<2x2100xf32>) -> tensor<2x2100xf32>
  %r = tensor.extract_slice %p[1, 0] [1, 2100] [1, 1] : tensor<2x2100xf32> to tensor<2100xf32>
  return %r : tensor<2100xf32>
}

// Rows of 4096 bytes, and a row of its own for the vector.
func.func @pages(%x: tensor<1x70xf32>, %e: tensor<70x1024xf32>) -> tensor<1x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<1x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  %r = linalg.matmul ins(%x, %e : tensor<1x70xf32>, tensor<70x1024xf32>) outs(%f : tensor<1x1024xf32>) -> tensor<1x1024xf32>
  return %r : tensor<1x1024xf32>
}
func.func @rows_pages(%x: tensor<1x70xf32>, %e: tensor<70x1024xf32>) -> tensor<1x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %row = tensor.collapse_shape %x [[0, 1]] : tensor<1x70xf32> into tensor<70xf32>
  %x2 = call @two_rows(%row) : (tensor<70xf32>) -> tensor<2x70xf32>
  %o = tensor.empty() : tensor<2x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<2x1024xf32>) -> tensor<2x1024xf32>
  %p = linalg.matmul ins(%x2, %e : tensor<2x70xf32>, tensor<70x1024xf32>) outs(%f : tensor<2x1024xf32>) -> tensor<2x1024xf32>
  %r = tensor.extract_slice %p[1, 0] [1, 1024] [1, 1] : tensor<2x1024xf32> to tensor<1x1024xf32>
  return %r : tensor<1x1024xf32>
}

// Eight lanes share a row of 70 steps; 75 rows leave a tile that is not full.
func.func @along(%x: tensor<70xf32>, %e: tensor<75x70xf32>) -> tensor<75xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<75xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<75xf32>) -> tensor<75xf32>
  %r = linalg.matvec ins(%e, %x : tensor<75x70xf32>, tensor<70xf32>) outs(%f : tensor<75xf32>) -> tensor<75xf32>
  return %r : tensor<75xf32>
}
func.func @rows_along(%x: tensor<70xf32>, %e: tensor<75x70xf32>) -> tensor<75xf32> {
  %zero = arith.constant 0.0 : f32
  %x2 = call @two_rows(%x) : (tensor<70xf32>) -> tensor<2x70xf32>
  %o = tensor.empty() : tensor<2x75xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<2x75xf32>) -> tensor<2x75xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x2, %e : tensor<2x70xf32>, tensor<75x70xf32>) outs(%f : tensor<2x75xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %m : f32
    linalg.yield %s : f32
  } -> tensor<2x75xf32>
  %r = tensor.extract_slice %p[1, 0] [1, 75] [1, 1] : tensor<2x75xf32> to tensor<75xf32>
  return %r : tensor<75xf32>
}

// Seven vectors by seven matrices, and a tanh.
func.func @batch(%x: tensor<7x33xf32>, %e: tensor<7x33x13xf32>) -> tensor<7x13xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<7x13xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<7x13xf32>) -> tensor<7x13xf32>
  %p = linalg.batch_vecmat ins(%x, %e : tensor<7x33xf32>, tensor<7x33x13xf32>) outs(%f : tensor<7x13xf32>) -> tensor<7x13xf32>
  %r = math.tanh %p : tensor<7x13xf32>
  return %r : tensor<7x13xf32>
}
func.func @rows_batch(%x: tensor<7x33xf32>, %e: tensor<7x33x13xf32>) -> tensor<7x13xf32> {
  %zero = arith.constant 0.0 : f32
  %b = tensor.empty() : tensor<7x2x33xf32>
  %x2 = linalg.broadcast ins(%x : tensor<7x33xf32>) outs(%b : tensor<7x2x33xf32>) dimensions = [1]
  %o = tensor.empty() : tensor<7x2x13xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<7x2x13xf32>) -> tensor<7x2x13xf32>
  %p = linalg.batch_matmul ins(%x2, %e : tensor<7x2x33xf32>, tensor<7x33x13xf32>) outs(%f : tensor<7x2x13xf32>) -> tensor<7x2x13xf32>
  %s = tensor.extract_slice %p[0, 1, 0] [7, 1, 13] [1, 1, 1] : tensor<7x2x13xf32> to tensor<7x13xf32>
  %r = math.tanh %s : tensor<7x13xf32>
  return %r : tensor<7x13xf32>
}

func.func @open(%x: tensor<?xi32>, %e: tensor<?x?xi32>) -> tensor<?xi32> {
  %zero = arith.constant 0 : i32
  %c1 = arith.constant 1 : index
  %n = tensor.dim %e, %c1 : tensor<?x?xi32>
  %o = tensor.empty(%n) : tensor<?xi32>
  %f = linalg.fill ins(%zero : i32) outs(%o : tensor<?xi32>) -> tensor<?xi32>
  %r = linalg.vecmat ins(%x, %e : tensor<?xi32>, tensor<?x?xi32>) outs(%f : tensor<?xi32>) -> tensor<?xi32>
  return %r : tensor<?xi32>
}

func.func @scalar_products(%x: tensor<30x20x3xf32>, %y: tensor<30x20x3xf32>) -> tensor<30x20xf32> {
  %zero = arith.constant 0.0 : f32
  %o = tensor.empty() : tensor<30x20xf32>
  %f = linalg.fill ins(%zero : f32) outs(%o : tensor<30x20xf32>) -> tensor<30x20xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<30x20x3xf32>, tensor<30x20x3xf32>) outs(%f : tensor<30x20xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %m : f32
    linalg.yield %s : f32
  } -> tensor<30x20xf32>
  return %r : tensor<30x20xf32>
}
