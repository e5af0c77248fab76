// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic that LLVM computes otherwise, or rounds twice, on AMD's GPUs. No test
// runs this code: ../NVPTX/scalars.test runs that for NVIDIA's, made by the same passes.
// REQUIRES: lld
// RUN: gpu-opt %s -convert-gpu-to-gpu-async -gpu-async-lower-kernels="targets=amdgcn:gfx90a rocm=none" -o %t.mlir
// RUN: %python %S/../Inputs/images.py %t.mlir %t
// RUN: llvm-objdump -d %t-gfx90a.hsaco | FileCheck %s
module attributes {gpu.container_module} {
gpu.module @own {
  // Division of integers, for which LLVM has the code with v_rcp_iflag_f32.
  // CHECK-LABEL: <remainder>:
  // CHECK-NOT: v_div_scale
  // CHECK-NOT: v_fma_f32
  // CHECK: s_endpgm
  gpu.func @remainder(%m: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = memref.load %m[%c0] : memref<?xf32>
    %y = memref.load %m[%c1] : memref<?xf32>
    %r = arith.remf %x, %y : f32
    memref.store %r, %m[%c0] : memref<?xf32>
    gpu.return
  }
  // v_max_f32 knows the signs of zeros; a NaN is asked for.
  // CHECK-LABEL: <maximum>:
  // CHECK: v_max_f32
  // CHECK: v_cmp_o_f32
  // CHECK: s_endpgm
  gpu.func @maximum(%m: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = memref.load %m[%c0] : memref<?xf32>
    %y = memref.load %m[%c1] : memref<?xf32>
    %r = arith.maximumf %x, %y : f32
    memref.store %r, %m[%c0] : memref<?xf32>
    gpu.return
  }
  // What is added has the sign of the number, also where it is 0.
  // CHECK-LABEL: <round>:
  // CHECK: v_trunc_f32
  // CHECK: v_bfi_b32
  // CHECK: v_add_f32
  // CHECK: s_endpgm
  gpu.func @round(%m: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %m[%c0] : memref<?xf32>
    %r = math.round %x : f32
    memref.store %r, %m[%c0] : memref<?xf32>
    gpu.return
  }
  // In double precision, rounded to odd; in single precision, rounded to odd again, and
  // by integers to bf16.
  // CHECK-LABEL: <fma>:
  // CHECK-NOT: v_fma_f32
  // CHECK: v_mul_f64
  // CHECK: v_cvt_f32_f64
  // CHECK: 0x7fff
  // CHECK: s_endpgm
  gpu.func @fma(%m: memref<?xbf16>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %x = memref.load %m[%c0] : memref<?xbf16>
    %y = memref.load %m[%c1] : memref<?xbf16>
    %r = math.fma %x, %y, %y : bf16
    memref.store %r, %m[%c0] : memref<?xbf16>
    gpu.return
  }
  // 1 from -1 on downwards: what is smaller is poison.
  // CHECK-LABEL: <convert>:
  // CHECK: v_cmp_le_f32
  // CHECK: s_endpgm
  gpu.func @convert(%m: memref<?xf32>, %n: memref<?xi1>) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %m[%c0] : memref<?xf32>
    %r = arith.fptosi %x : f32 to i1
    memref.store %r, %n[%c0] : memref<?xi1>
    gpu.return
  }
}
}
