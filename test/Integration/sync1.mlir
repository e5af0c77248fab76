// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One tiny launch without tokens: it has finished when the host goes on. @sync1
// works on device memory of the caller; bench/cuda has the same by hand.
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

  func.func @sync1(%x: memref<32xi32>) {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%x : memref<32xi32>)
    return
  }

  func.func @allocate_and_run() {
    %zero = arith.constant 0 : i32
    %x = gpu.alloc () : memref<32xi32>
    gpu.memset %x, %zero : memref<32xi32>, i32
    call @sync1(%x) : (memref<32xi32>) -> ()
    gpu.dealloc %x : memref<32xi32>
    return
  }

  // CHECK: [8, 8, 8, 8,
  func.func @main() {
    %seven = arith.constant 7 : i32
    %h = memref.alloc() : memref<32xi32>
    %x = gpu.alloc () : memref<32xi32>
    gpu.memset %x, %seven : memref<32xi32>, i32
    call @sync1(%x) : (memref<32xi32>) -> ()
    gpu.memcpy %h, %x : memref<32xi32>, memref<32xi32>
    gpu.dealloc %x : memref<32xi32>
    %u = memref.cast %h : memref<32xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<32xi32>
    return
  }

  func.func private @printMemrefI32(memref<*xi32>)
}
