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
// RUN: %{run} %s -e chosen --input=4xf32=1,2,3,4 --input=4xf32=2,5,7,11 --input=2 --input=2 | FileCheck %s --check-prefix=CHOSEN
// RUN: %{gpu} | %{run} - -e chosen --input=4xf32=1,2,3,4 --input=4xf32=2,5,7,11 --input=2 --input=2 | FileCheck %s --check-prefix=CHOSEN
// CHOSEN: result[0]: 4xf32=2 5 7 11
// CHOSEN: result[1]: 4xf32=2 5 14 11
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
// There is an order here until ops compute in their destinations.
func.func @chosen(%x: tensor<4xf32>, %y: tensor<4xf32>, %n: index, %k: index) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %five = arith.constant 5.0 : f32
  %first, %second = scf.index_switch %k -> tensor<4xf32>, tensor<4xf32>
  case 0 {
    %inserted = tensor.insert %five into %x[%c3] : tensor<4xf32>
    scf.yield %y, %inserted : tensor<4xf32>, tensor<4xf32>
  }
  case 1 {
    scf.yield %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  default {
    scf.yield %y, %y : tensor<4xf32>, tensor<4xf32>
  }
  %carried, %last = scf.for %i = %c0 to %n step %c1 iter_args(%a = %y, %b = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %chosen = scf.index_switch %k -> tensor<4xf32>
    case 0 {
      scf.yield %x : tensor<4xf32>
    }
    case 1 {
      scf.yield %second : tensor<4xf32>
    }
    default {
      scf.yield %a : tensor<4xf32>
    }
    %element = tensor.extract_slice %a[2] [1] [1] : tensor<4xf32> to tensor<1xf32>
    %twice = arith.addf %element, %element : tensor<1xf32>
    %changed = tensor.insert_slice %twice into %y[2] [1] [1] : tensor<1xf32> into tensor<4xf32>
    scf.yield %changed, %chosen : tensor<4xf32>, tensor<4xf32>
  }
  return %first, %last : tensor<4xf32>, tensor<4xf32>
}
