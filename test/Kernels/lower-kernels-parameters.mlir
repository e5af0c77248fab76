// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parameters whose types compilers lay out in different ways go as integers of their
// size: what the code of each target declares is the table. (test/Fuzz/signatures.test
// has random ones, and sends values.)
// REQUIRES: lld
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90,amdgcn:gfx90a ptxas=none libdevice=none rocm=none" -o %t.mlir
// RUN: FileCheck %s --check-prefix=TABLE < %t.mlir
// RUN: %python %S/Inputs/images.py %t.mlir %t
// RUN: FileCheck %s --check-prefix=PTX < %t-sm_90.ptx
// RUN: llvm-readelf --notes %t-gfx90a.hsaco | FileCheck %s --check-prefix=AMD
// RUN: %if ptxas %{ gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 libdevice=none" -o %t.cubin.mlir %}

// TABLE: #gpu_async.kernel<"f", params = [8, 8, 8, 8, 8, 1, 16, 1, 16, 1, 4, 2, 16, 16, 1, 1, 4]>

// PTX: .visible .entry f(
// PTX: .param .u64 f_param_4,
// PTX-NEXT: .param .u8 f_param_5,
// PTX-NEXT: .param .align 16 .b8 f_param_6[16],
// PTX-NEXT: .param .u8 f_param_7,
// PTX-NEXT: .param .align 16 .b8 f_param_8[16],
// PTX-NEXT: .param .u8 f_param_9,
// PTX-NEXT: .param .u32 f_param_10,
// PTX-NEXT: .param .u16 f_param_11,
// PTX-NEXT: .param .align 16 .b8 f_param_12[16],
// PTX-NEXT: .param .align 16 .b8 f_param_13[16],
// PTX-NEXT: .param .u8 f_param_14,
// PTX-NEXT: .param .u8 f_param_15,
// PTX-NEXT: .param .u32 f_param_16,
// PTX-NEXT: .param .u64 f_param_17,
// PTX-NEXT: .param .u64 f_param_18
// PTX-NEXT: )

// AMD: .args:
// AMD: .offset: 40
// AMD-NEXT: .size: 1
// AMD: .offset: 48
// AMD-NEXT: .size: 16
// AMD: .offset: 64
// AMD-NEXT: .size: 1
// AMD: .offset: 80
// AMD-NEXT: .size: 16
// AMD: .offset: 96
// AMD-NEXT: .size: 1
// AMD: .offset: 100
// AMD-NEXT: .size: 4
// AMD: .offset: 104
// AMD-NEXT: .size: 2
// AMD: .offset: 112
// AMD-NEXT: .size: 16
// AMD: .offset: 128
// AMD-NEXT: .size: 16
// AMD: .offset: 144
// AMD-NEXT: .size: 1
// AMD: .offset: 145
// AMD-NEXT: .size: 1
// AMD: .offset: 148
// AMD-NEXT: .size: 4
// AMD: .group_segment_fixed_size: 0

gpu.module @k {
  gpu.func @f(%out: memref<?xi64>, %a: i1, %b: i128, %c: vector<8xi1>, %d: complex<f64>, %e: i7, %f: vector<7xi4>, %g: i12,
              %h: vector<1x4xf32>, %i: vector<2x2xf32>, %j: f4E2M1FN, %k: f6E2M3FN, %l: !llvm.struct<packed (i8, i16, i8)>) kernel {
    gpu.return
  }
}
