// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches that yield tensors of different sizes. MLIR would make an arith.select of
// them, which takes the sizes for equal. For a GPU, too.
// DEFINE: %{arrays} = --input=4xf32=1,2,3,4 --input=3xf32=5,6,7
// RUN: gpu-opt %s --gpu-async-offload=device=gpu -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --check %s -e if %{arrays} --input=true | FileCheck %s --check-prefix=FIRST
// RUN: gpu-runner --device=cpu --check %s -e if %{arrays} --input=false | FileCheck %s --check-prefix=SECOND
// RUN: gpu-runner --device=cpu --check %t.gpu.mlir -e if %{arrays} --input=true | FileCheck %s --check-prefix=FIRST
// RUN: gpu-runner --device=cpu --check %t.gpu.mlir -e if %{arrays} --input=false | FileCheck %s --check-prefix=SECOND
// RUN: gpu-runner --device=cpu --check %s -e nested %{arrays} --input=true --input=true | FileCheck %s --check-prefix=FIRST
// RUN: gpu-runner --device=cpu --check %s -e nested %{arrays} --input=true --input=false | FileCheck %s --check-prefix=SECOND
// RUN: gpu-runner --device=cpu --check %s -e switch %{arrays} --input=1 | FileCheck %s --check-prefix=FIRST
// RUN: gpu-runner --device=cpu --check %s -e switch %{arrays} --input=0 | FileCheck %s --check-prefix=SECOND
// FIRST: result[0]: 4xf32=1 2 3 4
// SECOND: result[0]: 3xf32=5 6 7

func.func @if(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: i1) -> tensor<?xf32> {
  %r = scf.if %p -> tensor<?xf32> {
    scf.yield %x : tensor<?xf32>
  } else {
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

func.func @nested(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: i1, %q: i1) -> tensor<?xf32> {
  %r = scf.if %p -> tensor<?xf32> {
    %s = scf.if %q -> tensor<?xf32> {
      scf.yield %x : tensor<?xf32>
    } else {
      scf.yield %y : tensor<?xf32>
    }
    scf.yield %s : tensor<?xf32>
  } else {
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

func.func @switch(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: index) -> tensor<?xf32> {
  %r = scf.index_switch %p -> tensor<?xf32>
  case 1 {
    scf.yield %x : tensor<?xf32>
  }
  default {
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
