// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --gpu-async-offload -verify-diagnostics

func.func private @rec(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %s = arith.addf %b, %b : tensor<?xf32>
    scf.yield %b, %s : tensor<?xf32>, tensor<?xf32>
  }
  // expected-error @below {{takes tensors, in a function in which bufferization finds no order of reads and writes}}
  func.call @rec(%r#1, %r#0, %c1) : (tensor<?xf32>, tensor<?xf32>, index) -> ()
  return
}
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) {
  func.call @rec(%x, %y, %n) : (tensor<?xf32>, tensor<?xf32>, index) -> ()
  return
}
