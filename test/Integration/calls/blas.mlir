// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products by libgpuasync_blas.so among kernels of ours: on two branches, with a
// kernel that reads both, and in batches.
// REQUIRES: cblas
// DEFINE: %{run} = gpu-runner --timeout=60 --shared-libs=%gpuasync_lib/libgpuasync_blas.so %s
// RUN: %{run} --device=cpu | FileCheck %s
// RUN: %{run} --device=cpu --check | FileCheck %s
// RUN: %{run} --device=cpu -e batches | FileCheck %s --check-prefix=BATCHES
// RUN: %{run} --device=cpu --play=stream --repeat=4 | FileCheck %s
// RUN: %{run} --device=cpu --play=graph --print-ir-after=stream 2>&1 | FileCheck %s --check-prefixes=IR,CHECK
// RUN: %if cuda %{ %{run} --device=cuda | FileCheck %s %}
// RUN: %if cuda %{ %{run} --device=cuda --play=graph --repeat=20 --stats=%t.json | FileCheck %s %}
// RUN: %if cuda %{ FileCheck %s --input-file=%t.json --check-prefix=STATS %}
// RUN: %if cuda %{ %{run} --device=cuda --play=auto --repeat=60 | FileCheck %s %}
// RUN: %if cuda %{ %{run} --device=cuda -e batches | FileCheck %s --check-prefix=BATCHES %}
// RUN: not %{run} --device=cpu -e wrong 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not env GPU_ASYNC_CBLAS_LIBRARY=/not/there.so %{run} --device=cpu 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: blas.mlir:{{[0-9]+}}:3: error: gpu_async.call @gpuasync_blas_matmul_f32: the library's function returned 1: no CBLAS: tried /not/there.so

// The products are in one region with the kernels, and one graph.
// IR: func.func @main
// IR: gpu_async.region {
// IR-COUNT-2: gpu_async.launch
// IR-COUNT-3: gpu_async.call {{.*}} @gpuasync_blas_matmul_f32
// IR: gpu_async.stream.synchronize
// STATS: "graph_launches": 1{{[0-9]}},
// STATS: "library_calls": {"made": {{[1-9][0-9]*}}, "captured": {{[0-9]+}}, "failed_captures": 0}

!any = memref<?x?xf32, strided<[?, ?], offset: ?>>
!several = memref<?x?x?xf64, strided<[?, ?, ?], offset: ?>>
func.func private @gpuasync_blas_matmul_f32(!any {llvm.readonly}, !any {llvm.readonly}, !any, memref<?xi8>, i32) attributes {gpu_async.nonblocking, gpu_async.replayable}
func.func private @gpuasync_blas_batch_matmul_f64(!several {llvm.readonly}, !several {llvm.readonly}, !several, memref<?xi8>, i32) attributes {gpu_async.nonblocking, gpu_async.replayable}
func.func private @printMemrefF32(memref<*xf32>)
func.func private @printMemrefF64(memref<*xf64>)

gpu.module @k {
  // x[i, j] = i + factor * j
  gpu.func @fill(%x: memref<2x2xf32>, %factor: f32) kernel {
    %i = gpu.thread_id y
    %j = gpu.thread_id x
    %ii = arith.index_cast %i : index to i32
    %ji = arith.index_cast %j : index to i32
    %if = arith.sitofp %ii : i32 to f32
    %jf = arith.sitofp %ji : i32 to f32
    %p = arith.mulf %jf, %factor : f32
    %v = arith.addf %if, %p : f32
    memref.store %v, %x[%i, %j] : memref<2x2xf32>
    gpu.return
  }
  gpu.func @subtract(%x: memref<2x2xf32>, %y: memref<2x2xf32>) kernel {
    %i = gpu.thread_id y
    %j = gpu.thread_id x
    %a = memref.load %x[%i, %j] : memref<2x2xf32>
    %b = memref.load %y[%i, %j] : memref<2x2xf32>
    %c = arith.subf %a, %b : f32
    memref.store %c, %x[%i, %j] : memref<2x2xf32>
    gpu.return
  }
}

