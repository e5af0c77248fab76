// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Iterations of a scf.forall see its shared outputs as they were before it. That takes a
// copy, unless an iteration reads only elements that none writes, as columns in front of
// the one that is written, or the element that it writes itself afterwards.
// RUN: gpu-opt %s -gpu-async-offload | FileCheck %s
// RUN: gpu-runner %s -e columns --input=4x4xf32=1,0,0,0,2,0,0,0,3,0,0,0,4,0,0,0 | FileCheck %s --check-prefix=RESULT
// RUN: gpu-runner %s -e shifted --input=4x4xf32=1,0,0,0,2,0,0,0,3,0,0,0,4,0,0,0 | FileCheck %s --check-prefix=SHIFTED

// CHECK-LABEL: func.func @columns(
// CHECK: scf.for
// CHECK-NOT: memref.copy
// CHECK-NOT: gpu.memcpy
// CHECK: gpu.launch
// CHECK-LABEL: func.func @shifted(

// A column is the sum of the columns in front of it, the second one is 1 more.
// RESULT: result[0]: 4x4xf32=[1 2 3 6][2 3 5 10][3 4 7 14][4 5 9 18]
func.func @columns(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %r = scf.for %j = %c1 to %c4 step %c1 iter_args(%l = %x) -> tensor<4x4xf32> {
    %f = scf.forall (%i) in (4) shared_outs(%o = %l) -> tensor<4x4xf32> {
      %sum = scf.for %k = %c0 to %j step %c1 iter_args(%a = %zero) -> f32 {
        %v = tensor.extract %o[%i, %k] : tensor<4x4xf32>
        %b = arith.addf %a, %v : f32
        scf.yield %b : f32
      }
      %first = arith.cmpi eq, %j, %c1 : index
      %more = arith.select %first, %one, %zero : f32
      %own = tensor.extract %o[%i, %j] : tensor<4x4xf32>
      %s = arith.addf %sum, %more : f32
      %t = arith.addf %s, %own : f32
      %e = tensor.from_elements %t : tensor<1x1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %e into %o[%i, %j] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<4x4xf32>
      }
    }
    scf.yield %f : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}

// An element of the written column may be another iteration's: as it was before.
// SHIFTED: result[0]: 4x4xf32=[2 0 0 0][3 0 0 0][4 0 0 0][1 0 0 0]
func.func @shifted(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %j = %c0 to %c1 step %c1 iter_args(%l = %x) -> tensor<4x4xf32> {
    %f = scf.forall (%i) in (4) shared_outs(%o = %l) -> tensor<4x4xf32> {
      %n = arith.addi %i, %c1 : index
      %m = arith.remui %n, %c4 : index
      %v = tensor.extract %o[%m, %j] : tensor<4x4xf32>
      %e = tensor.from_elements %v : tensor<1x1xf32>
      scf.forall.in_parallel {
        tensor.parallel_insert_slice %e into %o[%i, %j] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<4x4xf32>
      }
    }
    scf.yield %f : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
