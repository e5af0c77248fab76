// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that carry tensors of open sizes, which rounds change: each round has
// memory for what it begins with.
// DEFINE: %{run} = gpu-runner --device=cpu --leak-check=error %s
// RUN: %{run} -e shrinks --input=6xi32=0,1,2,3,4,5 --input=2 --expect=result0=4xi32=8,12,16,20
// RUN: %{run} -e shrinks --input=6xi32=0,1,2,3,4,5 --input=0 --expect=result0=6xi32=0,1,2,3,4,5
// RUN: %{run} -e grows --input=3xi32=1,2,3 --input=1 --expect=result0=6xi32=1,2,3,2,4,6
// RUN: %{run} -e grows --input=3xi32=1,2,3 --input=14 | FileCheck %s --check-prefix=MANY
// RUN: %{run} -e exchanges --input=6xi32=0,1,2,3,4,5 --input=3xi32=10,11,12 --input=1 --expect=result0=3xi32=10,11,12 --expect=result1=6xi32=0,1,2,3,4,5
// RUN: %{run} -e exchanges --input=6xi32=0,1,2,3,4,5 --input=3xi32=10,11,12 --input=2 --expect=result0=6xi32=0,1,2,3,4,5 --expect=result1=3xi32=10,11,12
// RUN: %{run} -e until --input=5xi32=0,1,2,3,4 --input=2xi32=0,1 --input=1 --expect=result0=2xi32=1,3
// RUN: %{run} -e inner --input=4xi32=1,2,3,4 --input=2 --expect=result0=1xi32=9
// RUN: %{run} -e casts --input=7xi32=0,1,2,3,4,5,6 --input=1 --input=3 --expect=result0=3xi32=0,1,2
// RUN: %{run} -e casts --input=7xi32=0,1,2,3,4,5,6 --input=0 --input=3 --expect=result0=7xi32=0,1,2,3,4,5,6
// RUN: gpu-opt %s --gpu-async-return-by-destination | FileCheck %s --check-prefix=SAME

// MANY: 49152xi32=
func.func @shrinks(%y: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %y) -> tensor<?xi32> {
    %d = tensor.dim %t, %c0 : tensor<?xi32>
    %k = arith.subi %d, %c1 : index
    %u = tensor.extract_slice %t[1] [%k] [1] : tensor<?xi32> to tensor<?xi32>
    %w = arith.addi %u, %u : tensor<?xi32>
    scf.yield %w : tensor<?xi32>
  }
  return %r : tensor<?xi32>
}

func.func @grows(%y: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %y) -> tensor<?xi32> {
    %u = arith.addi %t, %t : tensor<?xi32>
    %w = tensor.concat dim(0) %t, %u : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
    scf.yield %w : tensor<?xi32>
  }
  return %r : tensor<?xi32>
}

func.func @exchanges(%x: tensor<?xi32>, %y: tensor<?xi32>, %n: index) -> (tensor<?xi32>, tensor<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x, %t = %y) -> (tensor<?xi32>, tensor<?xi32>) {
    scf.yield %t, %s : tensor<?xi32>, tensor<?xi32>
  }
  return %r#0, %r#1 : tensor<?xi32>, tensor<?xi32>
}

func.func @until(%x: tensor<?xi32>, %y: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%i = %c0, %t = %x) : (index, tensor<?xi32>) -> (index, tensor<?xi32>) {
    %c = arith.cmpi slt, %i, %n : index
    scf.condition(%c) %i, %t : index, tensor<?xi32>
  } do {
  ^bb0(%i: index, %t: tensor<?xi32>):
    %k = arith.addi %i, %c1 : index
    %u = tensor.extract_slice %t[1] [2] [1] : tensor<?xi32> to tensor<2xi32>
    %v = tensor.cast %u : tensor<2xi32> to tensor<?xi32>
    %w = arith.addi %v, %y : tensor<?xi32>
    scf.yield %k, %w : index, tensor<?xi32>
  }
  return %r#1 : tensor<?xi32>
}

// A loop in a loop, of which the inner one changes the size: each round leaves
// out the first element, as often as there are rounds of the inner one.
func.func @inner(%y: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %y) -> tensor<?xi32> {
    %b = arith.addi %i, %c1 : index
    %s = scf.for %j = %c0 to %b step %c1 iter_args(%v = %t) -> tensor<?xi32> {
      %d = tensor.dim %v, %c0 : tensor<?xi32>
      %k = arith.subi %d, %c1 : index
      %u = tensor.extract_slice %v[1] [%k] [1] : tensor<?xi32> to tensor<?xi32>
      %one = arith.constant 1 : i32
      %ones = tensor.splat %one[%k] : tensor<?xi32>
      %w = arith.addi %u, %ones : tensor<?xi32>
      scf.yield %w : tensor<?xi32>
    }
    %two = arith.constant 1 : i32
    %e = tensor.dim %s, %c0 : tensor<?xi32>
    %all = tensor.splat %two[%e] : tensor<?xi32>
    %x = arith.addi %s, %all : tensor<?xi32>
    scf.yield %x : tensor<?xi32>
  }
  return %r : tensor<?xi32>
}

// Where each round keeps the size, there is one memory.
// SAME-LABEL: func.func @keeps
// SAME: bufferization.materialize_in_destination
// SAME: scf.yield
func.func @keeps(%y: tensor<?xi32>, %n: index) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %y) -> tensor<?xi32> {
    %w = arith.addi %t, %t : tensor<?xi32>
    scf.yield %w : tensor<?xi32>
  }
  return %r : tensor<?xi32>
}

// What the first round begins with has a constant size, the others have not.
func.func @casts(%x: tensor<7xi32>, %n: index, %k: index) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = tensor.cast %x : tensor<7xi32> to tensor<?xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %c) -> tensor<?xi32> {
    %u = tensor.extract_slice %t[0] [%k] [1] : tensor<?xi32> to tensor<?xi32>
    scf.yield %u : tensor<?xi32>
  }
  return %r : tensor<?xi32>
}
