// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of which tensor cores compute all, in any order of dimensions, and those
// where an op needs what another element of the block has come to: these are
// left to the threads.
// RUN: gpu-opt %s -split-input-file -gpu-async-launch-tiles=device=sm_80 -canonicalize -cse | FileCheck %s

// The result is transposed, and read again where it was written.
// CHECK-LABEL: func.func @transposed
// CHECK: nvvm.mma.sync
// CHECK: %[[SUM:.*]] = memref.load {{.*}} : memref<8x16x{{.*}}xf32, #gpu.address_space<workgroup>>
// CHECK: %[[BEFORE:.*]] = memref.load %arg2[%[[J:.*]], %[[I:.*]]]
// CHECK: %[[AFTER:.*]] = arith.addf %[[SUM]], %[[BEFORE]]
// CHECK: memref.store %[[AFTER]], %arg2[%[[J]], %[[I]]]
// CHECK-NOT: memref.alloc
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
func.func @transposed(%x: memref<32x32xf16>, %w: memref<32x32xf16>, %out: memref<32x32xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%b) in (1) {
    %t = memref.alloc() : memref<32x32xf32>
    linalg.fill ins(%zero : f32) outs(%t : memref<32x32xf32>)
    linalg.matmul ins(%x, %w : memref<32x32xf16>, memref<32x32xf16>) outs(%t : memref<32x32xf32>)
    linalg.generic {indexing_maps = [#ij, #ji], iterator_types = ["parallel", "parallel"]} ins(%t : memref<32x32xf32>) outs(%out : memref<32x32xf32>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.addf %v, %o : f32
      linalg.yield %s : f32
    }
    memref.dealloc %t : memref<32x32xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @mirrored
// CHECK-NOT: nvvm.mma.sync
// CHECK: return
#ij = affine_map<(i, j) -> (i, j)>
#ji = affine_map<(i, j) -> (j, i)>
func.func @mirrored(%x: memref<32x32xf16>, %w: memref<32x32xf16>, %out: memref<32x32xf32>) {
  scf.forall (%b) in (1) {
    linalg.matmul ins(%x, %w : memref<32x32xf16>, memref<32x32xf16>) outs(%out : memref<32x32xf32>)
    linalg.generic {indexing_maps = [#ij, #ji, #ij], iterator_types = ["parallel", "parallel"]} ins(%out, %out : memref<32x32xf32>, memref<32x32xf32>) outs(%out : memref<32x32xf32>) {
    ^bb0(%v: f32, %u: f32, %o: f32):
      %s = arith.addf %v, %u : f32
      linalg.yield %s : f32
    }
  }
  return
}

// -----

// A view of what is written, under another name.
// CHECK-LABEL: func.func @view
// CHECK-NOT: nvvm.mma.sync
// CHECK: return
#ij = affine_map<(i, j) -> (i, j)>
func.func @view(%x: memref<32x32xf16>, %w: memref<32x32xf16>, %out: memref<32x64xf32>) {
  scf.forall (%b) in (1) {
    %left = memref.subview %out[0, 0] [32, 32] [1, 1] : memref<32x64xf32> to memref<32x32xf32, strided<[64, 1]>>
    %right = memref.subview %out[0, 32] [32, 32] [1, 1] : memref<32x64xf32> to memref<32x32xf32, strided<[64, 1], offset: 32>>
    linalg.matmul ins(%x, %w : memref<32x32xf16>, memref<32x32xf16>) outs(%left : memref<32x32xf32, strided<[64, 1]>>)
    linalg.generic {indexing_maps = [#ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%right : memref<32x32xf32, strided<[64, 1], offset: 32>>) outs(%left : memref<32x32xf32, strided<[64, 1]>>) {
    ^bb0(%v: f32, %o: f32):
      %s = arith.addf %v, %o : f32
      linalg.yield %s : f32
    }
  }
  return
}

// -----

// A block of two products.
// CHECK-LABEL: func.func @two
// CHECK-NOT: nvvm.mma.sync
// CHECK: return
func.func @two(%x: memref<32x32xf16>, %w: memref<32x32xf16>, %out: memref<32x32xf32>) {
  scf.forall (%b) in (1) {
    linalg.matmul ins(%x, %w : memref<32x32xf16>, memref<32x32xf16>) outs(%out : memref<32x32xf32>)
    linalg.matmul ins(%w, %x : memref<32x32xf16>, memref<32x32xf16>) outs(%out : memref<32x32xf32>)
  }
  return
}
