// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Devices of other kinds have no tensor maps.
// RUN: gpu-opt %s -split-input-file -verify-diagnostics -gpu-async-lower-kernels="ptxas=none libdevice=none rocm=none"

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @k [#gpu_async.cpu] {
  // expected-error @below {{kernel argument 1 is a tensor map descriptor, which only NVIDIA devices have, not the cpu device}}
  gpu.func @f(%n: i32, %d: !map) kernel {
    nvgpu.tma.prefetch.descriptor %d : !map
    gpu.return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @k [#rocdl.target<chip = "gfx942">] {
  // expected-error @below {{kernel argument 0 is a tensor map descriptor, which only NVIDIA devices have, not AMD's}}
  gpu.func @f(%d: !map) kernel {
    gpu.return
  }
}

// -----

!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @k [#nvvm.target<chip = "sm_90">] {
  // expected-error @below {{kernel argument 0 of type '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>' cannot be passed}}
  gpu.func @f(%b: !bar) kernel {
    gpu.return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @f(%x: memref<*xf32>, %n: index) kernel {
    // expected-error @below {{is not for kernels: make the descriptor on the host and pass it}}
    %d = nvgpu.tma.create.descriptor %x box[%n, %n] : memref<*xf32> -> !map
    gpu.return
  }
}
