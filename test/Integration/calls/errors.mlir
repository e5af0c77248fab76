// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What goes wrong in a library is told with the line of its call.
// RUN: not gpu-runner --device=cpu --shared-libs=%test_calls %s -e fails 2>&1 | FileCheck %s --check-prefix=FAILS
// RUN: not gpu-runner --device=cpu --shared-libs=%test_calls %s -e fails_later 2>&1 | FileCheck %s --check-prefix=LATER
// RUN: not gpu-runner --device=cpu %s -e fails 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not gpu-runner --device=cpu --shared-libs=%test_calls %s -e host_memory --check 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not gpu-runner --device=cpu --shared-libs=%test_calls %s -e too_long --check 2>&1 | FileCheck %s --check-prefix=LONG
// RUN: not gpu-runner --device=cpu --shared-libs=%test_calls %s -e unordered --check 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: not gpu-runner --device=cpu --shared-libs=%test_calls %s -e freed --check 2>&1 | FileCheck %s --check-prefix=FREED

// MISSING: errors.mlir:[[@LINE+1]]:1: error: @test_fail is used but defined nowhere; name the library that has it with --shared-libs
func.func private @test_fail(i32, i32)
func.func private @test_fill(memref<?xi32> {llvm.writeonly}, i32)

func.func @fails() {
  %nine = arith.constant 9 : i32
  %zero = arith.constant 0 : i32
  // FAILS: errors.mlir:[[@LINE+1]]:3: error: gpu_async.call @test_fail: the library's function returned 9: no luck at all on cpu:0
  gpu_async.call @test_fail(%nine : i32, %zero : i32)
  // Is not made any more.
  // FAILS-NOT: returned 0
  gpu_async.call @test_fail(%zero : i32, %zero : i32)
  return
}

func.func @fails_later() {
  %nine = arith.constant 9 : i32
  %one = arith.constant 1 : i32
  // LATER: errors.mlir:[[@LINE+1]]:3: error: gpu_async.call @test_fail: the library's host function returned 9
  gpu_async.call @test_fail(%nine : i32, %one : i32)
  return
}

func.func @host_memory() {
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %h = memref.alloc(%c4) : memref<?xi32>
  // HOST: errors.mlir:[[@LINE+1]]:3: error: host memory is given to a library's function, neither registered nor host-shared
  gpu_async.call @test_fill(%h : memref<?xi32>, %one : i32)
  memref.dealloc %h : memref<?xi32>
  return
}

func.func @too_long() {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1 : i32
  %x = gpu_async.alloc (%c4) : memref<?xi32>
  %longer = memref.reinterpret_cast %x to offset: [0], sizes: [%c8], strides: [1] : memref<?xi32> to memref<?xi32>
  // LONG: errors.mlir:[[@LINE+2]]:3: error: out of bounds: gpu_async.call @test_fill writes 32 bytes at byte 0 of 16 bytes of device memory
  // LONG: errors.mlir:[[@LINE-3]]:8: note: allocated here
  gpu_async.call @test_fill(%longer : memref<?xi32>, %one : i32)
  gpu_async.dealloc %x : memref<?xi32>
  return
}

func.func @unordered() {
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %start = gpu_async.wait async
  %x, %t = gpu_async.alloc async [%start] (%c4) : memref<?xi32>
  %a = gpu_async.call async [%t] @test_fill(%x : memref<?xi32>, %one : i32)
  // RACE: errors.mlir:[[@LINE+2]]:8: error: race between device ops that nothing orders: gpu_async.call @test_fill
  // RACE: errors.mlir:[[@LINE-2]]:8: note: the other: gpu_async.call @test_fill
  %b = gpu_async.call async [%t] @test_fill(%x : memref<?xi32>, %one : i32)
  %d = gpu_async.dealloc async [%a, %b] %x : memref<?xi32>
  gpu_async.wait [%d]
  return
}

func.func @freed() {
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %start = gpu_async.wait async
  %x, %t = gpu_async.alloc async [%start] (%c4) : memref<?xi32>
  %d = gpu_async.dealloc async [%t] %x : memref<?xi32>
  // FREED: errors.mlir:[[@LINE+1]]:8: error: use of freed device memory: gpu_async.call @test_fill writes 16 bytes
  %a = gpu_async.call async [%d] @test_fill(%x : memref<?xi32>, %one : i32)
  gpu_async.wait [%a]
  return
}
