// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `x < n` in 8 bits is no bound of the loop over x: 128 to 255 are negative.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: sizes = [256]
// CHECK-NEXT: [1,  1,  1,  1,  1,  0,{{( 0,)+}}  1,{{( 1,)+}}  1]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%out: memref<?xi32>, %n: i8) kernel {
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i8
      gpu.barrier
      %c = arith.cmpi slt, %i, %n : i8
      scf.if %c {
        %x = arith.constant 1 : i32
        memref.store %x, %out[%t] : memref<?xi32>
      }
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : i8
    %c32 = arith.constant 256 : index
    %o = memref.alloc(%c32) : memref<?xi32>
    %d = gpu.alloc (%c32) : memref<?xi32>
    %z = arith.constant 0 : i32
    gpu.memset %d, %z : memref<?xi32>, i32
    gpu.launch_func @k::@f blocks in (%c1,%c1,%c1) threads in (%c32,%c1,%c1) args(%d : memref<?xi32>, %c5 : i8)
    gpu.memcpy %o, %d : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d : memref<?xi32>
    %u = memref.cast %o : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<?xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
