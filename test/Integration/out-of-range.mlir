// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A float out of range becomes some integer: bounds hold behind it, and what branches on
// it ends. In LLVM it would be poison, of which anything follows.
// DEFINE: %{run} = gpu-runner --device=cpu %s
// RUN: %{run} -e host --input=1e30 | FileCheck %s
// RUN: %{run} -e host --input=nan | FileCheck %s
// RUN: %{run} -e host --input=1e30 -O0 | FileCheck %s
// CHECK: result[0]: i32={{[0-9]$}}
// CHECK: result[1]: i32={{[0-9]$}}
// RUN: %{run} -e kernel --input=4xf32=1e30,nan,-inf,3 | FileCheck %s --check-prefix=KERNEL
// KERNEL: result[0]: 4xi32={{[0-9] [0-9] [0-9] 3$}}
// RUN: %{run} -e power --input=4xf32=nan | FileCheck %s --check-prefix=POWER
// POWER: result[0]: i8=
// POWER: result[1]: 4xi8=
func.func @host(%x: f32) -> (i32, i32) {
  %zero = arith.constant 0 : i32
  %nine = arith.constant 9 : i32
  %huge = arith.constant 1.0e30 : f32
  %i = arith.fptosi %x : f32 to i32
  %least = arith.maxsi %i, %zero : i32
  %r = arith.minsi %least, %nine : i32
  %j = arith.fptosi %huge : f32 to i32
  %most = arith.minsi %j, %nine : i32
  %s = arith.maxsi %most, %zero : i32
  return %r, %s : i32, i32
}
func.func @kernel(%x: tensor<4xf32>) -> tensor<4xi32> {
  %zero = arith.constant dense<0> : tensor<4xi32>
  %nine = arith.constant dense<9> : tensor<4xi32>
  %i = arith.fptosi %x : tensor<4xf32> to tensor<4xi32>
  %least = arith.maxsi %i, %zero : tensor<4xi32>
  %r = arith.minsi %least, %nine : tensor<4xi32>
  return %r : tensor<4xi32>
}
func.func @power(%x: tensor<4xf32>) -> (i8, tensor<4xi8>) {
  %huge = arith.constant 1.0e30 : f32
  %i = arith.fptoui %huge : f32 to i8
  %r = math.ipowi %i, %i : i8
  %j = arith.fptoui %x : tensor<4xf32> to tensor<4xi8>
  %s = math.ipowi %j, %j : tensor<4xi8>
  return %r, %s : i8, tensor<4xi8>
}
