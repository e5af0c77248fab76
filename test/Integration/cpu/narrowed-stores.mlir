// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Five threads store what they narrow from 64 bits: nothing behind the last one changes
// (llvm/llvm-project#179489, on processors with AVX-512).
// RUN: gpu-runner --device=cpu %s | FileCheck %s

// CHECK: sizes = [8]
// CHECK-NEXT: [-1,  -1,  -1,  -1,  -1,  0,  0,  0]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%in: memref<?xi64>, %out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %x = memref.load %in[%t] : memref<?xi64>
      gpu.barrier
      %y = arith.trunci %x : i64 to i32
      memref.store %y, %out[%t] : memref<?xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %minus = arith.constant -1 : i64
    %zero = arith.constant 0 : i32
    %o = memref.alloc(%c8) : memref<?xi32>
    %in = gpu.alloc (%c8) : memref<?xi64>
    %d = gpu.alloc (%c8) : memref<?xi32>
    gpu.memset %in, %minus : memref<?xi64>, i64
    gpu.memset %d, %zero : memref<?xi32>, i32
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c5, %c1, %c1) args(%in : memref<?xi64>, %d : memref<?xi32>)
    gpu.memcpy %o, %d : memref<?xi32>, memref<?xi32>
    gpu.dealloc %in : memref<?xi64>
    gpu.dealloc %d : memref<?xi32>
    %u = memref.cast %o : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<?xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
