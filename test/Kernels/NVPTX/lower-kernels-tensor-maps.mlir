// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor maps are parameters passed by value, and the copies take their
// addresses in parameter space.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_90,nvptx:sm_90a ptxas=none libdevice=none" --verify-roundtrip | FileCheck %s
// RUN: %if ptxas %{ gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_90,nvptx:sm_90a libdevice=none" -o %t %}

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// sm_90 is older than its copies of tensors: LLVM's lowest version lacks them.
// CHECK: gpu_async.binary @copy kernels [#gpu_async.kernel<"f", params = [4, 128, 8, 8, 8, 8, 8, 8, 8, 128]>]
// CHECK-SAME: .version 8.0
// CHECK-SAME: .target sm_90{{[^a]}}
// CHECK-SAME: .visible .entry f(
// CHECK-SAME: .param .u32 f_param_0,
// CHECK-SAME: .param .align 64 .b8 f_param_1[128],
// CHECK-SAME: .param .align 64 .b8 f_param_9[128]
// No copy of it in local memory.
// CHECK-NOT: .local
// CHECK-SAME: .shared .align 8 .b8 __mbarrier[8];
// CHECK-SAME: .shared .align 128 .b8 {{[^;]*}}[512];
// CHECK-SAME: cvta.param.u64
// CHECK-SAME: mbarrier.init.shared.b64
// CHECK-SAME: prefetch.tensormap
// A parameter needs no fence, and may not have one.
// CHECK-NOT: fence.proxy.tensormap
// CHECK-SAME: mbarrier.arrive.expect_tx
// CHECK-SAME: cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes
// CHECK-SAME: mbarrier.try_wait.parity
// CHECK-SAME: cp.async.bulk.tensor.2d.global.shared::cta
// CHECK-SAME: #gpu_async.image<ptx, "sm_90a"
// CHECK-SAME: .target sm_90a
// CHECK-SAME: cp.async.bulk.tensor.2d.global.shared::cta
gpu.module @copy {
  gpu.func @f(%n: i32, %from: !map, %x: memref<8x16xf32>, %to: !map) workgroup(
      %tile : memref<8x16xf32, #gpu.address_space<workgroup>> {llvm.align = 128 : i64}) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %bytes = arith.constant 512 : index
    %ticks = arith.constant 10000000 : index
    %tid = gpu.thread_id x
    %isFirst = arith.cmpi eq, %tid, %c0 : index
    %phase = arith.constant false
    %b = nvgpu.mbarrier.create -> !bar
    nvgpu.mbarrier.init %b[%c0], %c1, predicate = %isFirst : !bar
    gpu.barrier
    nvgpu.tma.fence.descriptor %from : !map
    nvgpu.tma.prefetch.descriptor %from, predicate = %isFirst : !map
    scf.if %isFirst {
      nvgpu.mbarrier.arrive.expect_tx %b[%c0], %bytes : !bar
      nvgpu.tma.async.load %from[%c5, %c1], %b[%c0] to %tile : !map, !bar -> memref<8x16xf32, #gpu.address_space<workgroup>>
    }
    nvgpu.mbarrier.try_wait.parity %b[%c0], %phase, %ticks : !bar
    scf.if %isFirst {
      nvgpu.tma.async.store %tile to %to[%c0, %c0] : memref<8x16xf32, #gpu.address_space<workgroup>> -> !map
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
    }
    %v = memref.load %tile[%c0, %tid] : memref<8x16xf32, #gpu.address_space<workgroup>>
    memref.store %v, %x[%c0, %tid] : memref<8x16xf32>
    gpu.return
  }
}

// -----

// Through functions, selects and structured control flow they go as pointers.
// CHECK: gpu_async.binary @flow kernels [#gpu_async.kernel<"f", params = [128, 128, 1]>]
// CHECK-SAME: .param .align 64 .b8 f_param_0[128],
// CHECK-SAME: .param .align 64 .b8 f_param_1[128],
// CHECK-SAME: prefetch.tensormap
!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @flow {
  func.func private @other(%c: i1, %d: !map, %e: !map) -> !map attributes {no_inline} {
    %r = scf.if %c -> !map {
      scf.yield %d : !map
    } else {
      scf.yield %e : !map
    }
    return %r : !map
  }
  gpu.func @f(%d: !map, %e: !map, %c: i1) kernel {
    %s = arith.select %c, %d, %e : !map
    %r = func.call @other(%c, %s, %d) : (i1, !map, !map) -> !map
    nvgpu.tma.prefetch.descriptor %r : !map
    gpu.return
  }
}

// -----

// Matrix multiplications of warpgroups are for sm_90a alone.
// CHECK: gpu_async.binary @wgmma
// CHECK-SAME: #gpu_async.image<ptx, "sm_90a"
// CHECK-SAME: .version 8.0
// CHECK-SAME: .target sm_90a
// CHECK-SAME: wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
gpu.module @wgmma {
  memref.global "private" @a : memref<64x64xf16, 3> = uninitialized {alignment = 1024 : i64}
  memref.global "private" @b : memref<64x128xf16, 3> = uninitialized {alignment = 1024 : i64}
  gpu.func @f(%from: !map, %to: memref<64x128xf32>) kernel {
    %a = memref.get_global @a : memref<64x64xf16, 3>
    %b = memref.get_global @b : memref<64x128xf16, 3>
    %sum = nvgpu.warpgroup.mma.init.accumulator -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
    %da = nvgpu.warpgroup.generate.descriptor %a, %from : memref<64x64xf16, 3>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>
    %db = nvgpu.warpgroup.generate.descriptor %b, %from : memref<64x128xf16, 3>, !map -> !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>
    %product = nvgpu.warpgroup.mma %da, %db, %sum {transposeB} : !nvgpu.warpgroup.descriptor<tensor = memref<64x64xf16, 3>>, !nvgpu.warpgroup.descriptor<tensor = memref<64x128xf16, 3>>, !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>> -> !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>>
    nvgpu.warpgroup.mma.store %product, %to : !nvgpu.warpgroup.accumulator<fragmented = vector<64x128xf32>> to memref<64x128xf32>
    gpu.return
  }
}
