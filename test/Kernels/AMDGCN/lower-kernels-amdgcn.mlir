// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The amdgcn target without ROCm: code objects that say what a driver needs.
// Code objects are linked by ld.lld.
// REQUIRES: lld
// RUN: rm -rf %t && split-file %s %t
// RUN: gpu-opt %t/chips.mlir -gpu-async-lower-kernels="targets=cpu,amdgcn:gfx90a,amdgcn:gfx942,amdgcn:gfx1100,amdgcn:gfx90a:sramecc+:xnack- rocm=none" -o %t/chips.out.mlir
// RUN: FileCheck %t/chips.mlir --input-file=%t/chips.out.mlir --check-prefix=TABLE
// RUN: %python %S/../Inputs/images.py %t/chips.out.mlir %t/image
// RUN: llvm-readelf -h --notes --dyn-symbols %t/image-gfx90a.hsaco | FileCheck %t/chips.mlir --check-prefixes=OBJECT,GFX90A
// RUN: llvm-readelf -h --notes --dyn-symbols %t/image-gfx942.hsaco | FileCheck %t/chips.mlir --check-prefixes=OBJECT,GFX942
// RUN: llvm-readelf -h --notes --dyn-symbols %t/image-gfx1100.hsaco | FileCheck %t/chips.mlir --check-prefixes=OBJECT,GFX1100
// RUN: llvm-readelf -h --notes %t/image-gfx90a:sramecc+:xnack-.hsaco | FileCheck %t/chips.mlir --check-prefix=FEATURES
// RUN: gpu-opt %t/own.mlir -gpu-async-lower-kernels=rocm=none -o %t/own.out.mlir
// RUN: FileCheck %t/own.mlir --input-file=%t/own.out.mlir
// RUN: %python %S/../Inputs/images.py %t/own.out.mlir %t/own
// RUN: llvm-objdump -d %t/own-gfx1030.hsaco | FileCheck %t/own.mlir --check-prefix=CODE
// RUN: llvm-readelf --notes %t/own-gfx1030.hsaco | FileCheck %t/own.mlir --check-prefix=OWN

//--- chips.mlir
// Several targets: one table of kernels, one image each; the kernels were
// copied before anything of an ISA was in them.
// TABLE: gpu_async.binary @k
// TABLE-SAME: kernels [#gpu_async.kernel<"f", params = [8, 4, 8, 8, 8, 8, 8, 8]>]
// TABLE-SAME: #gpu_async.image<cpu, ""
// TABLE-SAME: #gpu_async.image<hsaco, "gfx90a" data = "\7FELF
// TABLE-SAME: #gpu_async.image<hsaco, "gfx942" data = "\7FELF
// TABLE-SAME: #gpu_async.image<hsaco, "gfx1100" data = "\7FELF
// TABLE-SAME: #gpu_async.image<hsaco, "gfx90a:sramecc+:xnack-" data = "\7FELF

// Version 5 of the code objects, which ROCm 6.0 loads; the kernel and its
// descriptor are seen from outside and nothing is left undefined.
// OBJECT: OS/ABI: AMDGPU - HSA
// OBJECT-NEXT: ABI Version: 3
// OBJECT: Machine: EM_AMDGPU
// GFX90A: Flags: {{.*}}, gfx90a, xnack, sramecc
// GFX942: Flags: {{.*}}, gfx942, xnack, sramecc
// GFX1100: Flags: {{.*}}, gfx1100
// OBJECT-NOT: UND {{[a-z]}}
// OBJECT-DAG: FUNC GLOBAL PROTECTED {{.*}} f{{$}}
// OBJECT-DAG: OBJECT GLOBAL {{.*}} f.kd{{$}}
// OBJECT-NOT: helper
// The parameters lie where the table of the binary says. What is hidden is the
// driver's: sizes of grid and block.
// OBJECT: amdhsa.kernels:
// OBJECT: .args:
// OBJECT: .offset: 0
// OBJECT-NEXT: .size: 8
// OBJECT: .offset: 8
// OBJECT-NEXT: .size: 4
// OBJECT: .offset: 16
// OBJECT-NEXT: .size: 8
// OBJECT: .offset: 24
// OBJECT: .offset: 32
// OBJECT: .offset: 40
// OBJECT: .offset: 48
// OBJECT: .offset: 56
// OBJECT-NEXT: .size: 8
// OBJECT-NEXT: .value_kind: by_value
// OBJECT-NEXT: .offset: 64
// OBJECT-NEXT: .size: 4
// OBJECT-NEXT: .value_kind: hidden_block_count_x
// OBJECT: .value_kind: hidden_group_size_x
// No library asks the host for anything.
// OBJECT-NOT: hidden_hostcall_buffer
// Blocks may have as many threads as on other devices.
// OBJECT: .max_flat_workgroup_size: 1024
// OBJECT: .name: f
// GFX90A: .wavefront_size: 64
// GFX942: .wavefront_size: 64
// GFX1100: .wavefront_size: 32
// GFX90A: amdhsa.target: amdgcn-amd-amdhsa--gfx90a
// GFX942: amdhsa.target: amdgcn-amd-amdhsa--gfx942
// GFX1100: amdhsa.target: amdgcn-amd-amdhsa--gfx1100

