// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels tell the host of their end where a launch asks for it: all threads of a
// block come together, whichever way they took, one of them counts the block, and
// that of the last one writes to the host's word. The image says so by a symbol; it
// does not if a kernel has no room for the two parameters.
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_80 ptxas=none" -o %t.mlir
// RUN: %python %S/../Inputs/images.py %t.mlir %t
// RUN: FileCheck %s < %t-sm_80.ptx
// RUN: FileCheck %s --check-prefix=TABLE < %t.mlir
// RUN: %if ptxas %{ gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90" -o %t.cubin.mlir %}
// RUN: %python %S/Inputs/many-parameters.py 510 | gpu-opt -gpu-async-lower-kernels="targets=nvptx:sm_80 ptxas=none" | FileCheck %s --check-prefix=ROOM
// RUN: %python %S/Inputs/many-parameters.py 511 | gpu-opt -gpu-async-lower-kernels="targets=nvptx:sm_80 ptxas=none" | FileCheck %s --check-prefix=FULL

// What the host passes is the program's alone.
// TABLE: params = [8, 8, 8, 8, 8, 4]

// CHECK: .visible .global {{.*}}.u8 gpuasync_kernels_signal;
// CHECK: .entry twoWays(
// CHECK: .param .u64 twoWays_param_6,
// CHECK: .param .u64 twoWays_param_7
// CHECK: ld.param.b64 [[SLOT:%rd[0-9]+]], [twoWays_param_6];
// CHECK-NOT: ret;
// CHECK: st.global
// CHECK-NOT: ret;
// CHECK: setp.eq.b64 [[NONE:%p[0-9]+]], [[SLOT]], 0;
// CHECK: @[[NONE]] bra [[END:.*]];
// CHECK: bar.sync 0;
// CHECK: @{{.*}} bra [[END]];
// CHECK: ld.param.b64 [[COUNT:%rd[0-9]+]], [twoWays_param_7];
// CHECK: membar.gl;
// CHECK: atom.global.add.u64 {{%rd[0-9]+}}, {{\[}}[[COUNT]]], 1;
// CHECK: @{{.*}} bra [[END]];
// CHECK: st.global.b64 {{\[}}[[COUNT]]],
// CHECK: membar.sys;
// CHECK: st.volatile.global.b32 {{\[}}[[SLOT]]],
// CHECK: [[END]]:
// CHECK-NEXT: ret;
// CHECK: .entry nothing(
// CHECK: .param .u64 nothing_param_0,
// CHECK: membar.sys;

// ROOM: gpuasync_kernels_signal
// FULL-NOT: gpuasync_kernels_signal
// FULL-NOT: membar
gpu.module @k {
  gpu.func @twoWays(%x: memref<?xf32>, %n: i32) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : i32
    %isSmall = arith.cmpi slt, %n, %c0 : i32
    cf.cond_br %isSmall, ^small, ^large
  ^small:
    gpu.return
  ^large:
    %v = memref.load %x[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<?xf32>
    gpu.return
  }
  gpu.func @nothing() kernel {
    gpu.return
  }
}
