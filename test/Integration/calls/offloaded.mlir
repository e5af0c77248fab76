// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --blas=auto: products of linalg ops by libgpuasync_blas.so, which gpu-runner finds
// by itself, and by kernels where it has no library. The numbers are small and
// whole, so that all orders of a sum are one. A CBLAS that is named is taken whatever
// it is.
// REQUIRES: cblas
// DEFINE: %{in} = --input=@%t/a.npy --input=@%t/b.npy
// DEFINE: %{auto} = gpu-runner --timeout=60 --blas=auto %s
// DEFINE: %{on} = env GPU_ASYNC_CBLAS_LIBRARY=%cblas %{auto}
// DEFINE: %{main} = %{in} --output=result0= --output=result1= --output=result2= --expect=result0=@%t/p.npy --expect=result1=@%t/q.npy --expect=result2=@%t/r.npy
// RUN: rm -rf %t && mkdir %t
// RUN: gpu-runner %s -e numbers --device=cpu --output=result0=@%t/a.npy --output=result1=@%t/b.npy
// RUN: gpu-runner %s --device=cpu %{in} --output=result0=@%t/p.npy --output=result1=@%t/q.npy --output=result2=@%t/r.npy
// RUN: %{on} --device=cpu %{main} --stats=%t/stats.json
// RUN: FileCheck %s --check-prefix=CALLED --input-file=%t/stats.json
// CALLED: "launches": 0,
// CALLED: "library_calls": {"made": 3,
// RUN: env GPU_ASYNC_CBLAS_LIBRARY=/not/there.so %{auto} --device=cpu %{main} --stats=%t/stats.json
// RUN: FileCheck %s --check-prefix=LAUNCHED --input-file=%t/stats.json
// LAUNCHED: "launches": 3,
// LAUNCHED: "library_calls": {"made": 0,
// RUN: %{on} --device=cpu %{main} --check
// RUN: %{on} --device=cpu %{main} --play=stream --repeat=3
// RUN: %{on} --device=cpu %{main} --play=graph --print-ir-after=stream 2>&1 | FileCheck %s
// RUN: %{on} --device=cpu %{main} --cache=%t/cache
// RUN: %{on} --device=cpu %{main} --cache=%t/cache --stats=%t/stats.json
// RUN: FileCheck %s --check-prefixes=CALLED,HIT --input-file=%t/stats.json
// HIT: "program": "hit"
// RUN: gpu-runner --timeout=60 --blas=off %s --device=cpu %{main} --cache=%t/cache --stats=%t/stats.json
// RUN: FileCheck %s --check-prefix=LAUNCHED --input-file=%t/stats.json
// RUN: mkdir %t/lib && cp %gpuasync_lib/libgpuasync_runtime.so.0 %gpuasync_lib/libgpuasync_check.so.0 %t/lib
// RUN: env LD_LIBRARY_PATH=%t/lib %{on} --device=cpu %{main} --stats=%t/stats.json 2>&1 | FileCheck %s --check-prefix=ABSENT
// RUN: FileCheck %s --check-prefix=LAUNCHED --input-file=%t/stats.json
// ABSENT: gpu-runner: remark: --blas=auto: libgpuasync_blas.so is not next to the runtime's library; products are kernels
// RUN: %if cuda %{ %{on} --device=cuda %{main} --repeat=20 %}
// RUN: %if cuda %{ %{on} --device=cuda %{main} --play=graph --repeat=20 --stats=%t/stats.json %}
// RUN: %if cuda %{ env GPU_ASYNC_CUBLASLT_LIBRARY=/not/there.so %{auto} --device=cuda %{main} --repeat=20 %}

// RUN: %if mock-cuda %{ env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1 GPU_ASYNC_CUBLASLT_LIBRARY=%fake_cublaslt %{on} --device=cuda %{in} --output=result0= --output=result1= --output=result2= --play=graph --repeat=20 --stats=%t/stats.json %}
// RUN: %if mock-cuda %{ FileCheck %s --check-prefix=GRAPH --input-file=%t/stats.json %}
// GRAPH: "launches": 0,
// GRAPH: "graph_launches": 1{{[0-9]}},
// GRAPH: "library_calls": {"made": 60, "captured": {{[1-9][0-9]*}}, "failed_captures": 0}

