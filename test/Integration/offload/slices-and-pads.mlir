// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slices that leave out dimensions of one element, where upstream's folds guess other ones;
// slices of linalg.unpack; pads by negative amounts, which take elements away.
// DEFINE: %{cpu} = gpu-runner --device=cpu --check --offload=error %s
// DEFINE: %{gpu} = gpu-runner --device=cpu --check %t.gpu.mlir
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
//
// DEFINE: %{args} = -e leavesOut --input=1x1x8x1xf16=0,1,2,3,4,5,6,7 --input=index=2 --expect=1x4xf16=2,3,4,5
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e inserts --input=1x2x2xf32=1,2,3,4 --input=1x3x1x4xf32=9 --expect=1x3x1x4xf32=1,2,9,9,3,4,9,9,9,9,9,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e insertsInParallel --input=2x3xi32=1,2,3,4,5,6 --input=3x1x2x1xi32=9 --expect=3x1x2x1xi32=1,4,2,5,3,6
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e slicesUnpacked --input=3x2x2xi32=1,2,3,4,5,6,7,8,9,10,11,12 --expect=2x4xi32=1,2,3,4,5,6,7,8
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e unpacksOneTile --input=1x1x4xi32=1,2,3,4 --expect=3x1xi32=1,2,3
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e crops --input=2x4xi32=1,2,3,4,5,6,7,8 --expect=4x2xi32=2,3,6,7,9,9,9,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e cropsAll --input=3xi32=1,2,3 --expect=2xi32=9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e places --input=4xi32=1,2,3,4 --expect=4xi32=3,4,12,13
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e open --input=4xi32=1,2,3,4 --input=-2 --input=1 --expect=3xi32=3,4,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e open --input=4xi32=1,2,3,4 --input=2 --input=-3 --expect=3xi32=9,9,1
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e open --input=4xi32=1,2,3,4 --input=-7 --input=5 --expect=2xi32=9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e open --input=0xi32 --input=1 --input=1 --expect=2xi32=9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e open --input=4xi32=1,2,3,4 --input=-3 --input=-3
// RUN: not %{cpu} %{args} 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not %{gpu} %{args} 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: slices-and-pads{{.*}}: error: gpu_async.alloc: negative size: -2 elements of 4 bytes

// The number of elements is found to be 4 when constants are folded.
func.func @leavesOut(%x: tensor<1x1x8x1xf16>, %o: index) -> tensor<1x?xf16> {
  %c2 = arith.constant 2 : index
  %n = arith.addi %c2, %c2 : index
  %s = tensor.extract_slice %x[0, 0, %o, 0] [1, 1, %n, 1] [1, 1, 1, 1] : tensor<1x1x8x1xf16> to tensor<1x?xf16>
  %t = arith.addf %s, %s : tensor<1x?xf16>
  %u = arith.subf %t, %s : tensor<1x?xf16>
  return %u : tensor<1x?xf16>
}

func.func @inserts(%x: tensor<1x2x2xf32>, %d: tensor<1x3x1x4xf32>) -> tensor<1x3x1x4xf32> {
  %c1 = arith.constant 1 : index
  %n = arith.addi %c1, %c1 : index
  %xd = tensor.cast %x : tensor<1x2x2xf32> to tensor<1x?x?xf32>
  %e = tensor.extract_slice %d[0, 0, 0, 0] [1, %n, 1, %n] [1, 1, 1, 1] : tensor<1x3x1x4xf32> to tensor<1x?x1x?xf32>
  %i = tensor.insert_slice %xd into %e[0, 0, 0, 0] [1, %n, 1, %n] [1, 1, 1, 1] : tensor<1x?x?xf32> into tensor<1x?x1x?xf32>
  %j = tensor.insert_slice %i into %d[0, 0, 0, 0] [1, %n, 1, %n] [1, 1, 1, 1] : tensor<1x?x1x?xf32> into tensor<1x3x1x4xf32>
  return %j : tensor<1x3x1x4xf32>
}

func.func @insertsInParallel(%x: tensor<2x3xi32>, %d: tensor<3x1x2x1xi32>) -> tensor<3x1x2x1xi32> {
  %c1 = arith.constant 1 : index
  %n = arith.addi %c1, %c1 : index
  %r = scf.forall (%i) in (3) shared_outs(%o = %d) -> (tensor<3x1x2x1xi32>) {
    %s = tensor.extract_slice %x[0, %i] [%n, 1] [1, 1] : tensor<2x3xi32> to tensor<?x1xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i, 0, 0, 0] [1, 1, %n, 1] [1, 1, 1, 1] : tensor<?x1xi32> into tensor<3x1x2x1xi32>
    }
  }
  return %r : tensor<3x1x2x1xi32>
}

// Upstream unpacks into fewer rows than the tiles have.
func.func @slicesUnpacked(%x: tensor<3x2x2xi32>) -> tensor<2x4xi32> {
  %e = tensor.empty() : tensor<3x4xi32>
  %u = linalg.unpack %x inner_dims_pos = [1] inner_tiles = [2] into %e : tensor<3x2x2xi32> -> tensor<3x4xi32>
  %s = tensor.extract_slice %u[0, 0] [2, 4] [1, 1] : tensor<3x4xi32> to tensor<2x4xi32>
  return %s : tensor<2x4xi32>
}

func.func @unpacksOneTile(%x: tensor<1x1x4xi32>) -> tensor<3x1xi32> {
  %e = tensor.empty() : tensor<3x1xi32>
  %u = linalg.unpack %x inner_dims_pos = [0] inner_tiles = [4] into %e : tensor<1x1x4xi32> -> tensor<3x1xi32>
  return %u : tensor<3x1xi32>
}

func.func @crops(%x: tensor<2x4xi32>) -> tensor<4x2xi32> {
  %nine = arith.constant 9 : i32
  %r = tensor.pad %x low[0, -1] high[2, -1] {
  ^bb0(%i: index, %j: index):
    tensor.yield %nine : i32
  } : tensor<2x4xi32> to tensor<4x2xi32>
  return %r : tensor<4x2xi32>
}

func.func @cropsAll(%x: tensor<3xi32>) -> tensor<2xi32> {
  %nine = arith.constant 9 : i32
  %r = tensor.pad %x low[-5] high[4] {
  ^bb0(%i: index):
    tensor.yield %nine : i32
  } : tensor<3xi32> to tensor<2xi32>
  return %r : tensor<2xi32>
}

// What is around is computed of the place in the result.
func.func @places(%x: tensor<4xi32>) -> tensor<4xi32> {
  %ten = arith.constant 10 : i32
  %r = tensor.pad %x low[-2] high[2] {
  ^bb0(%i: index):
    %k = arith.index_cast %i : index to i32
    %v = arith.addi %k, %ten : i32
    tensor.yield %v : i32
  } : tensor<4xi32> to tensor<4xi32>
  return %r : tensor<4xi32>
}

func.func @open(%x: tensor<?xi32>, %low: index, %high: index) -> tensor<?xi32> {
  %nine = arith.constant 9 : i32
  %r = tensor.pad %x low[%low] high[%high] {
  ^bb0(%i: index):
    tensor.yield %nine : i32
  } : tensor<?xi32> to tensor<?xi32>
  return %r : tensor<?xi32>
}
