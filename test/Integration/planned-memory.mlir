// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers that come and go become windows of one allocation: counted. With
// --memory=keep each is its own.
// RUN: gpu-runner --device=cpu --stats --leak-check=error %s 2>%t.plan | FileCheck %s
// RUN: FileCheck --check-prefix=PLAN --input-file=%t.plan %s
// RUN: gpu-runner --device=cpu --memory=keep --stats %s 2>%t.keep | FileCheck %s
// RUN: FileCheck --check-prefix=KEEP --input-file=%t.keep %s
// Under --check each is its own, too, unless the plan is to be checked.
// RUN: gpu-runner --device=cpu --check --stats %s 2>%t.check | FileCheck %s
// RUN: FileCheck --check-prefix=CHECKED --input-file=%t.check %s
// RUN: gpu-runner --device=cpu --check --memory=plan --stats %s 2>%t.both | FileCheck %s
// RUN: FileCheck --check-prefix=PLAN --input-file=%t.both %s

// CHECK: [9,  9,
// PLAN: "buffers": {"created": 1, "destroyed": 1, "live": 0, "peak": 1
// KEEP: "buffers": {"created": 3, "destroyed": 3, "live": 0, "peak": 2
// CHECKED: "buffers": {"created": 3, "destroyed": 3, "live": 0,
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @increment(%x: memref<32xi32>, %y: memref<32xi32>) kernel {
      %one = arith.constant 1 : i32
      %i = gpu.thread_id x
      %v = memref.load %x[%i] : memref<32xi32>
      %w = arith.addi %v, %one : i32
      memref.store %w, %y[%i] : memref<32xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %i7 = arith.constant 7 : i32
    %h = memref.alloc() : memref<32xi32>
    %a = gpu.alloc () : memref<32xi32>
    gpu.memset %a, %i7 : memref<32xi32>, i32
    %b = gpu.alloc () : memref<32xi32>
    gpu.launch_func @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%a : memref<32xi32>, %b : memref<32xi32>)
    gpu.dealloc %a : memref<32xi32>
    %c = gpu.alloc () : memref<32xi32>
    gpu.launch_func @kernels::@increment blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%b : memref<32xi32>, %c : memref<32xi32>)
    gpu.dealloc %b : memref<32xi32>
    gpu.memcpy %h, %c : memref<32xi32>, memref<32xi32>
    gpu.dealloc %c : memref<32xi32>
    %u = memref.cast %h : memref<32xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<32xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
