// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two branches, in each of which kernels of ours and calls of a library take
// turns, and a kernel that reads both: one region, which comes to the same
// however it is played (G10).
// DEFINE: %{run} = gpu-runner --timeout=60 --shared-libs=%test_calls %s
// RUN: %{run} --device=cpu | FileCheck %s
// RUN: %{run} --device=cpu --check | FileCheck %s
// RUN: %{run} --device=cpu --play=stream --repeat=5 | FileCheck %s
// RUN: %{run} --device=cpu --play=graph --repeat=5 | FileCheck %s
// RUN: %{run} --device=cpu --play=auto --repeat=5 | FileCheck %s
// RUN: %{run} --device=cpu --play=graph --print-ir-after=stream 2>&1 | FileCheck %s --check-prefixes=IR,CHECK
// RUN: not %{run} --device=cpu --play=stream -e fails 2>&1 | FileCheck %s --check-prefix=FAILS
// The fake CUDA library runs no kernels of the program, but counts.
// DEFINE: %{fake} = env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda GPUASYNC_MOCK_EMPTY_KERNELS=1
// RUN: %if mock-cuda %{ %{fake} %{run} --device=cuda --play=graph --repeat=20 --stats=%t.json %}
// RUN: %if mock-cuda %{ FileCheck %s --input-file=%t.json --check-prefix=STATS %}
// RUN: %if mock-cuda %{ FileCheck %s --input-file=%t.json --check-prefix=ONCE %}
// RUN: %if mock-cuda %{ not %{fake} %{run} --device=cuda --play=graph -e fails 2>&1 | FileCheck %s --check-prefix=FAILS %}
// RUN: %if cuda %{ %{run} --device=cuda | FileCheck %s %}
// RUN: %if cuda %{ %{run} --device=cuda --play=stream --repeat=5 | FileCheck %s %}
// RUN: %if cuda %{ %{run} --device=cuda --play=graph --repeat=20 --stats=%t.json | FileCheck %s %}
// RUN: %if cuda %{ FileCheck %s --input-file=%t.json --check-prefix=STATS %}
// RUN: %if cuda %{ %{run} --device=cuda --play=auto --repeat=60 | FileCheck %s %}
// RUN: %if cuda %{ not %{run} --device=cuda --play=graph -e fails 2>&1 | FileCheck %s --check-prefix=FAILS %}

// IR: func.func @main
// IR: gpu_async.region {
// IR-COUNT-4: gpu_async.call {{.*}} @test_fill
// IR: gpu_async.stream.synchronize
// STATS: "graph_launches": 1{{[0-9]}},
// STATS: "library_calls": {"made": 80, "captured": {{[0-9]+}}, "failed_captures": 0}
// ONCE: "library_calls": {"made": 80, "captured": 4,

!part = memref<?xi32, strided<[1], offset: ?>>
func.func private @test_fill(!part {llvm.writeonly}, i32) attributes {gpu_async.nonblocking, gpu_async.replayable}
func.func private @test_fail(i32, i32) attributes {gpu_async.nonblocking, gpu_async.replayable}
func.func private @printMemrefI32(memref<*xi32>)

gpu.module @k {
  // x[i] = x[i] * factor + i
  gpu.func @scale(%x: memref<4xi32>, %factor: i32) kernel {
    %i = gpu.thread_id x
    %ii = arith.index_cast %i : index to i32
    %v = memref.load %x[%i] : memref<4xi32>
    %p = arith.muli %v, %factor : i32
    %s = arith.addi %p, %ii : i32
    memref.store %s, %x[%i] : memref<4xi32>
    gpu.return
  }
  gpu.func @add(%x: memref<4xi32>, %y: memref<4xi32>) kernel {
    %i = gpu.thread_id x
    %a = memref.load %x[%i] : memref<4xi32>
    %b = memref.load %y[%i] : memref<4xi32>
    %c = arith.addi %a, %b : i32
    memref.store %c, %x[%i] : memref<4xi32>
    gpu.return
  }
}

// x: 3 3 3 3, times 2: 6 7 8 9, 5 5 in the middle, times 10: 60 51 52 93
// y: 4 4 4 4, times 3: 12 13 14 15, 1 1 in the middle, times 100: 1200 101 102 1503
// CHECK: [1260, 152, 154, 1596]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  %five = arith.constant 5 : i32
  %ten = arith.constant 10 : i32
  %hundred = arith.constant 100 : i32
  %h = memref.alloc() : memref<4xi32>
  %x = gpu_async.alloc () : memref<4xi32>
  %y = gpu_async.alloc () : memref<4xi32>
  %x0 = memref.cast %x : memref<4xi32> to !part
  %y0 = memref.cast %y : memref<4xi32> to !part
  %xm = memref.subview %x[1] [2] [1] : memref<4xi32> to memref<2xi32, strided<[1], offset: 1>>
  %ym = memref.subview %y[1] [2] [1] : memref<4xi32> to memref<2xi32, strided<[1], offset: 1>>
  %x1 = memref.cast %xm : memref<2xi32, strided<[1], offset: 1>> to !part
  %y1 = memref.cast %ym : memref<2xi32, strided<[1], offset: 1>> to !part
  gpu_async.call @test_fill(%x0 : !part, %three : i32)
  gpu_async.launch @k::@scale blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xi32>, %two : i32)
  gpu_async.call @test_fill(%x1 : !part, %five : i32)
  gpu_async.launch @k::@scale blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xi32>, %ten : i32)
  gpu_async.call @test_fill(%y0 : !part, %four : i32)
  gpu_async.launch @k::@scale blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%y : memref<4xi32>, %three : i32)
  gpu_async.call @test_fill(%y1 : !part, %one : i32)
  gpu_async.launch @k::@scale blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%y : memref<4xi32>, %hundred : i32)
  gpu_async.launch @k::@add blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xi32>, %y : memref<4xi32>)
  gpu_async.memcpy %h, %x : memref<4xi32>, memref<4xi32>
  gpu_async.dealloc %x : memref<4xi32>
  gpu_async.dealloc %y : memref<4xi32>
  %u = memref.cast %h : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<4xi32>
  return
}

func.func @fails() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0 : i32
  %two = arith.constant 2 : i32
  %six = arith.constant 6 : i32
  %x = gpu_async.alloc () : memref<4xi32>
  gpu_async.launch @k::@scale blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xi32>, %two : i32)
  // FAILS: replayed.mlir:[[@LINE+1]]:3: error: gpu_async.call @test_fail: the library's function returned 6: no luck
  gpu_async.call @test_fail(%six : i32, %zero : i32)
  gpu_async.launch @k::@scale blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xi32>, %two : i32)
  gpu_async.dealloc %x : memref<4xi32>
  return
}
