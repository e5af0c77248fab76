// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No elements, one element, and ops that upstream lowers in some of their forms only.
// Of arrays that a lowered program gives gpu-runner does not know that they are its own.
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --offload=error -e none %s --input=0x3xf32 --input=3xf32=5 | FileCheck %s --check-prefix=NONE
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e none %t.gpu.mlir --input=0x3xf32 --input=3xf32=5 | FileCheck %s --check-prefix=NONE
// RUN: gpu-runner --device=cpu --offload=error -e pad %s '--input=2xcomplex<f32>=1+2j,3' | FileCheck %s --check-prefix=PAD
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e pad %t.gpu.mlir '--input=2xcomplex<f32>=1+2j,3' | FileCheck %s --check-prefix=PAD
// RUN: gpu-runner --device=cpu --offload=error -e slice %s --input=1x1x4xf32=1,2,3,4 | FileCheck %s --check-prefix=SLICE
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e slice %t.gpu.mlir --input=1x1x4xf32=1,2,3,4 | FileCheck %s --check-prefix=SLICE
// RUN: gpu-runner --device=cpu --offload=error -e generate %s | FileCheck %s --check-prefix=GENERATE
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e generate %t.gpu.mlir | FileCheck %s --check-prefix=GENERATE
// RUN: gpu-runner --device=cpu --offload=error -e sum %s --input=2x3x4xf32=1 | FileCheck %s --check-prefix=SUM
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e sum %t.gpu.mlir --input=2x3x4xf32=1 | FileCheck %s --check-prefix=SUM
// RUN: gpu-runner --device=cpu --offload=error -e chain %s --input=4xf32=1,5,2,3 | FileCheck %s --check-prefix=CHAIN
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e chain %t.gpu.mlir --input=4xf32=1,5,2,3 | FileCheck %s --check-prefix=CHAIN
// RUN: gpu-runner --device=cpu --offload=error -e views %s --input=1x3x4xf32=1,2,3,4,5,6,7,8,9,10,11,12 --input=2 --input=1 | FileCheck %s --check-prefix=VIEWS
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e views %t.gpu.mlir --input=1x3x4xf32=1,2,3,4,5,6,7,8,9,10,11,12 --input=2 --input=1 | FileCheck %s --check-prefix=VIEWS
// RUN: gpu-runner --device=cpu --offload=error -e join %s --input=0x2xf32 --input=2x2xf32=1,2,3,4 | FileCheck %s --check-prefix=JOIN
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e join %t.gpu.mlir --input=0x2xf32 --input=2x2xf32=1,2,3,4 | FileCheck %s --check-prefix=JOIN
// RUN: gpu-runner --device=cpu --offload=error -e conv %s --input=2x5x2xi64=1 --input=3x2x3xi64=1 | FileCheck %s --check-prefix=CONV
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e conv %t.gpu.mlir --input=2x5x2xi64=1 --input=3x2x3xi64=1 | FileCheck %s --check-prefix=CONV
// RUN: gpu-runner --device=cpu --offload=error -e pack %s --input=3x2xf32=1,2,3,4,5,6 | FileCheck %s --check-prefix=PACKED
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e pack %t.gpu.mlir --input=3x2xf32=1,2,3,4,5,6 | FileCheck %s --check-prefix=PACKED
// RUN: gpu-runner --device=cpu --offload=error -e unpack %s --input=2x1x2x2xf32=1,2,3,4,5,6,7,8 | FileCheck %s --check-prefix=UNPACKED
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e unpack %t.gpu.mlir --input=2x1x2x2xf32=1,2,3,4,5,6,7,8 | FileCheck %s --check-prefix=UNPACKED
// RUN: gpu-runner --device=cpu --offload=error -e gather %s --input=3x2xf32=1,2,3,4,5,6 --input=2x1xi32=2,0 --input=1x2xi32=1,1 | FileCheck %s --check-prefix=GATHER
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e gather %t.gpu.mlir --input=3x2xf32=1,2,3,4,5,6 --input=2x1xi32=2,0 --input=1x2xi32=1,1 | FileCheck %s --check-prefix=GATHER
// RUN: gpu-runner --device=cpu --offload=error -e bits %s --input=2xf32=1,-2 | FileCheck %s --check-prefix=BITS
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e bits %t.gpu.mlir --input=2xf32=1,-2 | FileCheck %s --check-prefix=BITS
// RUN: gpu-runner --device=cpu --offload=error -e reads %s --input=2xf32=1,2 --input=2xf32=1 | FileCheck %s --check-prefix=READS
// RUN: env ASAN_OPTIONS=detect_leaks=0 gpu-runner --device=cpu -e reads %t.gpu.mlir --input=2xf32=1,2 --input=2xf32=1 | FileCheck %s --check-prefix=READS

