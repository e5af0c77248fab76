// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of 32 bit numbers on NVIDIA's devices from sm_80 on: pieces of the operands are
// copied to stages of workgroup memory while earlier ones are multiplied.
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=sm_80 -canonicalize -cse | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=gpu | FileCheck %s --check-prefix=GPU
// GPU-NOT: nvgpu.device_async_copy

// Three stages are on their way while the fourth is multiplied. No stage has a barrier
// behind it: the next round's comes before its memory is written again.
// CHECK-LABEL: func @whole(
// CHECK: gpu.launch
// CHECK-SAME: workgroup(%[[ROWS:.*]] : memref<4x16x68xf32, {{.*}}>, %[[COLUMNS:.*]] : memref<4x16x68xf32,
// CHECK-NOT: memref.store
// CHECK-COUNT-3: nvvm.cp.async.commit.group
// CHECK: scf.for %[[FROM:.*]] = %c0
// CHECK: nvvm.cp.async.wait.group 2
// CHECK-NEXT: gpu.barrier
// CHECK: %[[STAGE:.*]] = arith.remui
// CHECK: scf.if
// CHECK: %[[TO:.*]] = memref.subview %[[ROWS]][%[[STAGE]], 0, 0] [1, 16, 68] [1, 1, 1]
// CHECK: nvgpu.device_async_copy %{{.*}}, %[[TO]]{{.*}}, 1 :
// CHECK: nvvm.cp.async.commit.group
// Elements of the second step are loaded before the first step is multiplied.
// CHECK: vector.load %[[ROWS]]{{.*}} {alignment = 16 : i64}
// CHECK-NOT: arith.mulf
// CHECK: vector.load %[[ROWS]]
// CHECK-NOT: arith.mulf
// CHECK: vector.load %[[COLUMNS]]
// CHECK-NOT: arith.mulf
// CHECK: vector.load %[[ROWS]]
// CHECK: arith.mulf {{.*}} fastmath<contract> : f32
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: gpu.barrier
func.func @whole(%x: tensor<1024x512xf32>, %w: tensor<512x1024xf32>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %p = linalg.matmul ins(%x, %w : tensor<1024x512xf32>, tensor<512x1024xf32>)
      outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %p : tensor<1024x1024xf32>
}

// -----

// Behind the last step are zeros, which nothing is read for.
// CHECK-LABEL: func @rest(
// CHECK: scf.for %[[FROM:.*]] = %c0
// CHECK: nvvm.cp.async.wait.group
// CHECK: scf.if
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: %[[ISTHERE:.*]] = arith.cmpi slt, %{{.*}}, %[[LEFT]]
// CHECK: %[[ELEMENTS:.*]] = arith.select %[[ISTHERE]], %c1, %c0
// CHECK: nvgpu.device_async_copy {{.*}}, 1, %[[ELEMENTS]] : memref<{{.*}}xi32
func.func @rest(%x: tensor<200x77xi32>, %w: tensor<300x77xi32>, %begin: tensor<200x300xi32>) -> tensor<200x300xi32> {
  %p = linalg.generic {
    indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
    iterator_types = ["parallel", "parallel", "reduction"]
  } ins(%x, %w : tensor<200x77xi32>, tensor<300x77xi32>) outs(%begin : tensor<200x300xi32>) {
  ^bb0(%a: i32, %b: i32, %sum: i32):
    %m = arith.muli %a, %b : i32
    %s = arith.addi %sum, %m : i32
    linalg.yield %s : i32
  } -> tensor<200x300xi32>
  return %p : tensor<200x300xi32>
}

// -----

// f64 goes through registers, and so does what the block has computed itself.
// CHECK-LABEL: func @others(
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: return
func.func @others(%x: tensor<256x64xf64>, %w: tensor<64x256xf64>) -> tensor<256x256xf64> {
  %zero = arith.constant 0.0 : f64
  %e = tensor.empty() : tensor<256x256xf64>
  %f = linalg.fill ins(%zero : f64) outs(%e : tensor<256x256xf64>) -> tensor<256x256xf64>
  %p = linalg.matmul ins(%x, %w : tensor<256x64xf64>, tensor<64x256xf64>)
      outs(%f : tensor<256x256xf64>) -> tensor<256x256xf64>
  return %p : tensor<256x256xf64>
}

// CHECK-LABEL: func @own(
// CHECK: gpu.launch
// CHECK: math.exp
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: vector.load
// CHECK: return
func.func @own(%x: tensor<128x64xf32>, %w: tensor<64x64xf32>) -> tensor<128x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x64xf32>
  %r = scf.forall (%b) in (4) shared_outs(%o = %e) -> (tensor<128x64xf32>) {
    %row = affine.apply affine_map<(b) -> (b * 32)>(%b)
    %tile = tensor.extract_slice %x[%row, 0] [32, 64] [1, 1] : tensor<128x64xf32> to tensor<32x64xf32>
    %own = bufferization.alloc_tensor() : tensor<32x64xf32>
    %exp = linalg.exp ins(%tile : tensor<32x64xf32>) outs(%own : tensor<32x64xf32>) -> tensor<32x64xf32>
    %to = tensor.extract_slice %o[%row, 0] [32, 64] [1, 1] : tensor<128x64xf32> to tensor<32x64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%to : tensor<32x64xf32>) -> tensor<32x64xf32>
    %p = linalg.matmul ins(%exp, %w : tensor<32x64xf32>, tensor<64x64xf32>)
        outs(%f : tensor<32x64xf32>) -> tensor<32x64xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %o[%row, 0] [32, 64] [1, 1] : tensor<32x64xf32> into tensor<128x64xf32>
    }
  }
  return %r : tensor<128x64xf32>
}
