// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions bit by bit, and collectives of i1.
// RUN: gpu-runner %s --ranks=3 --device=cpu --leak-check=error --input=4xi32=7,%r,-1,-2 --input=4xi1=1,0,1,0 --input=%r | FileCheck %s
// CHECK:      rank 0:
// CHECK-NEXT: result[0]: 4xi32=7 0 -1 -2
// CHECK-NEXT: result[1]: 4xi32=7 3 -1 -2
// CHECK-NEXT: result[2]: 4xi1=1 0 0 0
// CHECK-NEXT: result[3]: 4xi1=1 0 1 1
// CHECK-NEXT: result[4]: 12xi1=1 0 1 0 1 0 1 0 1 0 0 1
// CHECK-NEXT: rank 1:
// CHECK-NEXT: result[0]: 4xi32=7 0 -1 -2
// CHECK-NEXT: result[1]: 4xi32=7 3 -1 -2
// CHECK-NEXT: result[2]: 4xi1=1 0 0 0
// CHECK-NEXT: result[3]: 4xi1=1 0 1 1
// CHECK-NEXT: result[4]: 12xi1=1 0 1 0 1 0 1 0 1 0 0 1
// CHECK-NEXT: rank 2:
// CHECK-NEXT: result[0]: 4xi32=7 0 -1 -2
// CHECK-NEXT: result[1]: 4xi32=7 3 -1 -2
// CHECK-NEXT: result[2]: 4xi1=1 0 0 0
// CHECK-NEXT: result[3]: 4xi1=1 0 1 1
// CHECK-NEXT: result[4]: 12xi1=1 0 1 0 1 0 1 0 1 0 0 1
func.func @main(%x: memref<4xi32>, %b: memref<4xi1>, %rank: index) -> (memref<4xi32>, memref<4xi32>, memref<4xi1>, memref<4xi1>, memref<12xi1>) {
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  // On rank 2, the last two bits change.
  %is = arith.cmpi eq, %rank, %c2 : index
  %not = arith.cmpi ne, %rank, %c2 : index
  memref.store %not, %b[%c2] : memref<4xi1>
  memref.store %is, %b[%c3] : memref<4xi1>
  %d = gpu.alloc () : memref<4xi32>
  %e = gpu.alloc () : memref<4xi1>
  gpu.memcpy %d, %x : memref<4xi32>, memref<4xi32>
  gpu.memcpy %e, %b : memref<4xi1>, memref<4xi1>
  %and = gpu.alloc () : memref<4xi32>
  gpu_async.collective all_reduce<and> %and, %d : memref<4xi32>, memref<4xi32>
  gpu_async.collective all_reduce<or> %d, %d : memref<4xi32>, memref<4xi32>
  %all = gpu.alloc () : memref<12xi1>
  gpu_async.collective all_gather %all, %e : memref<12xi1>, memref<4xi1>
  %ande = gpu.alloc () : memref<4xi1>
  gpu_async.collective all_reduce<and> %ande, %e : memref<4xi1>, memref<4xi1>
  gpu_async.collective all_reduce<or> %e, %e : memref<4xi1>, memref<4xi1>
  %h0 = memref.alloc() : memref<4xi32>
  gpu.memcpy %h0, %and : memref<4xi32>, memref<4xi32>
  %h1 = memref.alloc() : memref<4xi32>
  gpu.memcpy %h1, %d : memref<4xi32>, memref<4xi32>
  %h2 = memref.alloc() : memref<4xi1>
  gpu.memcpy %h2, %ande : memref<4xi1>, memref<4xi1>
  %h3 = memref.alloc() : memref<4xi1>
  gpu.memcpy %h3, %e : memref<4xi1>, memref<4xi1>
  %h4 = memref.alloc() : memref<12xi1>
  gpu.memcpy %h4, %all : memref<12xi1>, memref<12xi1>
  gpu.dealloc %d : memref<4xi32>
  gpu.dealloc %e : memref<4xi1>
  gpu.dealloc %and : memref<4xi32>
  gpu.dealloc %all : memref<12xi1>
  gpu.dealloc %ande : memref<4xi1>
  return %h0, %h1, %h2, %h3, %h4 : memref<4xi32>, memref<4xi32>, memref<4xi1>, memref<4xi1>, memref<12xi1>
}