// A sum of nothing is what it began with.
// NONE: 3xf32=5 5 5
func.func @none(%a: tensor<0x3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
  %s = linalg.reduce { arith.addf } ins(%a : tensor<0x3xf32>) outs(%b : tensor<3xf32>) dimensions = [0]
  return %s : tensor<3xf32>
}

// PAD: 4xcomplex<f32>=0+1j 1+2j 3+0j 0+1j
func.func @pad(%a: tensor<2xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %p = tensor.pad %a low[1] high[1] {
  ^bb0(%i: index):
    %c = complex.constant [0.0 : f32, 1.0 : f32] : complex<f32>
    tensor.yield %c : complex<f32>
  } : tensor<2xcomplex<f32>> to tensor<4xcomplex<f32>>
  return %p : tensor<4xcomplex<f32>>
}

// The step to the next one of one.
// SLICE: 1x1xf32={{.*}}4
func.func @slice(%a: tensor<1x1x4xf32>) -> tensor<1x1xf32> {
  %s = tensor.extract_slice %a[0, 0, 3] [1, 1, 1] [2, 1, 1] : tensor<1x1x4xf32> to tensor<1x1xf32>
  return %s : tensor<1x1xf32>
}

// GENERATE: 2x2xi32=[3 3][4 4]
func.func @generate() -> tensor<2x2xi32> {
  %g = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c3 = arith.constant 3 : i32
    %k = arith.index_cast %i : index to i32
    %s = arith.addi %k, %c3 : i32
    tensor.yield %s : i32
  } : tensor<2x2xi32>
  return %g : tensor<2x2xi32>
}

// Several loops of a length that nobody knows.
// SUM: f32=24
func.func @sum(%a: tensor<?x?x?xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce { arith.addf } ins(%a : tensor<?x?x?xf32>) outs(%f : tensor<f32>) dimensions = [0, 1, 2]
  return %s : tensor<f32>
}

// A sum that begins with what another reduction found.
// CHAIN: f32=16
func.func @chain(%a: tensor<4xf32>) -> tensor<f32> {
  %least = arith.constant -100.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %m = linalg.reduce { arith.maximumf } ins(%a : tensor<4xf32>) outs(%f : tensor<f32>) dimensions = [0]
  %s = linalg.reduce { arith.addf } ins(%a : tensor<4xf32>) outs(%m : tensor<f32>) dimensions = [0]
  return %s : tensor<f32>
}

// Which dimensions are left out of a view whose sizes nobody knows.
// VIEWS: result[0]: 2xf32=2 4
// VIEWS: result[1]: 1x3x4xf32={{.*}}1 2 3 4{{.*}}5 2 7 4{{.*}}9 10 11 12
func.func @views(%a: tensor<1x?x?xf32>, %n: index, %i: index) -> (tensor<?xf32>, tensor<1x?x?xf32>) {
  %r = tensor.extract_slice %a[0, 0, %i] [1, 1, %n] [1, 1, 2] : tensor<1x?x?xf32> to tensor<?xf32>
  %w = tensor.insert_slice %r into %a[0, 1, %i] [1, 1, %n] [1, 1, 2] : tensor<?xf32> into tensor<1x?x?xf32>
  return %r, %w : tensor<?xf32>, tensor<1x?x?xf32>
}

// JOIN: result[0]: 2x2xf32=[1 2][3 4]
// JOIN: result[1]: 2x2xf32=[9 9][9 9]
func.func @join(%a: tensor<0x2xf32>, %b: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %c = tensor.concat dim(0) %a, %b, %a : (tensor<0x2xf32>, tensor<2x2xf32>, tensor<0x2xf32>) -> tensor<2x2xf32>
  %nine = arith.constant 9.0 : f32
  %p = tensor.pad %a low[2, 0] high[0, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %nine : f32
  } : tensor<0x2xf32> to tensor<2x2xf32>
  return %c, %p : tensor<2x2xf32>, tensor<2x2xf32>
}

