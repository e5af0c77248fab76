// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --pass-pipeline="builtin.module(func.func(gpu-async-hoist-library-queries))" | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: call @gpuasync_blas_has_f32
// CHECK-NEXT: call @gpuasync_blas_has_f16
// CHECK-NEXT: call @other
func.func @main(%x: memref<4xf32>, %v: f32) {
  call @other() : () -> i1
  linalg.fill ins(%v : f32) outs(%x : memref<4xf32>)
  %f32 = call @gpuasync_blas_has_f32() : () -> i1
  scf.if %f32 {
    %f16 = func.call @gpuasync_blas_has_f16() : () -> i1
  }
  return
}
func.func private @gpuasync_blas_has_f32() -> i1
func.func private @gpuasync_blas_has_f16() -> i1
func.func private @other() -> i1