// FEATURES: Flags: {{.*}}, gfx90a, xnack-, sramecc+
// FEATURES: amdhsa.target: 'amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-'
gpu.module @k {
  func.func @helper(%x: f32) -> f32 {
    %e = math.exp %x : f32
    %l = math.log10 %e : f32
    %s = math.sqrt %l : f32
    %t = math.tanh %s : f32
    %p = math.powf %t, %s : f32
    %f = math.floor %p : f32
    return %f : f32
  }
  gpu.func @f(%n: index, %a: f32, %x: memref<?xf32>, %z: complex<f32>) kernel {
    %i = gpu.global_id x
    %d = gpu.grid_dim x
    %re = complex.re %z : complex<f32>
    %v = memref.load %x[%i] : memref<?xf32>
    %p = math.fma %a, %v, %re : f32
    %q = func.call @helper(%p) : (f32) -> f32
    memref.store %q, %x[%d] : memref<?xf32>
    gpu.return
  }
}

//--- own.mlir
// A target of the module's own, and ops that upstream's lowering leaves out or
// lowers to something else.
// CHECK: gpu_async.binary @o
// CHECK-SAME: #gpu_async.image<hsaco, "gfx1030" data = "\7FELF
// The block's size is known, and half a kilobyte of workgroup memory is static.
// OWN: .group_segment_fixed_size: 512
// OWN: .max_flat_workgroup_size: 128
// OWN: .wavefront_size: 32
// An assert that fails ends the kernel; the atomic is a loop; the barrier is one.
// CODE-DAG: s_barrier
// CODE-DAG: _atomic_cmpswap
// CODE-DAG: s_trap 2
gpu.module @o [#rocdl.target<chip = "gfx1030", abi = "500">] {
  gpu.func @f(%x: memref<?xf32>, %n: memref<?xindex>) workgroup(%w: memref<128xf32, #gpu.address_space<workgroup>>)
      kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %size = gpu.subgroup_size : index
    %count = gpu.num_subgroups : index
    %id = gpu.subgroup_id : index
    %a = arith.addi %size, %count : index
    %b = arith.addi %a, %id : index
    %most = memref.dim %n, %c0 : memref<?xindex>
    %ok = arith.cmpi ult, %b, %most : index
    cf.assert %ok, "too many"
    memref.store %b, %n[%c0] : memref<?xindex>
    %slot = memref.alloca(%b) : memref<?xf32>
    %i = gpu.thread_id x
    %v0 = memref.load %x[%i] : memref<?xf32>
    memref.store %v0, %slot[%i] : memref<?xf32>
    %v1 = memref.load %slot[%id] : memref<?xf32>
    memref.store %v1, %w[%i] : memref<128xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %u = memref.load %w[%c4] : memref<128xf32, #gpu.address_space<workgroup>>
    %old = memref.generic_atomic_rmw %x[%c0] : memref<?xf32> {
    ^bb0(%v: f32):
      %m = arith.mulf %v, %u : f32
      memref.atomic_yield %m : f32
    }
    gpu.return
  }
}
