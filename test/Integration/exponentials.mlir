// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exponentials of what a float does not reach: masks, infinities, NaN, and results below the
// smallest normal number. Vectors have them as the C library has, in one block and with a rest.
// RUN: gpu-runner --device=cpu %s -e f --input=17xf32=-inf,-1e9,-200,-103.9,-103,-88,-1,-1e-40,0,1e-8,1,88.7,88.8,200,1e9,inf,nan -O0 | FileCheck %s
// RUN: gpu-runner --device=cpu %s -e f --input=17xf32=-inf,-1e9,-200,-103.9,-103,-88,-1,-1e-40,0,1e-8,1,88.7,88.8,200,1e9,inf,nan | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s -e f --input=17xf32=-inf,-1e9,-200,-103.9,-103,-88,-1,-1e-40,0,1e-8,1,88.7,88.8,200,1e9,inf,nan | FileCheck %s %}
// CHECK: 17xf32=0 0 0 1.4013e-45 1.4013e-45 6.0546{{[0-9]*}}e-39 0.367879{{[0-9]*}} 1 1 1 2.71828{{[0-9]*}} 3.3259{{[0-9]*}}e+38 inf inf inf inf {{-?}}nan
// CHECK: 17xf32=0 0 0 1.4013e-45 1.4013e-45 6.0546{{[0-9]*}}e-39 0.367879{{[0-9]*}} 1 1 1 2.71828{{[0-9]*}} 3.3259{{[0-9]*}}e+38 inf inf inf inf {{-?}}nan
func.func @f(%x: tensor<17xf32>) -> (tensor<17xf32>, tensor<17xf32>) {
  %e = math.exp %x : tensor<17xf32>
  %two = arith.constant dense<1.44269502> : tensor<17xf32>
  %y = arith.mulf %x, %two : tensor<17xf32>
  %p = math.exp2 %y : tensor<17xf32>
  return %e, %p : tensor<17xf32>, tensor<17xf32>
}
