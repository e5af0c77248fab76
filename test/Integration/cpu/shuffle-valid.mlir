// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What threads disagree about after a shuffle: whether the result is valid, and so who
// comes to a reduction. Beyond the width nothing is valid.
// RUN: gpu-runner --device=cpu -O0 %s | FileCheck %s
// RUN: gpu-runner --device=cpu %s | FileCheck %s

// The 25 lanes that find a value 7 lanes on add up 0 to 24.
// CHECK: sizes = [32]
// CHECK-NEXT: [300{{(,  300)+}},  -1,  -1,  -1,  -1,  -1,  -1,  -1]
// Of 35 threads, the lanes 0 to 15 of each subgroup are in the width, 16 ^ 16 is not.
// CHECK: sizes = [35]
// CHECK-NEXT: [0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,{{( 0,)+}}  0]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @come(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      %c7 = arith.constant 7 : i32
      %w = arith.constant 32 : i32
      %r, %valid = gpu.shuffle down %i, %c7, %w : i32
      scf.if %valid {
        %s = gpu.all_reduce add %i {} : (i32) -> i32
        memref.store %s, %out[%t] : memref<?xi32>
      }
      gpu.return
    }
    gpu.func @width(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      %c16 = arith.constant 16 : i32
      %r, %valid = gpu.shuffle xor %i, %c16, %c16 : i32
      %v = arith.extui %valid : i1 to i32
      memref.store %v, %out[%t] : memref<?xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %c35 = arith.constant 35 : index
    %o = memref.alloc(%c32) : memref<?xi32>
    %d = gpu.alloc (%c32) : memref<?xi32>
    %m = arith.constant -1 : i32
    gpu.memset %d, %m : memref<?xi32>, i32
    gpu.launch_func @k::@come blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1) args(%d : memref<?xi32>)
    gpu.memcpy %o, %d : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d : memref<?xi32>
    %u = memref.cast %o : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    %p = memref.alloc(%c35) : memref<?xi32>
    %e = gpu.alloc (%c35) : memref<?xi32>
    gpu.launch_func @k::@width blocks in (%c1, %c1, %c1) threads in (%c35, %c1, %c1) args(%e : memref<?xi32>)
    gpu.memcpy %p, %e : memref<?xi32>, memref<?xi32>
    gpu.dealloc %e : memref<?xi32>
    %w = memref.cast %p : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%w) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<?xi32>
    memref.dealloc %p : memref<?xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
