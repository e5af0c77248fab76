// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two branches, in each of which products of libgpuasync_blas.so and kernels of
// ours take turns: one region, and on a GPU one graph. a has 1/256 everywhere, so
// that a x is x where all of x is one number.
// REQUIRES: cblas
// DEFINE: %{run} = gpu-runner --timeout=60 --shared-libs=%gpuasync_lib/libgpuasync_blas.so %s
// RUN: %{run} --device=cpu | FileCheck %s
// RUN: %{run} --device=cpu --play=stream --repeat=3 | FileCheck %s
// RUN: %{run} --device=cpu --play=graph --print-ir-after=stream 2>&1 | FileCheck %s --check-prefixes=IR,CHECK
// RUN: %if cuda %{ %{run} --device=cuda --play=streams --repeat=5 | FileCheck %s %}
// RUN: %if cuda %{ %{run} --device=cuda --play=stream --repeat=5 | FileCheck %s %}
// RUN: %if cuda %{ %{run} --device=cuda --play=graph --repeat=20 --stats=%t.json | FileCheck %s %}
// RUN: %if cuda %{ FileCheck %s --input-file=%t.json --check-prefix=STATS %}
// RUN: %if cuda %{ %{run} --device=cuda --play=auto --repeat=60 | FileCheck %s %}

// IR: func.func @main
// IR: gpu_async.region {
// IR-COUNT-6: gpu_async.call {{.*}} @gpuasync_blas_matmul_f32
// IR: gpu_async.stream.synchronize
// STATS: "graph_launches": 1{{[0-9]}},
// STATS: "library_calls": {"made": {{[1-9][0-9]*}}, "captured": {{[0-9]+}}, "failed_captures": 0}

!any = memref<?x?xf32, strided<[?, ?], offset: ?>>
!m = memref<256x256xf32>
func.func private @gpuasync_blas_matmul_f32(!any {llvm.readonly}, !any {llvm.readonly}, !any, memref<?xi8>, i32) attributes {gpu_async.nonblocking, gpu_async.replayable}
func.func private @printMemrefF32(memref<*xf32>)

gpu.module @k {
  gpu.func @fill(%x: !m, %value: f32) kernel {
    %i = gpu.block_id x
    %j = gpu.thread_id x
    memref.store %value, %x[%i, %j] : !m
    gpu.return
  }
  // x = x factor + 1
  gpu.func @step(%x: !m, %factor: f32) kernel {
    %one = arith.constant 1.0 : f32
    %i = gpu.block_id x
    %j = gpu.thread_id x
    %v = memref.load %x[%i, %j] : !m
    %p = arith.mulf %v, %factor : f32
    %s = arith.addf %p, %one : f32
    memref.store %s, %x[%i, %j] : !m
    gpu.return
  }
  gpu.func @add(%x: !m, %y: !m) kernel {
    %i = gpu.block_id x
    %j = gpu.thread_id x
    %a = memref.load %x[%i, %j] : !m
    %b = memref.load %y[%i, %j] : !m
    %c = arith.addf %a, %b : f32
    memref.store %c, %x[%i, %j] : !m
    gpu.return
  }
}

// 3, 7, 15, 31 and 5, 16, 49, 148
// CHECK: [179, 179]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c256 = arith.constant 256 : index
  %bytes = arith.constant 4194304 : index
  %new = arith.constant 0 : i32
  %part = arith.constant 0.00390625 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %five = arith.constant 5.0 : f32
  %h = memref.alloc() : memref<1x2xf32>
  %a = gpu_async.alloc () : !m
  %x = gpu_async.alloc () : !m
  %xx = gpu_async.alloc () : !m
  %y = gpu_async.alloc () : !m
  %yy = gpu_async.alloc () : !m
  %v = gpu_async.alloc (%bytes) : memref<?xi8>
  %w = gpu_async.alloc (%bytes) : memref<?xi8>
  %am = memref.cast %a : !m to !any
  %xm = memref.cast %x : !m to !any
  %xxm = memref.cast %xx : !m to !any
  %ym = memref.cast %y : !m to !any
  %yym = memref.cast %yy : !m to !any
  gpu_async.launch @k::@fill blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%a : !m, %part : f32)

  gpu_async.launch @k::@fill blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%x : !m, %three : f32)
  gpu_async.call @gpuasync_blas_matmul_f32(%am : !any, %xm : !any, %xxm : !any, %v : memref<?xi8>, %new : i32)
  gpu_async.launch @k::@step blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%xx : !m, %two : f32)
  gpu_async.call @gpuasync_blas_matmul_f32(%am : !any, %xxm : !any, %xm : !any, %v : memref<?xi8>, %new : i32)
  gpu_async.launch @k::@step blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%x : !m, %two : f32)
  gpu_async.call @gpuasync_blas_matmul_f32(%am : !any, %xm : !any, %xxm : !any, %v : memref<?xi8>, %new : i32)
  gpu_async.launch @k::@step blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%xx : !m, %two : f32)

  gpu_async.launch @k::@fill blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%y : !m, %five : f32)
  gpu_async.call @gpuasync_blas_matmul_f32(%am : !any, %ym : !any, %yym : !any, %w : memref<?xi8>, %new : i32)
  gpu_async.launch @k::@step blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%yy : !m, %three : f32)
  gpu_async.call @gpuasync_blas_matmul_f32(%am : !any, %yym : !any, %ym : !any, %w : memref<?xi8>, %new : i32)
  gpu_async.launch @k::@step blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%y : !m, %three : f32)
  gpu_async.call @gpuasync_blas_matmul_f32(%am : !any, %ym : !any, %yym : !any, %w : memref<?xi8>, %new : i32)
  gpu_async.launch @k::@step blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%yy : !m, %three : f32)

  gpu_async.launch @k::@add blocks in (%c256, %c1, %c1) threads in (%c256, %c1, %c1) args(%xx : !m, %yy : !m)
  %corner = memref.subview %xx[255, 254] [1, 2] [1, 1] : !m to memref<1x2xf32, strided<[256, 1], offset: 65534>>
  gpu_async.memcpy %h, %corner : memref<1x2xf32>, memref<1x2xf32, strided<[256, 1], offset: 65534>>
  gpu_async.dealloc %a : !m
  gpu_async.dealloc %x : !m
  gpu_async.dealloc %xx : !m
  gpu_async.dealloc %y : !m
  gpu_async.dealloc %yy : !m
  gpu_async.dealloc %v : memref<?xi8>
  gpu_async.dealloc %w : memref<?xi8>
  %u = memref.cast %h : memref<1x2xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %h : memref<1x2xf32>
  return
}
