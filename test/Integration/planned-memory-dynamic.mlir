// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Buffers of sizes that are known at run time become windows of one allocation;
// those of one size share places. Sizes that are errors are reported at the
// program's allocation, not at the sum.
// RUN: gpu-runner --device=cpu --stats --leak-check=error %s --input=1000 2>%t.err | FileCheck %s --check-prefix=SUM
// RUN: FileCheck %s --check-prefix=STATS --input-file=%t.err
// RUN: gpu-runner --device=cpu --memory=keep %s --input=1000 | FileCheck %s --check-prefix=SUM
// RUN: gpu-runner --device=cpu %s --input=0 | FileCheck %s --check-prefix=NONE
// RUN: not gpu-runner --device=cpu %s --input=-3 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not gpu-runner --device=cpu %s --input=4611686018427387904 2>&1 | FileCheck %s --check-prefix=PRODUCT
// RUN: not gpu-runner --device=cpu %s --input=2000000000000000000 2>&1 | FileCheck %s --check-prefix=TOTAL
// SUM: 1008
// STATS: "buffers": {"created": 1, "destroyed": 1
// NONE: 0
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @step(%x: memref<?xi32>, %y: memref<?xi32>, %n: index) kernel {
      %one = arith.constant 1 : i32
      %i = gpu.global_id x
      %inside = arith.cmpi ult, %i, %n : index
      scf.if %inside {
        %v = memref.load %x[%i] : memref<?xi32>
        %w = arith.addi %v, %one : i32
        memref.store %w, %y[%i] : memref<?xi32>
      }
      gpu.return
    }
  }
  func.func @main(%n: index) -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c128 = arith.constant 128 : index
    %zero = arith.constant 0 : i32
    %i7 = arith.constant 1005 : i32
    %blocks = arith.ceildivui %n, %c128 : index
    // NEGATIVE: planned-memory-dynamic.mlir:[[@LINE+3]]:10: error: gpu_async.alloc: negative size: -3
    // PRODUCT: planned-memory-dynamic.mlir:[[@LINE+2]]:10: error: gpu_async.alloc: too large: 4611686018427387904
    // TOTAL: planned-memory-dynamic.mlir:[[@LINE+1]]:10: error: gpu_async.alloc of 4 planned allocations: out of memory
    %a = gpu.alloc (%n) : memref<?xi32>
    gpu.memset %a, %i7 : memref<?xi32>, i32
    %b = gpu.alloc (%n) : memref<?xi32>
    gpu.launch_func @kernels::@step blocks in (%blocks, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%a : memref<?xi32>, %b : memref<?xi32>, %n : index)
    gpu.dealloc %a : memref<?xi32>
    %c = gpu.alloc (%n) : memref<?xi32>
    gpu.launch_func @kernels::@step blocks in (%blocks, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%b : memref<?xi32>, %c : memref<?xi32>, %n : index)
    gpu.dealloc %b : memref<?xi32>
    %d = gpu.alloc (%n) : memref<?xi32>
    gpu.launch_func @kernels::@step blocks in (%blocks, %c1, %c1) threads in (%c128, %c1, %c1)
        args(%c : memref<?xi32>, %d : memref<?xi32>, %n : index)
    gpu.dealloc %c : memref<?xi32>
    %h = memref.alloc(%n) : memref<?xi32>
    gpu.memcpy %h, %d : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d : memref<?xi32>
    %any = arith.cmpi ne, %n, %c0 : index
    %r = scf.if %any -> i32 {
      %last = arith.subi %n, %c1 : index
      %v = memref.load %h[%last] : memref<?xi32>
      scf.yield %v : i32
    } else {
      scf.yield %zero : i32
    }
    memref.dealloc %h : memref<?xi32>
    return %r : i32
  }
}
