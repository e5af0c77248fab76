// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels written out as gpu.func in two gpu.modules, launched with
// gpu.launch_func; both modules have a kernel and a global of the same name. They
// run as one module and as two.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-opt -gpu-async-pipeline="targets=cpu link-modules=false on-error=status packed-wrappers=true" %s | gpu-runner --device=cpu - | FileCheck %s
// RUN: gpu-opt -gpu-async-pipeline="targets=cpu on-error=status packed-wrappers=true" %s | FileCheck %s --check-prefix=ONE
// ONE: @{{.*}}second_step
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

module attributes {gpu.container_module} {
  gpu.module @first {
    memref.global "private" constant @offset : memref<4xi32> = dense<0>
    gpu.func @step(%x: memref<?xi32>, %by: i32) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<?xi32>
      %global = memref.get_global @offset : memref<4xi32>
      %offset = memref.load %global[%i] : memref<4xi32>
      %sum = arith.addi %v, %by : i32
      %w = arith.addi %sum, %offset : i32
      memref.store %w, %x[%i] : memref<?xi32>
      gpu.return
    }
  }
  gpu.module @second {
    memref.global "private" constant @offset : memref<4xi32> = dense<[0, 1, 2, 3]>
    gpu.func @step(%x: memref<?xi32>, %by: i32) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<?xi32>
      %global = memref.get_global @offset : memref<4xi32>
      %offset = memref.load %global[%i] : memref<4xi32>
      %product = arith.muli %v, %by : i32
      %w = arith.addi %product, %offset : i32
      memref.store %w, %x[%i] : memref<?xi32>
      gpu.return
    }
  }

  // CHECK: [32, 33, 34, 35]
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
