// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that is an llvm.func in a gpu.module, with pointer and scalar
// parameters.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    llvm.func @fill(%x: !llvm.ptr, %value: i32) attributes {gpu.kernel, nvvm.kernel} {
      %i = gpu.thread_id x
      %i64 = arith.index_cast %i : index to i64
      %p = llvm.getelementptr %x[%i64] : (!llvm.ptr, i64) -> !llvm.ptr, i32
      %i32 = llvm.trunc %i64 : i64 to i32
      %v = llvm.add %value, %i32 : i32
      llvm.store %v, %p : i32, !llvm.ptr
      llvm.return
    }
  }

  // CHECK: [100, 101, 102, 103]
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %value = arith.constant 100 : i32
    %h = memref.alloc() : memref<4xi32>
    %x = gpu.alloc () : memref<4xi32>
    %address = memref.extract_aligned_pointer_as_index %x : memref<4xi32> -> index
    %address64 = arith.index_cast %address : index to i64
    %pointer = llvm.inttoptr %address64 : i64 to !llvm.ptr
    gpu.launch_func @kernels::@fill blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%pointer : !llvm.ptr, %value : i32)
    gpu.memcpy %h, %x : memref<4xi32>, memref<4xi32>
    gpu.dealloc %x : memref<4xi32>
    %u = memref.cast %h : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<4xi32>
    return
  }

  func.func private @printMemrefI32(memref<*xi32>)
}
