// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels written out as gpu.func in two gpu.modules, launched with
// gpu.launch_func; both modules have a kernel of the same name.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

module attributes {gpu.container_module} {
  gpu.module @first {
    gpu.func @step(%x: memref<?xi32>, %by: i32) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<?xi32>
      %w = arith.addi %v, %by : i32
      memref.store %w, %x[%i] : memref<?xi32>
      gpu.return
    }
  }
  gpu.module @second {
    gpu.func @step(%x: memref<?xi32>, %by: i32) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<?xi32>
      %w = arith.muli %v, %by : i32
      memref.store %w, %x[%i] : memref<?xi32>
      gpu.return
    }
  }

  // CHECK: [32, 32, 32, 32]
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %two = arith.constant 2 : i32
    %six = arith.constant 6 : i32
    %ten = arith.constant 10 : i32
    %h = memref.alloc(%c4) : memref<?xi32>
    %t0 = gpu.wait async
    %x, %t1 = gpu.alloc async [%t0] (%c4) : memref<?xi32>
    %t2 = gpu.memset async [%t1] %x, %ten : memref<?xi32>, i32
    %t3 = gpu.launch_func async [%t2] @first::@step blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<?xi32>, %six : i32)
    %t4 = gpu.launch_func async [%t3] @second::@step blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<?xi32>, %two : i32)
    %t5 = gpu.memcpy async [%t4] %h, %x : memref<?xi32>, memref<?xi32>
    %t6 = gpu.dealloc async [%t5] %x : memref<?xi32>
    gpu.wait [%t6]
    %u = memref.cast %h : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<?xi32>
    return
  }

  func.func private @printMemrefI32(memref<*xi32>)
}
