// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops that threads are made for, in bodies that are one thread's.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-tensor-ops -verify-diagnostics

func.func @generate(%b: tensor<6xf32>) -> tensor<4xf32> {
  %g = tensor.generate {
  ^bb0(%i: index):
    %e = tensor.empty() : tensor<2xf32>
    %z = arith.constant 0.0 : f32
    // expected-error@+1 {{computes a tensor or memref in the body of tensor.generate, which is a thread's for one element: compute it in front of that op, or use scf.forall for it}}
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
    %c0 = arith.constant 0 : index
    %v = tensor.extract %f[%c0] : tensor<2xf32>
    tensor.yield %v : f32
  } : tensor<4xf32>
  return %g : tensor<4xf32>
}

// -----

func.func @elementwise(%a: tensor<4xf32>, %b: tensor<f32>) -> tensor<4xf32> {
  %r = linalg.map outs(%a : tensor<4xf32>) (%o: f32) {
    // expected-error@+1 {{in the body of linalg.map, which is a thread's}}
    %f = arith.addf %b, %b : tensor<f32>
    %v = tensor.extract %f[] : tensor<f32>
    linalg.yield %v : f32
  }
  return %r : tensor<4xf32>
}

// -----

func.func @memory(%a: memref<4xf32>, %b: memref<2xf32>) {
  linalg.map outs(%a : memref<4xf32>) (%o: f32) {
    // expected-error@+1 {{in the body of linalg.map, which is a thread's}}
    linalg.add ins(%b, %b : memref<2xf32>, memref<2xf32>) outs(%b : memref<2xf32>)
    linalg.yield %o : f32
  }
  return
}

// -----

// In the body of a loop they are a block's.
func.func @loop(%a: tensor<4xf32>, %b: tensor<1xf32>) -> tensor<4xf32> {
  %r = scf.forall (%i) in (4) shared_outs(%o = %a) -> tensor<4xf32> {
    %f = linalg.add ins(%b, %b : tensor<1xf32>, tensor<1xf32>) outs(%b : tensor<1xf32>) -> tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %f into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %r : tensor<4xf32>
}

// -----

func.func @reduce(%a: tensor<4xf32>, %n: index) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%a) -> tensor<4xf32> {
    // expected-error@+1 {{reduces tensors: use linalg.reduce, or an scf.for that carries the tensor}}
    scf.reduce(%a : tensor<4xf32>) {
    ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
      scf.reduce.return %x : tensor<4xf32>
    }
  }
  return %r : tensor<4xf32>
}
