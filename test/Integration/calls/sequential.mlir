// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls without tokens: what the declarations say orders them, among each other
// and with kernels and copies. The two fills are on streams of their own.
// RUN: gpu-runner --device=cpu --timeout=60 --shared-libs=%test_calls %s | FileCheck %s
// RUN: gpu-runner --device=cpu --timeout=60 --shared-libs=%test_calls %s --check | FileCheck %s
// RUN: gpu-runner --device=cpu --timeout=60 --shared-libs=%test_calls %s -e meeting | FileCheck %s --check-prefix=MEETING
// RUN: gpu-runner --device=cpu --timeout=60 --shared-libs=%test_calls %s -e in_order --check | FileCheck %s --check-prefix=SERIAL
// RUN: gpu-runner --device=cpu --timeout=60 --shared-libs=%test_calls %s -e loop --input=5 | FileCheck %s --check-prefix=LOOP
// RUN: gpu-opt %s --gpu-async-pipeline=targets=cpu | FileCheck %s --check-prefix=LOWERED
// In a trace they are the host's, and what they enqueue the device's.
// RUN: gpu-runner --device=cpu --timeout=60 --shared-libs=%test_calls %s --trace=%t.json --profile 2>&1 | FileCheck %s --check-prefix=PROFILE
// RUN: FileCheck %s --input-file=%t.json --check-prefix=TRACE
// PROFILE: call at {{.*}}sequential.mlir:
// TRACE-DAG: "cat":"library"{{.*}}sequential.mlir
// TRACE-DAG: "cat":"call"{{.*}}sequential.mlir
// Through the cuda driver, too.
// RUN: %if mock-cuda %{ env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda gpu-runner --device=cuda --timeout=60 --shared-libs=%test_calls %s -e copies | FileCheck %s --check-prefix=COPIES %}
// RUN: %if cuda %{ gpu-runner --device=cuda --timeout=60 --shared-libs=%test_calls %s -e fills | FileCheck %s --check-prefix=FILLS %}

func.func private @test_fill(memref<?xi32> {llvm.writeonly}, i32)
func.func private @test_add(memref<?xi32> {llvm.readonly}, memref<?xi32> {llvm.readonly}, memref<?xi32> {llvm.writeonly})
func.func private @test_meet(memref<?xi32> {llvm.nocapture}, i32)
func.func private @test_count(memref<?xi32> {llvm.writeonly}) attributes {gpu_async.serial = "counter"}
func.func private @printMemrefI32(memref<*xi32>)

gpu.module @k {
  gpu.func @double(%x: memref<?xi32>) kernel {
    %i = gpu.thread_id x
    %v = memref.load %x[%i] : memref<?xi32>
    %w = arith.addi %v, %v : i32
    memref.store %w, %x[%i] : memref<?xi32>
    gpu.return
  }
}

// LOWERED-DAG: llvm.func @test_fill(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64, i32) -> i32
// LOWERED-LABEL: llvm.func @main(
// LOWERED: %[[CALL:.+]] = llvm.call @gpuasync_call_begin(
// LOWERED: llvm.call @test_fill(%[[CALL]],

// CHECK: [24, 24, 24, 24]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %five = arith.constant 5 : i32
  %seven = arith.constant 7 : i32
  %h = memref.alloc(%c4) : memref<?xi32>
  %a = gpu_async.alloc (%c4) : memref<?xi32>
  %b = gpu_async.alloc (%c4) : memref<?xi32>
  %out = gpu_async.alloc (%c4) : memref<?xi32>
  gpu_async.call @test_fill(%a : memref<?xi32>, %five : i32)
  gpu_async.call @test_fill(%b : memref<?xi32>, %seven : i32)
  gpu_async.call @test_add(%a : memref<?xi32>, %b : memref<?xi32>, %out : memref<?xi32>)
  gpu_async.launch @k::@double blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%out : memref<?xi32>)
  gpu_async.memcpy %h, %out : memref<?xi32>, memref<?xi32>
  gpu_async.dealloc %a : memref<?xi32>
  gpu_async.dealloc %b : memref<?xi32>
  gpu_async.dealloc %out : memref<?xi32>
  %u = memref.cast %h : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<?xi32>
  return
}

