// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A copy from pageable memory reads it at once, so the host may free it. What the host
// allocates next may lie there, and a copy to that is no race with the first.
// RUN: gpu-runner --device=cpu --check %s | FileCheck %s
// CHECK: result[0]: i32=2
// CHECK: result[1]: i32=1
// Without the free it is one.
// RUN: not gpu-runner --device=cpu --check %s -e kept 2>&1 | FileCheck %s --check-prefix=RACE
// RACE: error: race between device ops that nothing orders: gpu.memcpy
func.func @main() -> (i32, i32) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %s = gpu.wait async
  %a, %t0 = gpu.alloc async [%s] () : memref<16xi32>
  %b, %t1 = gpu.alloc async [%s] () : memref<16xi32>
  %t2 = gpu.memset async [%t1] %b, %two : memref<16xi32>, i32
  %h = memref.alloc() : memref<16xi32>
  memref.store %one, %h[%c0] : memref<16xi32>
  %t3 = gpu.memcpy async [%t0] %a, %h : memref<16xi32>, memref<16xi32>
  memref.dealloc %h : memref<16xi32>
  %g = memref.alloc() : memref<16xi32>
  %t4 = gpu.memcpy async [%t2] %g, %b : memref<16xi32>, memref<16xi32>
  gpu.wait [%t3, %t4]
  %r = memref.load %g[%c0] : memref<16xi32>
  %t5 = gpu.memcpy async [%t3, %t4] %g, %a : memref<16xi32>, memref<16xi32>
  gpu.wait [%t5]
  %q = memref.load %g[%c0] : memref<16xi32>
  memref.dealloc %g : memref<16xi32>
  %t6 = gpu.dealloc async [%t5] %a : memref<16xi32>
  %t7 = gpu.dealloc async [%t5] %b : memref<16xi32>
  gpu.wait [%t6, %t7]
  return %r, %q : i32, i32
}
func.func @kept() {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %s = gpu.wait async
  %a, %t0 = gpu.alloc async [%s] () : memref<16xi32>
  %b, %t1 = gpu.alloc async [%s] () : memref<16xi32>
  %t2 = gpu.memset async [%t1] %b, %two : memref<16xi32>, i32
  %h = memref.alloc() : memref<16xi32>
  memref.store %one, %h[%c0] : memref<16xi32>
  %t3 = gpu.memcpy async [%t0] %a, %h : memref<16xi32>, memref<16xi32>
  %t4 = gpu.memcpy async [%t2] %h, %b : memref<16xi32>, memref<16xi32>
  gpu.wait [%t3, %t4]
  memref.dealloc %h : memref<16xi32>
  %t6 = gpu.dealloc async [%t3] %a : memref<16xi32>
  %t7 = gpu.dealloc async [%t4] %b : memref<16xi32>
  gpu.wait [%t6, %t7]
  return
}
