// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The length of a loop around a barrier is the same for all threads, but only the threads
// find it out, in a loop that the block does not run.
// RUN: gpu-runner --device=cpu %s | FileCheck %s

// Six times 0 + 1 + ... + 7.
// CHECK: sizes = [8]
// CHECK-NEXT: [168{{(,  168)+}}]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%out: memref<?xi32>, %n: index) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %i0 = arith.constant 0 : i32
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      // The same for all threads, which only the threads know.
      %bound = scf.for %k = %c0 to %n step %c1 iter_args(%b = %c0) -> index {
        %u = memref.atomic_rmw addi %i, %out[%c0] : (i32, memref<?xi32>) -> i32
        %next = arith.addi %b, %k : index
        scf.yield %next : index
      }
      %sum = scf.for %k = %c0 to %bound step %c1 iter_args(%s = %i0) -> i32 {
        %all = gpu.all_reduce add %i {} : (i32) -> i32
        %next = arith.addi %s, %all : i32
        scf.yield %next : i32
      }
      memref.store %sum, %out[%t] : memref<?xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %o = memref.alloc(%c8) : memref<?xi32>
    %d = gpu.alloc (%c8) : memref<?xi32>
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%d : memref<?xi32>, %c4 : index)
    gpu.memcpy %o, %d : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d : memref<?xi32>
    %u = memref.cast %o : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<?xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