// a = [0 2; 1 3], b = [0 10; 1 11]: a b = [2 22; 3 43]; b a^T = [20 30; 22 34];
// the difference, plus a b.
// CHECK:      [-16, 14]
// CHECK-NEXT: [-16, 52]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4096 = arith.constant 4096 : index
  %new = arith.constant 0 : i32
  %adds = arith.constant 1 : i32
  %two = arith.constant 2.0 : f32
  %ten = arith.constant 10.0 : f32
  %h = memref.alloc() : memref<2x2xf32>
  %a = gpu_async.alloc () : memref<2x2xf32>
  %b = gpu_async.alloc () : memref<2x2xf32>
  %x = gpu_async.alloc () : memref<2x2xf32>
  %y = gpu_async.alloc () : memref<2x2xf32>
  %w = gpu_async.alloc (%c4096) : memref<?xi8>
  %v = gpu_async.alloc (%c4096) : memref<?xi8>
  %aa = memref.cast %a : memref<2x2xf32> to !any
  %bb = memref.cast %b : memref<2x2xf32> to !any
  %xx = memref.cast %x : memref<2x2xf32> to !any
  %yy = memref.cast %y : memref<2x2xf32> to !any
  %t = memref.transpose %a (i, j) -> (j, i) : memref<2x2xf32> to memref<2x2xf32, strided<[1, 2]>>
  %tt = memref.cast %t : memref<2x2xf32, strided<[1, 2]>> to !any
  gpu_async.launch @k::@fill blocks in (%c1, %c1, %c1) threads in (%c2, %c2, %c1) args(%a : memref<2x2xf32>, %two : f32)
  gpu_async.launch @k::@fill blocks in (%c1, %c1, %c1) threads in (%c2, %c2, %c1) args(%b : memref<2x2xf32>, %ten : f32)
  gpu_async.call @gpuasync_blas_matmul_f32(%aa : !any, %bb : !any, %xx : !any, %w : memref<?xi8>, %new : i32)
  gpu_async.call @gpuasync_blas_matmul_f32(%bb : !any, %tt : !any, %yy : !any, %v : memref<?xi8>, %new : i32)
  gpu_async.launch @k::@subtract blocks in (%c1, %c1, %c1) threads in (%c2, %c2, %c1) args(%x : memref<2x2xf32>, %y : memref<2x2xf32>)
  gpu_async.call @gpuasync_blas_matmul_f32(%aa : !any, %bb : !any, %xx : !any, %w : memref<?xi8>, %adds : i32)
  gpu_async.memcpy %h, %x : memref<2x2xf32>, memref<2x2xf32>
  gpu_async.dealloc %a : memref<2x2xf32>
  gpu_async.dealloc %b : memref<2x2xf32>
  gpu_async.dealloc %x : memref<2x2xf32>
  gpu_async.dealloc %y : memref<2x2xf32>
  gpu_async.dealloc %w : memref<?xi8>
  gpu_async.dealloc %v : memref<?xi8>
  %u = memref.cast %h : memref<2x2xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %h : memref<2x2xf32>
  return
}

// [1 2] [3; 4] and [5 6] [7; 8]
// BATCHES:      {{\[\[\[}}11]]
// BATCHES-NEXT: {{\[\[}}83]]]
func.func @batches() {
  %c0 = arith.constant 0 : index
  %new = arith.constant 0 : i32
  %in = memref.get_global @numbers : memref<8xf64>
  %h = memref.alloc() : memref<2x1x1xf64>
  %d = gpu_async.alloc () : memref<8xf64>
  %x = gpu_async.alloc () : memref<2x1x1xf64>
  %w = gpu_async.alloc (%c0) : memref<?xi8>
  gpu_async.memcpy %d, %in : memref<8xf64>, memref<8xf64>
  %a = memref.reinterpret_cast %d to offset: [0], sizes: [2, 1, 2], strides: [4, 2, 1] : memref<8xf64> to memref<2x1x2xf64, strided<[4, 2, 1]>>
  %b = memref.reinterpret_cast %d to offset: [2], sizes: [2, 2, 1], strides: [4, 1, 1] : memref<8xf64> to memref<2x2x1xf64, strided<[4, 1, 1], offset: 2>>
  %aa = memref.cast %a : memref<2x1x2xf64, strided<[4, 2, 1]>> to !several
  %bb = memref.cast %b : memref<2x2x1xf64, strided<[4, 1, 1], offset: 2>> to !several
  %xx = memref.cast %x : memref<2x1x1xf64> to !several
  gpu_async.call @gpuasync_blas_batch_matmul_f64(%aa : !several, %bb : !several, %xx : !several, %w : memref<?xi8>, %new : i32)
  gpu_async.memcpy %h, %x : memref<2x1x1xf64>, memref<2x1x1xf64>
  gpu_async.dealloc %d : memref<8xf64>
  gpu_async.dealloc %x : memref<2x1x1xf64>
  gpu_async.dealloc %w : memref<?xi8>
  %u = memref.cast %h : memref<2x1x1xf64> to memref<*xf64>
  call @printMemrefF64(%u) : (memref<*xf64>) -> ()
  memref.dealloc %h : memref<2x1x1xf64>
  return
}
memref.global "private" constant @numbers : memref<8xf64> = dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]>

func.func @wrong() {
  %c0 = arith.constant 0 : index
  %new = arith.constant 0 : i32
  %a = gpu_async.alloc () : memref<2x3xf32>
  %w = gpu_async.alloc (%c0) : memref<?xi8>
  %aa = memref.cast %a : memref<2x3xf32> to !any
  // WRONG: blas.mlir:[[@LINE+1]]:3: error: gpu_async.call @gpuasync_blas_matmul_f32: the library's function returned 1: 2 x 3 times 2 x 3 is no 2 x 3 matrix
  gpu_async.call @gpuasync_blas_matmul_f32(%aa : !any, %aa : !any, %aa : !any, %w : memref<?xi8>, %new : i32)
  gpu_async.dealloc %a : memref<2x3xf32>
  gpu_async.dealloc %w : memref<?xi8>
  return
}
