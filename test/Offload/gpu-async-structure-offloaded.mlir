// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file --gpu-async-structure-offloaded -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @branches
// CHECK: scf.if
// CHECK-NOT: {{ cf\.}}
func.func @branches(%x: tensor<4xf32>, %c: i1) -> tensor<4xf32> {
  cf.cond_br %c, ^yes, ^no(%x : tensor<4xf32>)
^yes:
  %y = math.exp %x : tensor<4xf32>
  cf.br ^no(%y : tensor<4xf32>)
^no(%r: tensor<4xf32>):
  %z = call @called(%c) : (i1) -> i32
  return %r : tensor<4xf32>
}
// A function that is called may go in place of the call.
// CHECK-LABEL: func.func @called
// CHECK: scf.if
// CHECK-NOT: {{ cf\.}}
func.func @called(%c: i1) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.cond_br %c, ^end(%c0 : i32), ^end(%c1 : i32)
^end(%r: i32):
  return %r : i32
}
// CHECK-LABEL: func.func @elsewhere
// CHECK: cf.cond_br
func.func @elsewhere(%c: i1) -> i32 {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  cf.cond_br %c, ^end(%c0 : i32), ^end(%c1 : i32)
^end(%r: i32):
  return %r : i32
}

// -----

// One that has to keep its branches stays as it is, if it has no work for kernels.
// CHECK-LABEL: func.func @calls
func.func @calls(%x: tensor<4xf32>, %n: i128) -> tensor<4xf32> {
  call @keeps(%n) : (i128) -> ()
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
// CHECK-LABEL: func.func @keeps
// CHECK: cf.switch
func.func @keeps(%n: i128) {
  cf.switch %n : i128, [default: ^end, 1: ^other]
^other:
  cf.br ^end
^end:
  return
}

// -----

// expected-note @below {{in this 'func.func'}}
func.func @has_work(%x: tensor<4xf32>, %n: i128) -> tensor<4xf32> {
  // expected-error @below {{'cf.switch' op cannot be made structured control flow, which a function with device work needs: its flag has more than 64 bits}}
  cf.switch %n : i128, [default: ^end, 1: ^other]
^other:
  cf.br ^end
^end:
  %y = math.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
