// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linalg on tensors, run: a product, a bias and a tanh; a softmax; a sum of
// any length; results of sizes that are known at run time, one of them twice and
// one an argument. The GPU's schedule is run on the cpu device, too.
// RUN: gpu-runner --device=cpu -e layer %s --input=50x30xf32=0.5 --input=30x20xf32=0.1 --input=20xf32=0.25 --stats --offload=error 2>%t.stats | FileCheck %s --check-prefix=LAYER
// RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
// RUN: gpu-runner --device=cpu --check -e layer %s --input=50x30xf32=0.5 --input=30x20xf32=0.1 --input=20xf32=0.25 | FileCheck %s --check-prefix=LAYER
// RUN: gpu-runner --device=cpu --check -e softmax %s --input=3x4xf32=0,0,0,0,1,1,1,1,0,0,100,0 | FileCheck %s --check-prefix=SOFTMAX
// RUN: gpu-runner --device=cpu --check -e sum %s --input=1000xf32=0.5 | FileCheck %s --check-prefix=SUM
// RUN: gpu-runner --device=cpu --check -e sum %s --input=0xf32 | FileCheck %s --check-prefix=EMPTY
// RUN: gpu-runner --device=cpu --repeat=3 --leak-check=error -e twice %s --input=3xf32=1,2,3 | FileCheck %s --check-prefix=TWICE
// RUN: gpu-runner --device=cpu --check -e rounds %s --input=4xf32=1,2,3,4 --input=3 | FileCheck %s --check-prefix=ROUNDS
// RUN: gpu-opt %s --gpu-async-offload=device=gpu -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --check -e layer %t.gpu.mlir --input=50x30xf32=0.5 --input=30x20xf32=0.1 --input=20xf32=0.25 | FileCheck %s --check-prefix=LAYER
// RUN: gpu-runner --device=cpu --check -e softmax %t.gpu.mlir --input=3x4xf32=0,0,0,0,1,1,1,1,0,0,100,0 | FileCheck %s --check-prefix=SOFTMAX
// RUN: gpu-runner --device=cpu --check -e sum %t.gpu.mlir --input=1000xf32=0.5 | FileCheck %s --check-prefix=SUM
// RUN: gpu-runner --device=cpu --check -e rounds %t.gpu.mlir --input=4xf32=1,2,3,4 --input=3 | FileCheck %s --check-prefix=ROUNDS
// RUN: gpu-runner --device=cpu --check -e places %s --input=2xf32=1,2 --input=2xf32=3 --input=3 | FileCheck %s --check-prefix=PLACES
// RUN: gpu-runner --device=cpu --check -e places %t.gpu.mlir --input=2xf32=1,2 --input=2xf32=3 --input=3 | FileCheck %s --check-prefix=PLACES
// RUN: gpu-runner --device=cpu -e nothing %s --offload=error --input=3x0xf32 --input=1x0xf32 | FileCheck %s --check-prefix=NOTHING
// RUN: gpu-runner --device=cpu -e dot %t.gpu.mlir --input=3xf32=1,2,3 --input=3xf32=4,5,6 | FileCheck %s --check-prefix=DOT
// RUN: not gpu-runner --device=cpu -e sum %s --input=2x2xf32 2>&1 | FileCheck %s --check-prefix=SHAPE

// LAYER: 50x20xf32=[0.9413{{[0-9]*}} 0.9413
// STATS: "launches": 1,
// SOFTMAX: 3x4xf32=[0.25 0.25 0.25 0.25][0.25 0.25 0.25 0.25][{{[0-9e.-]+}} {{[0-9e.-]+}} 1 {{[0-9e.-]+}}]
// SUM: f32=500
// EMPTY: f32=0
// TWICE: result[0]: 3xf32=2 4 6
// TWICE-NEXT: result[1]: 3xf32=2 4 6
// TWICE-NEXT: result[2]: 3xf32=1 2 3
// ROUNDS: 4xf32=8 16 24 32
// SHAPE: '2x2xf32' has the shape 2x2xf32, but the argument is a tensor<?xf32>

#matrix = affine_map<(i, j) -> (i, j)>
#columns = affine_map<(i, j) -> (j)>
func.func @layer(%x: tensor<50x30xf32>, %w: tensor<30x20xf32>, %b: tensor<20xf32>) -> tensor<50x20xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<50x20xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<50x20xf32>) -> tensor<50x20xf32>
  %p = linalg.matmul ins(%x, %w : tensor<50x30xf32>, tensor<30x20xf32>) outs(%f : tensor<50x20xf32>) -> tensor<50x20xf32>
  %r = linalg.generic {indexing_maps = [#matrix, #columns, #matrix], iterator_types = ["parallel", "parallel"]} ins(%p, %b : tensor<50x20xf32>, tensor<20xf32>) outs(%e : tensor<50x20xf32>) {
  ^bb0(%v: f32, %bias: f32, %o: f32):
    %s = arith.addf %v, %bias : f32
    %t = math.tanh %s : f32
    linalg.yield %t : f32
  } -> tensor<50x20xf32>
  return %r : tensor<50x20xf32>
}

func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %e = tensor.empty() : tensor<3x4xf32>
  %s = linalg.softmax dimension(1) ins(%x : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %s : tensor<3x4xf32>
}

func.func @sum(%x: tensor<?xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce ins(%x : tensor<?xf32>) outs(%f : tensor<f32>) dimensions = [0]
    (%v: f32, %sum: f32) {
      %t = arith.addf %v, %sum : f32
      linalg.yield %t : f32
    }
  return %s : tensor<f32>
}

func.func @twice(%x: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %d = call @double(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %d, %d, %x : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
func.func private @double(%x: tensor<?xf32>) -> tensor<?xf32> {
  %d = arith.addf %x, %x : tensor<?xf32>
  return %d : tensor<?xf32>
}

func.func @rounds(%x: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<4xf32> {
    %d = arith.addf %t, %t : tensor<4xf32>
    scf.yield %d : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// NOTHING: result[0]: 4x0xf32=[][][][]
func.func @nothing(%a: tensor<?x0xf32>, %b: tensor<1x?xf32>) -> tensor<?x0xf32> {
  %r = tensor.concat dim(0) %b, %a : (tensor<1x?xf32>, tensor<?x0xf32>) -> tensor<?x0xf32>
  return %r : tensor<?x0xf32>
}

// DOT: result[0]: f32=32
func.func @dot(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r = linalg.dot ins(%a, %b : tensor<3xf32>, tensor<3xf32>) outs(%f : tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// What is computed in the place of one goes to the other's: each round's b is the
// next one's a, and a + b its b.
// PLACES: result[0]: 2xf32=7 8
// PLACES: result[1]: 2xf32=11 13
func.func @places(%x: tensor<2xf32>, %y: tensor<2xf32>, %n: index) -> (tensor<2xf32>, tensor<2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<2xf32>, tensor<2xf32>) {
    %s = linalg.add ins(%a, %b : tensor<2xf32>, tensor<2xf32>) outs(%a : tensor<2xf32>) -> tensor<2xf32>
    scf.yield %b, %s : tensor<2xf32>, tensor<2xf32>
  }
  return %r#0, %r#1 : tensor<2xf32>, tensor<2xf32>
}
