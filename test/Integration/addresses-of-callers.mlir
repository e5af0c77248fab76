// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that calls itself with another address, if its number is large. Nobody has it do
// so. Code for the CPU alone may call a kernel: elsewhere a kernel has more parameters than
// the program says.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:1 gpu-runner --device=cpu %s | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @k {
    llvm.func @again(%a: i64, %v: i32) attributes {gpu.kernel} {
      %zero = llvm.mlir.constant(0 : i32) : i32
      %nowhere = llvm.mlir.constant(0 : i64) : i64
      %many = llvm.mlir.constant(100 : i32) : i32
      %is = llvm.icmp "sgt" %v, %many : i32
      llvm.cond_br %is, ^again, ^end
    ^again:
      llvm.call @again(%nowhere, %zero) : (i64, i32) -> ()
      llvm.return
    ^end:
      %p = llvm.inttoptr %a : i64 to !llvm.ptr
      %eleven = llvm.mlir.constant(11 : i32) : i32
      %old = llvm.load %p : !llvm.ptr -> i32
      %x = llvm.mul %old, %eleven : i32
      %new = llvm.add %x, %v : i32
      llvm.store %new, %p : i32, !llvm.ptr
      llvm.return
    }
  }

  func.func private @updateAll(%x: memref<1xi32>) {
    %c1 = arith.constant 1 : index
    %i = memref.extract_aligned_pointer_as_index %x : memref<1xi32> -> index
    %a = arith.index_cast %i : index to i64
    %v3 = arith.constant 3 : i32
    gpu.launch_func @k::@again blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %v3 : i32)
    %v4 = arith.constant 4 : i32
    gpu.launch_func @k::@again blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : i64, %v4 : i32)
    return
  }

  // (1 * 11 + 3) * 11 + 4
  // CHECK: result[0]: i32=158
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
