// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ten tiny launches, each after the one before, and one host wait at the end.
// @chain10 works on device memory of the caller; bench/cuda has the same by hand.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @increment(%x: memref<32xi32>) kernel {
      %one = arith.constant 1 : i32
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<32xi32>
      %w = arith.addi %v, %one : i32
      memref.store %w, %x[%i] : memref<32xi32>
      gpu.return
    }
  }

  func.func @chain10(%x: memref<32xi32>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %t0 = gpu.wait async
    %t1 = gpu.launch_func async [%t0] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t2 = gpu.launch_func async [%t1] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t3 = gpu.launch_func async [%t2] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t4 = gpu.launch_func async [%t3] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t5 = gpu.launch_func async [%t4] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t6 = gpu.launch_func async [%t5] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t7 = gpu.launch_func async [%t6] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t8 = gpu.launch_func async [%t7] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t9 = gpu.launch_func async [%t8] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    %t10 = gpu.launch_func async [%t9] @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    gpu.wait [%t10]
    return
  }

  func.func @allocate_and_run() {
    %zero = arith.constant 0 : i32
    %x = gpu.alloc () : memref<32xi32>
    gpu.memset %x, %zero : memref<32xi32>, i32
    call @chain10(%x) : (memref<32xi32>) -> ()
    gpu.dealloc %x : memref<32xi32>
    return
  }

  // CHECK: [10, 10, 10, 10,
  func.func @main() {
    %zero = arith.constant 0 : i32
    %h = memref.alloc() : memref<32xi32>
    %x = gpu.alloc () : memref<32xi32>
    gpu.memset %x, %zero : memref<32xi32>, i32
    call @chain10(%x) : (memref<32xi32>) -> ()
    gpu.memcpy %h, %x : memref<32xi32>, memref<32xi32>
    gpu.dealloc %x : memref<32xi32>
    %u = memref.cast %h : memref<32xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<32xi32>
    return
  }

  func.func private @printMemrefI32(memref<*xi32>)
}
