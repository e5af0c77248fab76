// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The benchmark's kernels become vectors over the threads in x: between
// barriers, with a block size that all launches agree about, up to the end of an
// array without masks, and with them where the other threads do something else.
// RUN: gpu-runner --emit=llvm --mcpu=haswell %S/../../bench/cpu/programs/matmul.mlir | FileCheck %s --check-prefix=MATMUL
// MATMUL: fmul contract <{{8|16}} x float>
// RUN: gpu-runner --emit=llvm --mcpu=skylake-avx512 %S/../../bench/cpu/programs/saxpy.mlir | FileCheck %s --check-prefix=SAXPY
// SAXPY-NOT: llvm.masked
// SAXPY: {{(fmul|fadd) contract}} <8 x float>
// SAXPY-NOT: llvm.masked
// RUN: gpu-runner --emit=llvm --mcpu=skylake-avx512 %S/../../bench/cpu/programs/reduce.mlir | FileCheck %s --check-prefix=REDUCE
// REDUCE: call {{.*}}<8 x float> @llvm.masked.load
// RUN: gpu-runner --emit=llvm -O0 %s | FileCheck %s --check-prefix=LOOPS
// LOOPS: "llvm.loop.parallel_accesses"
// RUN: gpu-runner --device=cpu %s | FileCheck %s

// Launches of one kernel with different block sizes: neither is a constant.
// CHECK: [3, 3, 2, 1]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @add(%x: memref<4xi32>) kernel {
      %one = arith.constant 1 : i32
      %t = gpu.thread_id x
      %v = memref.load %x[%t] : memref<4xi32>
      gpu.barrier
      %w = arith.addi %v, %one : i32
      memref.store %w, %x[%t] : memref<4xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0 : i32
    %h = memref.alloc() : memref<4xi32>
    %x = gpu.alloc () : memref<4xi32>
    gpu.memset %x, %zero : memref<4xi32>, i32
    gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xi32>)
    gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c3, %c1, %c1) args(%x : memref<4xi32>)
    gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1) args(%x : memref<4xi32>)
    gpu.memcpy %h, %x : memref<4xi32>, memref<4xi32>
    gpu.dealloc %x : memref<4xi32>
    %u = memref.cast %h : memref<4xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<4xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
