// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A pointer to global memory that somebody made a descriptor of is fenced;
// descriptors that are parameters need no fence.
// RUN: gpu-opt %s -gpu-async-lower-kernels="ptxas=none libdevice=none" | FileCheck %s

// CHECK: gpu_async.binary @fence kernels [#gpu_async.kernel<"f", params = [8]>]
// CHECK-SAME: fence.proxy.tensormap::generic.acquire.sys
!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @fence [#nvvm.target<chip = "sm_90", features = "+ptx83">] {
  gpu.func @f(%p: !llvm.ptr) kernel {
    %d = builtin.unrealized_conversion_cast %p : !llvm.ptr to !map
    nvgpu.tma.fence.descriptor %d : !map
    gpu.return
  }
}
