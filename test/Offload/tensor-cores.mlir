// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of f16 and bf16 by tensor cores: what is taken, what becomes of it,
// and what is left to the threads.
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=sm_80 | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=gpu | FileCheck %s --check-prefix=GPU
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=sm_90 | FileCheck %s --check-prefix=SM90
// RUN: gpu-opt %s -split-input-file -gpu-async-pipeline="targets=nvptx:sm_80 ptxas=none" | FileCheck %s --check-prefix=PTX
// RUN: gpu-opt %s -split-input-file -gpu-async-pipeline="targets=nvptx:sm_90,nvptx:sm_100 ptxas=none" | FileCheck %s --check-prefix=PTX
// RUN: gpu-opt %s -split-input-file -gpu-async-pipeline="targets=nvptx:sm_90 ptxas=none" | FileCheck %s --check-prefix=PTX90
// RUN: gpu-opt %s -split-input-file -gpu-async-pipeline="targets=nvptx:sm_75 ptxas=none" | FileCheck %s --check-prefix=GPU
// RUN: gpu-opt %s -split-input-file -gpu-async-pipeline="targets=nvptx:sm_75,nvptx:sm_90 ptxas=none" | FileCheck %s --check-prefix=GPU

// Blocks of threads, and those that are for other chips too, have none of it.
// GPU-NOT: mma.sync
// GPU-NOT: cp.async
// GPU-NOT: wgmma

// Pieces of whole tiles are copied without a test but that of the address, while
// earlier ones are multiplied. The sums begin with zero, in f32.
// CHECK-LABEL: func.func @whole
// CHECK: %[[BYTES:.*]] = arith.constant 49152 : i32
// CHECK: gpu.launch
// CHECK-SAME: dynamic_shared_memory_size %[[BYTES]]
// CHECK: %[[POINTER:.*]] = memref.extract_aligned_pointer_as_index
// CHECK: arith.remui %[[POINTER]], %c16
// CHECK: scf.if
// CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 8 {bypassL1} : memref<64x512xf16, {{.*}}> to memref<4x64x64xf16, #gpu.address_space<workgroup>>
// CHECK: else
// CHECK: memref.load
// CHECK: vector.store
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 2
// CHECK: gpu.barrier
// CHECK: nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = false} : memref<4x64x64xf16
// CHECK: nvgpu.ldmatrix {{.*}} {numTiles = 4 : i32, transpose = true} : memref<4x64x32xf16
// CHECK: scf.for
// CHECK: nvvm.mma.sync
// CHECK-SAME: C[{{.*}}] {{.*}} -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: gpu.barrier
// CHECK: nvvm.bar.warp.sync
// CHECK: memref.store {{.*}} : memref<64x32xf32, strided<[512, 1]
// CHECK: nvvm.bar.warp.sync
// PTX: .entry matmul_512x512x512(
// PTX: cp.async.cg.shared.global
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16
// PTX: ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
func.func @whole(%x: tensor<512x512xf16>, %w: tensor<512x512xf16>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %p = linalg.matmul ins(%x, %w : tensor<512x512xf16>, tensor<512x512xf16>) outs(%f : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %p : tensor<512x512xf32>
}

// -----

// What goes along with the product is computed of the sums in registers: the
// block has no memory for them. Of the last tile less is copied and stored; rows
// of 33 elements begin anywhere, so that they go element by element.
// CHECK-LABEL: func.func @edges
// CHECK: gpu.launch
// CHECK-NOT: workgroup(
// CHECK-NOT: nvgpu.device_async_copy
// CHECK: vector.store
// CHECK: nvvm.mma.sync
// CHECK-SAME: multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: %[[SUM:.*]] = memref.load %{{.*}} : memref<8x16x24xf32, #gpu.address_space<workgroup>>
// CHECK: %[[BIAS:.*]] = memref.load %{{.*}} : memref<?xbf16
// CHECK: arith.addf %[[SUM]],
// CHECK: math.tanh
// CHECK: arith.truncf
// CHECK: scf.if
// CHECK-NEXT: memref.store {{.*}} : memref<?x?xbf16
// PTX: .entry matmul_tanh_100x70x33(
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
func.func @edges(%x: tensor<100x33xbf16>, %w: tensor<33x70xbf16>, %bias: tensor<70xbf16>) -> tensor<100x70xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100x70xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100x70xf32>) -> tensor<100x70xf32>
  %p = linalg.matmul ins(%x, %w : tensor<100x33xbf16>, tensor<33x70xbf16>) outs(%f : tensor<100x70xf32>) -> tensor<100x70xf32>
  %o = tensor.empty() : tensor<100x70xbf16>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%p, %bias : tensor<100x70xf32>, tensor<70xbf16>) outs(%o : tensor<100x70xbf16>) {
  ^bb0(%v: f32, %b: bf16, %out: bf16):
    %wide = arith.extf %b : bf16 to f32
    %s = arith.addf %v, %wide : f32
    %t = math.tanh %s : f32
    %n = arith.truncf %t : f32 to bf16
    linalg.yield %n : bf16
  } -> tensor<100x70xbf16>
  return %r : tensor<100x70xbf16>
}

