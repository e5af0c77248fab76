// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Upstream's bufferization finds no order of reads and writes for these. Each op writes
// to a copy, then.
// DEFINE: %{run} = gpu-runner --device=cpu --check --leak-check=error
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload=device=gpu
// DEFINE: %{rounds} = --input=3xf32=1,2,3 --input=3xf32=4,5,6 --input=3
// RUN: %{run} %s -e slices %{rounds} | FileCheck %s --check-prefix=SLICES
// RUN: %{gpu} | %{run} - -e slices %{rounds} | FileCheck %s --check-prefix=SLICES
// SLICES: result[0]: 3xf32=16 20 24
// SLICES: result[1]: 3xf32=32 40 48
// RUN: %{run} %s -e map %{rounds} | FileCheck %s --check-prefix=MAP
// RUN: %{gpu} | %{run} - -e map %{rounds} | FileCheck %s --check-prefix=MAP
// MAP: result[0]: 3xf32=-1 -2 -3
// MAP: result[1]: 3xf32=-1 -2 -3
// RUN: %{run} %s -e kept --input=3xf32=1,2,3 --input=3 | FileCheck %s --check-prefix=KEPT
// RUN: %{gpu} | %{run} - -e kept --input=3xf32=1,2,3 --input=3 | FileCheck %s --check-prefix=KEPT
// KEPT: result[0]: 3xf32=1 2 3
// KEPT: result[1]: 3xf32=4 8 12
// KEPT: result[2]: 3xf32=8 16 24
func.func @slices(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %q = scf.forall (%i) in (%n) shared_outs(%o = %b) -> (tensor<?xf32>) {
      %v = tensor.extract_slice %o[%i] [1] [1] : tensor<?xf32> to tensor<1xf32>
      %w = arith.addf %v, %v : tensor<1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %w into %o[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>
      }
    }
    scf.yield %b, %q : tensor<?xf32>, tensor<?xf32>
  }
  return %r#0, %r#1 : tensor<?xf32>, tensor<?xf32>
}
func.func @map(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %y) -> (tensor<?xf32>, tensor<?xf32>) {
    %q = linalg.map ins(%x : tensor<?xf32>) outs(%b : tensor<?xf32>) (%e: f32, %o: f32) {
      %v = arith.negf %e : f32
      linalg.yield %v : f32
    }
    scf.yield %b, %q : tensor<?xf32>, tensor<?xf32>
  }
  return %r#0, %r#1 : tensor<?xf32>, tensor<?xf32>
}
// The argument, too, is read behind the loop.
func.func @kept(%x: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %x, %b = %x) -> (tensor<?xf32>, tensor<?xf32>) {
    %q = linalg.add ins(%b, %b : tensor<?xf32>, tensor<?xf32>) outs(%b : tensor<?xf32>) -> tensor<?xf32>
    scf.yield %b, %q : tensor<?xf32>, tensor<?xf32>
  }
  return %x, %r#0, %r#1 : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>
}
