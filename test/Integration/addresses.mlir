// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that take addresses in numbers, and add them to null: LLVM may not
// take what they do for unreachable, and launches that have only numbers in
// common keep their order.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:1 gpu-runner --device=cpu %s | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:2 gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

module attributes {gpu.container_module} {
  gpu.module @k {
    llvm.func @null(%a: i64, %v: i32) attributes {gpu.kernel} {
      %z = llvm.mlir.zero : !llvm.ptr
      %p = llvm.getelementptr %z[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %three = llvm.mlir.constant(3 : i32) : i32
      %old = llvm.load %p : !llvm.ptr -> i32
      %x = llvm.mul %old, %three : i32
      %new = llvm.add %x, %v : i32
      llvm.store %new, %p : i32, !llvm.ptr
      llvm.return
    }
    llvm.func @beyond(%a: i64, %v: i32) attributes {gpu.kernel} {
      %z = llvm.mlir.zero : !llvm.ptr
      %four = llvm.mlir.constant(4 : i64) : i64
      %q = llvm.getelementptr %z[4] : (!llvm.ptr) -> !llvm.ptr, i8
      %b = llvm.sub %a, %four : i64
      %p = llvm.getelementptr %q[%b] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %five = llvm.mlir.constant(5 : i32) : i32
      %old = llvm.load %p : !llvm.ptr -> i32
      %x = llvm.mul %old, %five : i32
      %new = llvm.add %x, %v : i32
      llvm.store %new, %p : i32, !llvm.ptr
      llvm.return
    }
    llvm.func @cast(%a: i64, %v: i32) attributes {gpu.kernel} {
      %z = llvm.mlir.zero : !llvm.ptr<1>
      %q = llvm.addrspacecast %z : !llvm.ptr<1> to !llvm.ptr
      %p = llvm.getelementptr %q[%a] : (!llvm.ptr, i64) -> !llvm.ptr, i8
      %seven = llvm.mlir.constant(7 : i32) : i32
      %old = llvm.load %p : !llvm.ptr -> i32
      %x = llvm.mul %old, %seven : i32
      %new = llvm.add %x, %v : i32
      llvm.store %new, %p : i32, !llvm.ptr
      llvm.return
    }
  }

  func.func private @updateAll(%x: memref<1xi32>) {
    %c1 = arith.constant 1 : index
    %i = memref.extract_aligned_pointer_as_index %x : memref<1xi32> -> index
    %a = arith.index_cast %i : index to i64
    %v1 = arith.constant 1 : i32
    gpu.launch_func @k::@null blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %v1 : i32)
    %v2 = arith.constant 2 : i32
    gpu.launch_func @k::@beyond blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %v2 : i32)
    %v3 = arith.constant 3 : i32
    gpu.launch_func @k::@cast blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %v3 : i32)
    return
  }

  // ((1 * 3 + 1) * 5 + 2) * 7 + 3
  // CHECK: result[0]: i32=157
  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %x = gpu.alloc () : memref<1xi32>
    %h = memref.alloc() : memref<1xi32>
    gpu.memset %x, %one : memref<1xi32>, i32
    call @updateAll(%x) : (memref<1xi32>) -> ()
    gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
    gpu.dealloc %x : memref<1xi32>
    %v = memref.load %h[%c0] : memref<1xi32>
    memref.dealloc %h : memref<1xi32>
    return %v : i32
  }
}