// -----

// Elements that were written as f32 are multiplied as what they are.
// CHECK-LABEL: func.func @widened
// CHECK: gpu.launch
// CHECK-NOT: gpu.launch
// CHECK: nvvm.mma.sync
// CHECK-NOT: gpu.launch
func.func @widened(%x: tensor<64x64xf16>, %w: tensor<64x64xf16>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %a = arith.extf %x : tensor<64x64xf16> to tensor<64x64xf32>
  %b = arith.extf %w : tensor<64x64xf16> to tensor<64x64xf32>
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %p : tensor<64x64xf32>
}

// -----

// A sum in f16 is taken in f32, and rounded once; here it begins with what was
// there. Sizes and strides are known at run time only.
// CHECK-LABEL: func.func @narrow
// CHECK: gpu.launch
// CHECK: memref.extract_strided_metadata
// CHECK: nvgpu.device_async_copy %{{.*}}, %{{.*}}, 8, %{{.*}} {bypassL1} : memref<?x?xf16
// CHECK: nvvm.mma.sync
// CHECK: %[[SUM:.*]] = memref.load %{{.*}} : memref<8x16x72xf32
// CHECK: %[[FIRST:.*]] = memref.load %{{.*}} : memref<?x?xf16
// CHECK: %[[WIDE:.*]] = arith.extf %[[FIRST]]
// CHECK: %[[ALL:.*]] = arith.addf %[[WIDE]], %[[SUM]]
// CHECK: arith.truncf %[[ALL]] : f32 to f16
func.func @narrow(%x: memref<?x?xf16>, %w: memref<?x?xf16>, %acc: memref<?x?xf16>) {
  linalg.matmul ins(%x, %w : memref<?x?xf16>, memref<?x?xf16>) outs(%acc : memref<?x?xf16>)
  return
}

// -----

// f32 stays f32. So do factors of two kinds, products that are rounded before
// they are added, and those of few rows.
// CHECK-LABEL: func.func @others
// CHECK-NOT: nvvm.mma.sync
// CHECK: return
func.func @others(%x: memref<64x64xf32>, %w: memref<64x64xf32>, %h: memref<64x64xf16>, %b: memref<64x64xbf16>, %few: memref<4x64xf16>,
    %acc: memref<64x64xf32>, %less: memref<4x64xf32>) {
  linalg.matmul ins(%x, %w : memref<64x64xf32>, memref<64x64xf32>) outs(%acc : memref<64x64xf32>)
  linalg.matmul ins(%h, %b : memref<64x64xf16>, memref<64x64xbf16>) outs(%acc : memref<64x64xf32>)
  linalg.matmul ins(%few, %h : memref<4x64xf16>, memref<64x64xf16>) outs(%less : memref<4x64xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%h, %h : memref<64x64xf16>, memref<64x64xf16>) outs(%acc : memref<64x64xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %m = arith.mulf %l, %r : f16
    %wide = arith.extf %m : f16 to f32
    %s = arith.addf %o, %wide : f32
    linalg.yield %s : f32
  }
  return
}

// -----

// On sm_90 warpgroups multiply larger tiles: 128 rows are two of them, which read
// both operands in workgroup memory, 128 bytes a row, where wgmma finds chunks
// that have changed places. One stage is multiplied while the next is made ready,
// and of four the other two are copied.
// SM90-LABEL: func.func @warpgroups
// SM90: gpu.launch
// SM90: nvvm.cp.async.wait.group 1
// SM90: nvvm.fence.proxy
// SM90: gpu.barrier
// SM90: nvvm.wgmma.fence.aligned
// SM90: arith.ori %{{.*}}, %{{.*}} : i64
// SM90-COUNT-4: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 64, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <row>]
// SM90: nvvm.wgmma.commit.group.sync.aligned
// SM90: nvgpu.device_async_copy
// SM90: nvvm.wgmma.wait.group.sync.aligned 1
// SM90: nvvm.wgmma.wait.group.sync.aligned 0
// SM90: gpu.barrier
// PTX: .entry matmul_1024x1024x512(
// PTX: mma.sync.aligned.m16n8k16
// PTX90: .target sm_90a
// PTX90: .entry matmul_1024x1024x512(
// PTX90: wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16
func.func @warpgroups(%x: tensor<1024x512xf16>, %w: tensor<512x1024xf16>) -> tensor<1024x1024xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1024x1024xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  %p = linalg.matmul ins(%x, %w : tensor<1024x512xf16>, tensor<512x1024xf16>) outs(%f : tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
  return %p : tensor<1024x1024xf32>
}
