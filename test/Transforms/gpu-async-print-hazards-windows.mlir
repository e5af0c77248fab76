// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of planned allocations: the same memory where bytes overlap, and the
// slab's. An iteration has its own where it makes the slab.
//
// RUN: gpu-opt %s -gpu-async-print-hazards -o /dev/null 2>&1 | FileCheck %s
// RUN: gpu-opt %s -gpu-async-print-hazards -o /dev/null 2>&1 | count 8

!w = memref<64xf32>

func.func @line(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %s, %t = gpu_async.alloc async () : memref<768xi8>
  %x = gpu_async.window %s[%c0] () : memref<768xi8> to !w
  %y = gpu_async.window %s[%c256] () : memref<768xi8> to !w
  %wide = gpu_async.window %s[%c256] () : memref<768xi8> to memref<65xf32>
  %dynamic = gpu_async.window %s[%n] () : memref<768xi8> to !w
  // %x and %y share nothing.
  %a = gpu_async.memset async [%t] %x, %v : !w, f32
  %b = gpu_async.memset async [%t] %y, %v : !w, f32
  // CHECK: hazard in @line: write-after-write of a part of the buffer of {{.*}} gpu_async.memset at loc("{{.*}}":[[@LINE+2]]:8) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-1]]:8)
  %half = memref.subview %wide[32][33][1] : memref<65xf32> to memref<33xf32, strided<[1], offset: 32>>
  %c = gpu_async.memset async [%a] %half, %v : memref<33xf32, strided<[1], offset: 32>>, f32
  // CHECK-NEXT: hazard in @line: write-after-write of the buffer of {{.*}} gpu_async.memset at loc("{{.*}}":[[@LINE+1]]:8) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-1]]:8)
  %d = gpu_async.memset async [%a, %b] %dynamic, %v : !w, f32
  // CHECK-NEXT: hazard in @line: write-after-write of the buffer of {{.*}} gpu_async.dealloc at loc("{{.*}}":[[@LINE+1]]:8) is not ordered after gpu_async.memset at loc("{{.*}}":[[@LINE-1]]:8)
  %f = gpu_async.dealloc async [%a, %b, %c] %s : memref<768xi8>
  // Not after the allocation.
  // CHECK-NEXT: hazard in @line: write-after-write of the buffer of {{.*}} gpu_async.memset at loc("{{.*}}":[[@LINE+4]]:8) is not ordered after gpu_async.alloc at loc("{{.*}}":[[@LINE+2]]:14)
  gpu_async.wait [%d, %f]
  %s2, %t2 = gpu_async.alloc async () : memref<256xi8>
  %z = gpu_async.window %s2[%c0] () : memref<256xi8> to !w
  %e = gpu_async.memset async %z, %v : !w, f32
  return
}

// CHECK-COUNT-4: hazard in @outside: {{.*}} of an earlier iteration
func.func @outside(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s, %t = gpu_async.alloc async () : memref<256xi8>
  scf.for %i = %c0 to %n step %c1 {
    %x = gpu_async.window %s[%c0] () : memref<256xi8> to !w
    %y = gpu_async.window %s[%c0] () : memref<256xi8> to memref<32xf32>
    %a = gpu_async.memset async [%t] %x, %v : !w, f32
    %b = gpu_async.memset async [%a] %y, %v : memref<32xf32>, f32
  }
  return
}

func.func @inside(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %s, %t = gpu_async.alloc async () : memref<256xi8>
    %x = gpu_async.window %s[%c0] () : memref<256xi8> to !w
    %y = gpu_async.window %s[%c0] () : memref<256xi8> to memref<32xf32>
    %a = gpu_async.memset async [%t] %x, %v : !w, f32
    %b = gpu_async.memset async [%a] %y, %v : memref<32xf32>, f32
  }
  return
}