// What a program states is not changed: unordered calls meet.
// MEETING: [1, 1]
func.func @meeting() {
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %h = memref.alloc(%c2) : memref<?xi32>
  %start = gpu_async.wait async
  %x, %t = gpu_async.alloc async [%start] (%c2) : memref<?xi32>
  %f = gpu_async.call async [%t] @test_fill(%x : memref<?xi32>, %zero : i32)
  %a = gpu_async.call async [%f] @test_meet(%x : memref<?xi32>, %zero : i32)
  %b = gpu_async.call async [%f] @test_meet(%x : memref<?xi32>, %one : i32)
  %d = gpu_async.memcpy async [%a, %b] %h, %x : memref<?xi32>, memref<?xi32>
  %e = gpu_async.dealloc async [%d] %x : memref<?xi32>
  gpu_async.wait [%e]
  %u = memref.cast %h : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<?xi32>
  return
}

// They touch different memory and keep their order.
// SERIAL: [3, 2]
func.func @in_order() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = memref.alloc() : memref<2xi32>
  %a = gpu_async.alloc (%c1) : memref<?xi32>
  %b = gpu_async.alloc (%c1) : memref<?xi32>
  gpu_async.call @test_count(%a : memref<?xi32>)
  gpu_async.call @test_count(%b : memref<?xi32>)
  gpu_async.call @test_count(%a : memref<?xi32>)
  %h0 = memref.subview %h[0] [1] [1] : memref<2xi32> to memref<1xi32, strided<[1]>>
  %h1 = memref.subview %h[1] [1] [1] : memref<2xi32> to memref<1xi32, strided<[1], offset: 1>>
  %a1 = memref.cast %a : memref<?xi32> to memref<1xi32>
  %b1 = memref.cast %b : memref<?xi32> to memref<1xi32>
  gpu_async.memcpy %h0, %a1 : memref<1xi32, strided<[1]>>, memref<1xi32>
  gpu_async.memcpy %h1, %b1 : memref<1xi32, strided<[1], offset: 1>>, memref<1xi32>
  gpu_async.dealloc %a : memref<?xi32>
  gpu_async.dealloc %b : memref<?xi32>
  %u = memref.cast %h : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<2xi32>
  return
}

// LOOP: [96, 96, 96, 96]
func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %three = arith.constant 3 : i32
  %h = memref.alloc(%c4) : memref<?xi32>
  %x = gpu_async.alloc (%c4) : memref<?xi32>
  %y = gpu_async.alloc (%c4) : memref<?xi32>
  gpu_async.call @test_fill(%x : memref<?xi32>, %three : i32)
  scf.for %i = %c0 to %n step %c1 {
    gpu_async.call @test_add(%x : memref<?xi32>, %x : memref<?xi32>, %y : memref<?xi32>)
    gpu_async.memcpy %x, %y : memref<?xi32>, memref<?xi32>
  }
  gpu_async.memcpy %h, %x : memref<?xi32>, memref<?xi32>
  gpu_async.dealloc %x : memref<?xi32>
  gpu_async.dealloc %y : memref<?xi32>
  %u = memref.cast %h : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<?xi32>
  return
}

// FILLS: [10, 14]
func.func @fills() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %five = arith.constant 5 : i32
  %seven = arith.constant 7 : i32
  %h = memref.alloc(%c2) : memref<?xi32>
  %x = gpu_async.alloc (%c2) : memref<?xi32>
  gpu_async.call @test_fill(%x : memref<?xi32>, %seven : i32)
  %last = memref.alloc() : memref<1xi32>
  memref.store %five, %last[%c0] : memref<1xi32>
  %first = memref.subview %x[0] [1] [1] : memref<?xi32> to memref<1xi32, strided<[1]>>
  gpu_async.memcpy %first, %last : memref<1xi32, strided<[1]>>, memref<1xi32>
  gpu_async.launch @k::@double blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1) args(%x : memref<?xi32>)
  gpu_async.memcpy %h, %x : memref<?xi32>, memref<?xi32>
  gpu_async.dealloc %x : memref<?xi32>
  %u = memref.cast %h : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %last : memref<1xi32>
  memref.dealloc %h : memref<?xi32>
  return
}

// COPIES: [7, 7]
func.func @copies() {
  %c2 = arith.constant 2 : index
  %seven = arith.constant 7 : i32
  %h = memref.alloc(%c2) : memref<?xi32>
  %x = gpu_async.alloc (%c2) : memref<?xi32>
  %y = gpu_async.alloc (%c2) : memref<?xi32>
  gpu_async.call @test_fill(%x : memref<?xi32>, %seven : i32)
  gpu_async.memcpy %y, %x : memref<?xi32>, memref<?xi32>
  gpu_async.memcpy %h, %y : memref<?xi32>, memref<?xi32>
  gpu_async.dealloc %x : memref<?xi32>
  gpu_async.dealloc %y : memref<?xi32>
  %u = memref.cast %h : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<?xi32>
  return
}