// Asked for before all else, and then one region.
// CHECK: func.func @main
// CHECK-NEXT: call @gpuasync_blas_has_f32() : () -> i32
// CHECK: gpu_async.region {
// CHECK: gpu_async.call
// CHECK: gpu_async.launch
// CHECK: gpu_async.call
// CHECK: gpu_async.launch
func.func @main(%a: tensor<128x96xf32>, %b: tensor<96x80xf32>) -> (tensor<128x80xf32>, tensor<128x96xf32>, tensor<80x80xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x80xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x80xf32>) -> tensor<128x80xf32>
  %p = linalg.matmul ins(%a, %b : tensor<128x96xf32>, tensor<96x80xf32>) outs(%f : tensor<128x80xf32>) -> tensor<128x80xf32>
  // Added to what the caller keeps.
  %q = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%p, %b : tensor<128x80xf32>, tensor<96x80xf32>) outs(%a : tensor<128x96xf32>) -> tensor<128x96xf32>
  // Of two that do not wait for each other.
  %g = tensor.empty() : tensor<80x80xf32>
  %h = linalg.fill ins(%zero : f32) outs(%g : tensor<80x80xf32>) -> tensor<80x80xf32>
  %r = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%b, %b : tensor<96x80xf32>, tensor<96x80xf32>) outs(%h : tensor<80x80xf32>) -> tensor<80x80xf32>
  return %p, %q, %r : tensor<128x80xf32>, tensor<128x96xf32>, tensor<80x80xf32>
}

#id = affine_map<(i, j) -> (i, j)>
func.func @numbers() -> (tensor<128x96xf32>, tensor<96x80xf32>) {
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c7 = arith.constant 7 : index
  %two = arith.constant 2.0 : f32
  %ae = tensor.empty() : tensor<128x96xf32>
  %a = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%ae : tensor<128x96xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %ii = arith.muli %i, %c7 : index
    %jj = arith.muli %j, %c3 : index
    %sum = arith.addi %ii, %jj : index
    %rest = arith.remui %sum, %c5 : index
    %number = arith.index_cast %rest : index to i32
    %float = arith.sitofp %number : i32 to f32
    %v = arith.subf %float, %two : f32
    linalg.yield %v : f32
  } -> tensor<128x96xf32>
  %be = tensor.empty() : tensor<96x80xf32>
  %b = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%be : tensor<96x80xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %ij = arith.muli %i, %j : index
    %rest = arith.remui %ij, %c7 : index
    %number = arith.index_cast %rest : index to i32
    %float = arith.sitofp %number : i32 to f32
    %v = arith.subf %float, %two : f32
    linalg.yield %v : f32
  } -> tensor<96x80xf32>
  return %a, %b : tensor<128x96xf32>, tensor<96x80xf32>
}

// Products in a loop, of sizes that are known when it runs, and of none: those
// are no library's.
// DEFINE: %{size} = 64
// DEFINE: %{rounds} = -e rounds --device=cpu --input=random:1:64x%{size} --input=random:2:%{size}x64
// RUN: gpu-runner --timeout=60 %s %{rounds} --output=result0=@%t/x.npy
// RUN: %{on} %{rounds} --output=result0= --expect=@%t/x.npy --tolerance=1e-5 --stats=%t/stats.json
// RUN: FileCheck %s --check-prefix=FILLS --input-file=%t/stats.json
// RUN: %{on} %{rounds} --output=result0= --expect=@%t/x.npy --tolerance=1e-5 --check
// RUN: env GPU_ASYNC_CBLAS_LIBRARY=/not/there.so %{auto} %{rounds} --output=result0= --expect=@%t/x.npy
// The first fill alone.
// FILLS: "launches": 1,
// REDEFINE: %{size} = 0
// RUN: gpu-runner --timeout=60 %s %{rounds} --output=result0=@%t/x.npy
// RUN: %{on} %{rounds} --output=result0= --expect=@%t/x.npy --stats=%t/stats.json
// RUN: FileCheck %s --check-prefix=NONE --input-file=%t/stats.json
// NONE: "launches": 4,
func.func @rounds(%a: tensor<64x?xf32>, %b: tensor<?x64xf32>) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %sums = scf.for %i = %c0 to %c3 step %c1 iter_args(%x = %start) -> tensor<64x64xf32> {
    %p = linalg.matmul ins(%a, %b : tensor<64x?xf32>, tensor<?x64xf32>) outs(%x : tensor<64x64xf32>) -> tensor<64x64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
    %q = linalg.matmul ins(%p, %p : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %q : tensor<64x64xf32>
  }
  return %sums : tensor<64x64xf32>
}

// A CBLAS has no f16: the kernel runs.
// RUN: %{on} --device=cpu -e halves --input=random:1 --output=result0= --stats=%t/stats.json
// RUN: FileCheck %s --check-prefix=HALVES --input-file=%t/stats.json
// HALVES: "launches": 1,
func.func @halves(%a: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<64x64xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<64x64xf16>) -> tensor<64x64xf16>
  %p = linalg.matmul ins(%a, %a : tensor<64x64xf16>, tensor<64x64xf16>) outs(%f : tensor<64x64xf16>) -> tensor<64x64xf16>
  return %p : tensor<64x64xf16>
}
