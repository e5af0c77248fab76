// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thousand turns that each allocate, fill, copy and free device memory.
// RUN: gpu-runner --device=cpu --leak-check=error %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda --leak-check=error %s | FileCheck %s %}

// The sum of 0 .. 999 in each element:
// CHECK: [499500, 499500, 499500]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c1000 = arith.constant 1000 : index
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<3xi32>
  %sum = memref.alloc() : memref<3xi32>
  linalg.fill ins(%zero : i32) outs(%sum : memref<3xi32>)
  scf.for %i = %c0 to %c1000 step %c1 {
    %v = arith.index_cast %i : index to i32
    %t0 = gpu.wait async
    %x, %t1 = gpu.alloc async [%t0] (%c3) : memref<?xi32>
    %t2 = gpu.memset async [%t1] %x, %v : memref<?xi32>, i32
    %hd = memref.cast %h : memref<3xi32> to memref<?xi32>
    %t3 = gpu.memcpy async [%t2] %hd, %x : memref<?xi32>, memref<?xi32>
    %t4 = gpu.dealloc async [%t3] %x : memref<?xi32>
    gpu.wait [%t4]
    scf.for %j = %c0 to %c3 step %c1 {
      %a = memref.load %sum[%j] : memref<3xi32>
      %b = memref.load %h[%j] : memref<3xi32>
      %c = arith.addi %a, %b : i32
      memref.store %c, %sum[%j] : memref<3xi32>
    }
  }
  %u = memref.cast %sum : memref<3xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<3xi32>
  memref.dealloc %sum : memref<3xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
