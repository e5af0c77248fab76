// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What is refused for amdgcn without ROCm, each with its place and reason.
// Code objects are linked by ld.lld.
// REQUIRES: lld
// RUN: gpu-opt %s -split-input-file -verify-diagnostics -gpu-async-lower-kernels="rocm=none"

// Upstream leaves the library's functions undefined, and says nothing.
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  gpu.func @f(%x: memref<f64>) kernel {
    %v = memref.load %x[] : memref<f64>
    // expected-error @+1 {{'math.sinh' op on 'f64' needs ROCm's device libraries for this chip, which were not found}}
    %e = math.sinh %v : f64
    memref.store %e, %x[] : memref<f64>
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  gpu.func @f(%x: f32) kernel {
    // expected-error @+1 {{call of @__ockl_printf_begin for amdgcn:gfx90a needs ROCm's device libraries}}
    gpu.printf "%f\n", %x : f32
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  llvm.func @__ocml_sin_f32(f32) -> f32
  llvm.func @f(%x: f32, %p: !llvm.ptr) attributes {gpu.kernel} {
    // expected-error @+1 {{call of @__ocml_sin_f32 for amdgcn:gfx90a needs ROCm's device libraries}}
    %y = llvm.call @__ocml_sin_f32(%x) : (f32) -> f32
    llvm.store %y, %p : f32, !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  func.func private @elsewhere(f32) -> f32
  gpu.func @f(%x: memref<f32>) kernel {
    %v = memref.load %x[] : memref<f32>
    // expected-error @+1 {{call of @elsewhere for amdgcn:gfx90a: nothing defines this function}}
    %e = func.call @elsewhere(%v) : (f32) -> f32
    memref.store %e, %x[] : memref<f32>
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  gpu.func @f() kernel {
    // expected-error @+1 {{'nvvm.barrier0' cannot be lowered for amdgcn:gfx90a}}
    nvvm.barrier0
    gpu.return
  }
}

// -----

// expected-error @+1 {{unknown chip 'gfx99' for target amdgcn; LLVM 22.1}}
gpu.module @k [#rocdl.target<chip = "gfx99", abi = "500">] {
  gpu.func @f() kernel { gpu.return }
}

// -----

// The sizes of grid and block lie elsewhere before version 5.
// expected-error @+1 {{gpu.module @k for amdgcn:gfx90a: abi '400' is not supported: there are 500 and 600}}
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "400">] {
  gpu.func @f() kernel { gpu.return }
}

// -----

// expected-error @+1 {{unknown feature 'xnac' for target amdgcn; LLVM 22.1}}
gpu.module @k [#rocdl.target<chip = "gfx90a", features = "+xnac", abi = "500">] {
  gpu.func @f() kernel { gpu.return }
}

// -----

// Its code objects are of a version that ROCm 6.0 does not load.
// expected-error @+1 {{'gfx9-generic' is no chip: code is made for a certain one}}
gpu.module @k [#rocdl.target<chip = "gfx9-generic", abi = "600">] {
  gpu.func @f() kernel { gpu.return }
}
