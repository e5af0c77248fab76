// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A value that scf.condition hands on twice: in a kernel, in a loop that carries a
// tensor, and in one of numbers that the host computes.
// RUN: split-file %s %t
// RUN: gpu-runner --device=cpu %t/kernel.mlir -e f --input=4xi64=0,1,4,7 --expect=arg0=4xi64=4,5,4,7
// RUN: gpu-runner --device=cpu %t/tensor.mlir -e f --input=8xf32=0 --input=i64=4 --expect=8xf32=6 --expect=4
// RUN: gpu-runner --device=cpu %t/numbers.mlir -e f --input=8xi64=1 --input=i64=4 --expect=8xi64=5
// RUN: %if cuda %{ gpu-runner --device=cuda %t/kernel.mlir -e f --input=4xi64=0,1,4,7 --expect=arg0=4xi64=4,5,4,7 %}
// RUN: %if cuda %{ gpu-runner --device=cuda %t/tensor.mlir -e f --input=8xf32=0 --input=i64=4 --expect=8xf32=6 --expect=4 %}

//--- kernel.mlir
func.func @f(%h: memref<4xi64>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %d = gpu.alloc () : memref<4xi64>
  gpu.memcpy %d, %h : memref<4xi64>, memref<4xi64>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
    %n = arith.constant 4 : i64
    %two = arith.constant 2 : i64
    %big = arith.constant 100 : i64
    %z = memref.load %d[%tx] : memref<4xi64>
    %r:3 = scf.while (%s = %z) : (i64) -> (i64, i64, i64) {
      %go = arith.cmpi slt, %s, %n : i64
      %v = scf.if %go -> i64 {
        %t = arith.addi %s, %two : i64
        scf.yield %t : i64
      } else {
        scf.yield %big : i64
      }
      scf.condition(%go) %v, %v, %s : i64, i64, i64
    } do {
    ^bb0(%a: i64, %b: i64, %c: i64):
      scf.yield %b : i64
    }
    memref.store %r#2, %d[%tx] : memref<4xi64>
    gpu.terminator
  }
  gpu.memcpy %h, %d : memref<4xi64>, memref<4xi64>
  gpu.dealloc %d : memref<4xi64>
  return
}

//--- tensor.mlir
func.func @f(%x: tensor<8xf32>, %n: i64) -> (tensor<8xf32>, i64) {
  %z = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %three = arith.constant dense<3.0> : tensor<8xf32>
  %big = arith.constant 100 : i64
  %r:4 = scf.while (%s = %z, %t = %x) : (i64, tensor<8xf32>) -> (i64, i64, i64, tensor<8xf32>) {
    %go = arith.cmpi slt, %s, %n : i64
    %v = scf.if %go -> i64 {
      %q = arith.addi %s, %two : i64
      scf.yield %q : i64
    } else {
      scf.yield %big : i64
    }
    scf.condition(%go) %v, %v, %s, %t : i64, i64, i64, tensor<8xf32>
  } do {
  ^bb0(%a: i64, %b: i64, %c: i64, %t: tensor<8xf32>):
    %u = arith.addf %t, %three : tensor<8xf32>
    scf.yield %b, %u : i64, tensor<8xf32>
  }
  return %r#3, %r#2 : tensor<8xf32>, i64
}

//--- numbers.mlir
// The two values become one only in the course of canonicalisation.
func.func @f(%x: tensor<8xi64>, %n: i64) -> tensor<8xi64> {
  %z = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %big = arith.constant 100 : i64
  %r:3 = scf.while (%s = %z) : (i64) -> (i64, i64, i64) {
    %go = arith.cmpi slt, %s, %n : i64
    %v = scf.if %go -> i64 {
      %q = arith.addi %s, %two : i64
      scf.yield %q : i64
    } else {
      scf.yield %big : i64
    }
    %w = arith.addi %v, %z : i64
    scf.condition(%go) %v, %w, %s : i64, i64, i64
  } do {
  ^bb0(%a: i64, %b: i64, %c: i64):
    scf.yield %b : i64
  }
  %splat = tensor.splat %r#2 : tensor<8xi64>
  %y = arith.addi %x, %splat : tensor<8xi64>
  return %y : tensor<8xi64>
}
