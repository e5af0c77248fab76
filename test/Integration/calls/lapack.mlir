// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program of tensors that calls LAPACK on the host, between kernels. gpu-runner finds the function by itself.
// REQUIRES: lapack
// RUN: gpu-runner %s --device=cpu --leak-check=error --input=2x2xf32=2,1,1,2 | FileCheck %s
// RUN: gpu-runner %s --device=cpu --check --input=2x2xf32=2,1,1,2 | FileCheck %s
// RUN: gpu-runner %s --device=cpu --repeat=20 --input=2x2xf32=2,1,1,2 | FileCheck %s
// RUN: env GPU_ASYNC_LAPACK_LIBRARY=%lapack gpu-runner %s --device=cpu --input=2x2xf32=2,1,1,2 | FileCheck %s
// RUN: %if cuda %{ gpu-runner %s --device=cuda --leak-check=error --input=2x2xf32=2,1,1,2 | FileCheck %s %}
// RUN: %if cc %{ gpu-runner %s --targets=cpu --emit=exe -o %t 2>&1 | FileCheck %s --check-prefix=LINKED %}
// LINKED: it looks for libgpuasync_runtime.so and libgpuasync_blas.so next to itself
// RUN: not env GPU_ASYNC_LAPACK_LIBRARY=/not/there.so gpu-runner %s --device=cpu --input=2x2xf32=1 2>&1 | FileCheck %s --check-prefix=NONE
// CHECK: result[0]: 2xf32=3 7
// NONE: lapack.mlir:[[#@LINE+20]]:3: error: assertion failed: no LAPACK

func.func private @gpuasync_lapack_syevd_f32(memref<?xf32>, memref<?xf32>, memref<?xf32>, i64, i64, i64) -> i32

func.func @main(%x: tensor<2x2xf32>) -> tensor<2xf32> {
  %twice = arith.addf %x, %x : tensor<2x2xf32>
  %given = bufferization.to_buffer %twice read_only : tensor<2x2xf32> to memref<2x2xf32>
  %a = memref.alloc() : memref<4xf32>
  %rows = memref.expand_shape %a [[0, 1]] output_shape [2, 2] : memref<4xf32> into memref<2x2xf32>
  memref.copy %given, %rows : memref<2x2xf32> to memref<2x2xf32>
  %v = memref.alloc() : memref<4xf32>
  %w = memref.alloc() : memref<2xf32>
  %a1 = memref.cast %a : memref<4xf32> to memref<?xf32>
  %v1 = memref.cast %v : memref<4xf32> to memref<?xf32>
  %w1 = memref.cast %w : memref<2xf32> to memref<?xf32>
  %one = arith.constant 1 : i64
  %two = arith.constant 2 : i64
  %status = call @gpuasync_lapack_syevd_f32(%a1, %v1, %w1, %one, %two, %one) : (memref<?xf32>, memref<?xf32>, memref<?xf32>, i64, i64, i64) -> i32
  %zero = arith.constant 0 : i32
  %ok = arith.cmpi eq, %status, %zero : i32
  cf.assert %ok, "no LAPACK"
  %t = bufferization.alloc_tensor() : tensor<2xf32>
  %d = bufferization.to_buffer %t : tensor<2xf32> to memref<2xf32>
  memref.copy %w, %d : memref<2xf32> to memref<2xf32>
  memref.dealloc %a : memref<4xf32>
  memref.dealloc %v : memref<4xf32>
  memref.dealloc %w : memref<2xf32>
  %values = bufferization.to_tensor %d restrict writable : memref<2xf32> to tensor<2xf32>
  %ones = arith.constant dense<1.0> : tensor<2xf32>
  %r = arith.addf %values, %ones : tensor<2xf32>
  return %r : tensor<2xf32>
}
