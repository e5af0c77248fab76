// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels of ours and calls of a library on two branches of one program. The
// kernel of the first ends when the library has written in the second, which it
// does once that kernel has begun: they overlap, or this never ends.
// RUN: gpu-runner --device=cpu --timeout=60 --shared-libs=%test_calls %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda --timeout=60 --shared-libs=%test_calls %s | FileCheck %s %}

// CHECK: [1, 1, 7, 10]
!part = memref<?xi32, strided<[1], offset: ?>>
func.func private @test_fill(!part {llvm.writeonly}, i32)
func.func private @printMemrefI32(memref<*xi32>)

gpu.module @k {
  // Says that it has begun and ends when the other flag is set.
  gpu.func @meet(%x: memref<4xi32>, %own: index, %other: index) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %old = memref.atomic_rmw addi %one, %x[%own] : (i32, memref<4xi32>) -> i32
    scf.while : () -> () {
      %seen = memref.atomic_rmw addi %zero, %x[%other] : (i32, memref<4xi32>) -> i32
      %wait = arith.cmpi eq, %seen, %zero : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @poll(%x: memref<4xi32>, %other: index) kernel {
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %seen = memref.atomic_rmw addi %zero, %x[%other] : (i32, memref<4xi32>) -> i32
      %wait = arith.cmpi eq, %seen, %zero : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    gpu.return
  }
  gpu.func @add(%x: memref<4xi32>, %more: i32) kernel {
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %v = memref.load %x[%c2] : memref<4xi32>
    %sum = arith.addi %v, %more : i32
    memref.store %sum, %x[%c3] : memref<4xi32>
    gpu.return
  }
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %seven = arith.constant 7 : i32
  %h = memref.alloc() : memref<4xi32>
  %start = gpu_async.wait async
  %x, %allocated = gpu_async.alloc async [%start] () : memref<4xi32>
  %flag = memref.subview %x[1] [1] [1] : memref<4xi32> to memref<1xi32, strided<[1], offset: 1>>
  %second = memref.cast %flag : memref<1xi32, strided<[1], offset: 1>> to !part
  %rest = memref.subview %x[2] [2] [1] : memref<4xi32> to memref<2xi32, strided<[1], offset: 2>>
  %others = memref.cast %rest : memref<2xi32, strided<[1], offset: 2>> to !part
  %cleared = gpu_async.memset async [%allocated] %x, %zero : memref<4xi32>, i32
  // One branch: a kernel that waits for what the library writes in the other.
  %a = gpu_async.launch async [%cleared] @k::@meet blocks in (%c1, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%x : memref<4xi32>, %c0 : index, %c1 : index)
  // The other: the library's call when that has begun.
  %b = gpu_async.launch async [%cleared] @k::@poll blocks in (%c1, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%x : memref<4xi32>, %c0 : index)
  %c = gpu_async.call async [%b] @test_fill(%second : !part, %one : i32)
  // After both: a call, and a kernel that reads what it wrote.
  %d = gpu_async.call async [%a, %c] @test_fill(%others : !part, %seven : i32)
  %e = gpu_async.launch async [%d] @k::@add blocks in (%c1, %c1, %c1)
      threads in (%c1, %c1, %c1) args(%x : memref<4xi32>, %three : i32)
  %down = gpu_async.memcpy async [%e] %h, %x : memref<4xi32>, memref<4xi32>
  %freed = gpu_async.dealloc async [%down] %x : memref<4xi32>
  gpu_async.wait [%freed]
  %u = memref.cast %h : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<4xi32>
  return
}
