// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches with a stream operand of their own (here the null stream): they keep
// their order, nothing creates, destroys or waits for that stream, and a later
// sync op that conflicts comes after them.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @write(%x: memref<4xi32>) kernel {
      %i = gpu.thread_id x
      %v = arith.index_cast %i : index to i32
      memref.store %v, %x[%i] : memref<4xi32>
      gpu.return
    }
    gpu.func @square(%x: memref<4xi32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<4xi32>
      %w = arith.muli %v, %v : i32
      memref.store %w, %x[%i] : memref<4xi32>
      gpu.return
    }
  }

  // CHECK: [0, 1, 4, 9]
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %stream = llvm.mlir.zero : !llvm.ptr
    %h = memref.alloc() : memref<4xi32>
    %x = gpu.alloc () : memref<4xi32>
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@write blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<4xi32>)
    gpu.launch_func <%stream : !llvm.ptr> @kernels::@square blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%x : memref<4xi32>)
    gpu.memcpy %h, %x : memref<4xi32>, memref<4xi32>
    gpu.dealloc %x : memref<4xi32>
    %u = memref.cast %h : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<4xi32>
    return
  }

  func.func private @printMemrefI32(memref<*xi32>)
}
