// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop without rounds does nothing of what its rounds would do: a slice and an element far behind
// the end, sizes that do not agree, a pad of a negative width.
// DEFINE: %{run} = gpu-runner --device=cpu %s
// RUN: %{run} -e slice --input=16xf32=1 --input=1000000000 --input=0 --input=f32=5 | FileCheck %s
// RUN: %{run} -e slice --check --input=16xf32=1 --input=8 --input=0 --input=f32=5 | FileCheck %s
// RUN: %{run} -e dot --input=1000000xf32=1 --input=1xf32=1 --input=0 --input=f32=5 | FileCheck %s
// RUN: %{run} -e element --input=16xf32=1 --input=10000000000 --input=0 --input=f32=5 | FileCheck %s
// RUN: %{run} -e pad --input=4xf32=1 --input=-100 --input=0 --input=f32=5 | FileCheck %s
// RUN: %{run} -e slice --input=16xf32=1 --input=12 --input=1 --input=f32=1 | FileCheck %s
// CHECK: f32=5
func.func @slice(%x: tensor<?xf32>, %o: index, %n: index, %acc: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %acc) -> tensor<f32> {
    %s = tensor.extract_slice %x[%o] [4] [1] : tensor<?xf32> to tensor<4xf32>
    %w = linalg.reduce { arith.addf } ins(%s : tensor<4xf32>) outs(%z : tensor<f32>) dimensions = [0]
    %q = arith.addf %w, %y : tensor<f32>
    scf.yield %q : tensor<f32>
  }
  return %r : tensor<f32>
}
func.func @dot(%x: tensor<?xf32>, %v: tensor<?xf32>, %n: index, %acc: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %acc) -> tensor<f32> {
    %w = linalg.dot ins(%x, %v : tensor<?xf32>, tensor<?xf32>) outs(%z : tensor<f32>) -> tensor<f32>
    %q = arith.addf %w, %y : tensor<f32>
    scf.yield %q : tensor<f32>
  }
  return %r : tensor<f32>
}
func.func @element(%x: tensor<?xf32>, %o: index, %n: index, %acc: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %d = arith.constant dense<0.0> : tensor<4xf32>
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %acc) -> tensor<f32> {
    %w = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%d : tensor<4xf32>) outs(%z : tensor<f32>) {
    ^bb0(%in: f32, %out: f32):
      %p = linalg.index 0 : index
      %l = arith.addi %p, %o : index
      %v = tensor.extract %x[%l] : tensor<?xf32>
      %s = arith.addf %v, %out : f32
      linalg.yield %s : f32
    } -> tensor<f32>
    %q = arith.addf %w, %y : tensor<f32>
    scf.yield %q : tensor<f32>
  }
  return %r : tensor<f32>
}
func.func @pad(%x: tensor<?xf32>, %k: index, %n: index, %acc: tensor<f32>) -> tensor<f32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %z = arith.constant dense<0.0> : tensor<f32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %acc) -> tensor<f32> {
    %s = tensor.pad %x low[%k] high[0] {
    ^bb0(%j: index):
      tensor.yield %one : f32
    } : tensor<?xf32> to tensor<?xf32>
    %w = linalg.reduce { arith.addf } ins(%s : tensor<?xf32>) outs(%z : tensor<f32>) dimensions = [0]
    %q = arith.addf %w, %y : tensor<f32>
    scf.yield %q : tensor<f32>
  }
  return %r : tensor<f32>
}