// A place that is computed of some of a product's loops.
// CONV: 2x3x3xi64={{.*}}6 6 6{{.*}}6 6 6{{.*}}6 6 6
func.func @conv(%a: tensor<2x5x2xi64>, %b: tensor<3x2x3xi64>) -> tensor<2x3x3xi64> {
  %zero = arith.constant 0 : i64
  %e = tensor.empty() : tensor<2x3x3xi64>
  %f = linalg.fill ins(%zero : i64) outs(%e : tensor<2x3x3xi64>) -> tensor<2x3x3xi64>
  %c = linalg.conv_1d_nwc_wcf ins(%a, %b : tensor<2x5x2xi64>, tensor<3x2x3xi64>) outs(%f : tensor<2x3x3xi64>) -> tensor<2x3x3xi64>
  return %c : tensor<2x3x3xi64>
}

// PACKED: 2x1x2x2xf32={{.*}}1 2{{.*}}3 4{{.*}}5 6{{.*}}9 9
func.func @pack(%a: tensor<3x2xf32>) -> tensor<2x1x2x2xf32> {
  %nine = arith.constant 9.0 : f32
  %e = tensor.empty() : tensor<2x1x2x2xf32>
  %p = linalg.pack %a padding_value(%nine : f32) inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<3x2xf32> -> tensor<2x1x2x2xf32>
  return %p : tensor<2x1x2x2xf32>
}

// UNPACKED: 3x2xf32=[1 2][3 4][5 6]
func.func @unpack(%a: tensor<2x1x2x2xf32>) -> tensor<3x2xf32> {
  %e = tensor.empty() : tensor<3x2xf32>
  %u = linalg.unpack %a inner_dims_pos = [0, 1] inner_tiles = [2, 2] into %e : tensor<2x1x2x2xf32> -> tensor<3x2xf32>
  return %u : tensor<3x2xf32>
}

// Rows with their dimension left out or kept, and an element.
// GATHER: result[0]: 2x2xf32=[5 6][1 2]
// GATHER: result[1]: 2x1x2xf32={{.*}}5 6{{.*}}1 2
// GATHER: result[2]: 1xf32=4
func.func @gather(%a: tensor<3x2xf32>, %i: tensor<?x1xi32>, %j: tensor<1x2xi32>) -> (tensor<?x2xf32>, tensor<?x1x2xf32>, tensor<1xf32>) {
  %r = tensor.gather %a[%i] gather_dims([0]) : (tensor<3x2xf32>, tensor<?x1xi32>) -> tensor<?x2xf32>
  %k = tensor.gather %a[%i] gather_dims([0]) : (tensor<3x2xf32>, tensor<?x1xi32>) -> tensor<?x1x2xf32>
  %s = tensor.gather %a[%j] gather_dims([0, 1]) : (tensor<3x2xf32>, tensor<1x2xi32>) -> tensor<1xf32>
  return %r, %k, %s : tensor<?x2xf32>, tensor<?x1x2xf32>, tensor<1xf32>
}

// BITS: 2xi32=1065353216 -1073741824
func.func @bits(%a: tensor<2xf32>) -> tensor<2xi32> {
  %b = tensor.bitcast %a : tensor<2xf32> to tensor<2xi32>
  return %b : tensor<2xi32>
}

// What is added to an output is so once, however often the sum is read.
// READS: 2x3xf32=[2 2 2][3 3 3]
func.func @reads(%a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2x3xf32> {
  %s = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<2xf32>) outs(%b : tensor<2xf32>) {
  ^bb0(%x: f32, %y: f32):
    %sum = arith.addf %x, %y : f32
    linalg.yield %sum : f32
  } -> tensor<2xf32>
  %e = tensor.empty() : tensor<2x3xf32>
  %r = linalg.broadcast ins(%s : tensor<2xf32>) outs(%e : tensor<2x3xf32>) dimensions = [1]
  return %r : tensor<2x3xf32>
}
