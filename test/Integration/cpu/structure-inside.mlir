// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Branches inside an scf.execute_region, with a reduction in one of three ways, and an
// atomic whose new value is known.
// RUN: gpu-runner --device=cpu %s | FileCheck %s

// The threads x with x % 3 == 1 of 31 come: 1, 4, ..., 28; the others leave x.
// CHECK: sizes = [32]
// CHECK-NEXT: [0,  145,  2,  3,  145,  5,  {{.*}},  27,  145,  29,  30,  -1]
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%out: memref<?xi32>) kernel {
      %c3 = arith.constant 3 : index
      %c31 = arith.constant 31 : index
      %minus = arith.constant -1 : i32
      %t = gpu.thread_id x
      %i = arith.index_cast %t : index to i32
      %way = arith.remui %t, %c3 : index
      %flag = arith.index_cast %way : index to i32
      %v = scf.execute_region -> i32 {
        cf.switch %flag : i32, [default: ^other, 0: ^zero, 1: ^one]
      ^zero:
        cf.br ^end(%i : i32)
      ^one:
        %sum = gpu.all_reduce add %i {} : (i32) -> i32
        cf.br ^end(%sum : i32)
      ^other:
        cf.br ^end(%i : i32)
      ^end(%r: i32):
        scf.yield %r : i32
      }
      memref.store %v, %out[%t] : memref<?xi32>
      %u = memref.generic_atomic_rmw %out[%c31] : memref<?xi32> {
      ^bb0(%old: i32):
        %new = arith.maxui %old, %minus : i32
        memref.atomic_yield %new : i32
      }
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %o = memref.alloc(%c32) : memref<?xi32>
    %d = gpu.alloc (%c32) : memref<?xi32>
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c31, %c1, %c1) args(%d : memref<?xi32>)
    gpu.memcpy %o, %d : memref<?xi32>, memref<?xi32>
    gpu.dealloc %d : memref<?xi32>
    %u = memref.cast %o : memref<?xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %o : memref<?xi32>
    return
  }
  func.func private @printMemrefI32(memref<*xi32>)
}
