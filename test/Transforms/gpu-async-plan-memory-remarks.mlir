// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a plan saves, beside what no plan of the same order goes below.
//
// RUN: gpu-opt %s -gpu-async-plan-memory=remarks=true -verify-diagnostics -o /dev/null

!m = memref<64xf32, 1>

// %x and %z share; 2 steps of 256 bytes each for %x and %y, 1 for %z, and 3 of
// 512 for the slab.
func.func @chain(%in: !m, %out: !m) {
  // expected-remark @below {{3 allocations of 768 bytes become 1 of 512; the program may hold 768 at a time, and its order needs 512; 1536 bytes times steps become 2048}}
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memcpy async [%tx] %x, %in : !m, !m
  %y, %ty = gpu_async.alloc async () : !m
  %b = gpu_async.memcpy async [%ty, %a] %y, %x : !m, !m
  %fx = gpu_async.dealloc async [%b] %x : !m
  %z, %tz = gpu_async.alloc async () : !m
  %c = gpu_async.memcpy async [%tz, %b] %z, %y : !m, !m
  %fy = gpu_async.dealloc async [%c] %y : !m
  %d = gpu_async.memcpy async [%c] %out, %z : !m, !m
  %fz = gpu_async.dealloc async [%d] %z : !m
  return
}

// Two sizes that are known at run time; those of one size follow each other.
func.func @dynamic(%n: index, %m: index, %v: f32) {
  // expected-remark @below {{4 allocations of 256 bytes become 1 of 256; the program may hold 256 at a time, and its order needs 256; 1024 bytes times steps become 1024; 2 of equal sizes, known at run time, are in 1 places, and their order needs 1; 1 of equal sizes, known at run time, are in 1 places, and their order needs 1}}
  %c, %tc = gpu_async.alloc async () : !m
  %x, %tx = gpu_async.alloc async (%n) : memref<?xf32, 1>
  %y, %ty = gpu_async.alloc async (%n) : memref<?xf32, 1>
  %z, %tz = gpu_async.alloc async (%m) : memref<?xf32, 1>
  %a = gpu_async.memset async [%tx] %x, %v : memref<?xf32, 1>, f32
  %b = gpu_async.memset async [%ty, %a] %y, %v : memref<?xf32, 1>, f32
  %d = gpu_async.memset async [%tz, %a] %z, %v : memref<?xf32, 1>, f32
  %e = gpu_async.memset async [%tc] %c, %v : !m, f32
  gpu_async.wait [%b, %d, %e]
  %f0 = gpu_async.dealloc async %x : memref<?xf32, 1>
  %f1 = gpu_async.dealloc async %y : memref<?xf32, 1>
  %f2 = gpu_async.dealloc async %z : memref<?xf32, 1>
  %f3 = gpu_async.dealloc async %c : !m
  return
}

// More bytes than there are numbers for.
func.func @too_large(%i: i8) {
  // expected-remark @below {{2 allocations stay: their bytes add up to 2^63 or more}}
  %x, %tx = gpu_async.alloc async () : memref<4611686018427387904xi8>
  %y, %ty = gpu_async.alloc async () : memref<4611686018427387904xi8>
  %a = gpu_async.memset async [%tx] %x, %i : memref<4611686018427387904xi8>, i8
  %b = gpu_async.memset async [%ty] %y, %i : memref<4611686018427387904xi8>, i8
  gpu_async.wait [%a, %b]
  %fx = gpu_async.dealloc async %x : memref<4611686018427387904xi8>
  %fy = gpu_async.dealloc async %y : memref<4611686018427387904xi8>
  return
}

// %z may not be with the others while %d is there.
func.func @some(%v: f32) {
  // expected-remark @below {{3 allocations of 768 bytes become 2 of 512, 1 as before; the program may hold 256 at a time, and its order needs 256; 768 bytes times steps become 768}}
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%a] %x : !m
  %y, %ty = gpu_async.alloc async [%fx] () : !m
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  gpu_async.wait [%b]
  %fy = gpu_async.dealloc async %y : !m
  %d, %td = gpu_async.alloc async host_shared () : !m
  %fd = gpu_async.dealloc async [%td] %d : !m
  %z, %tz = gpu_async.alloc async () : !m
  %c = gpu_async.memset async [%tz] %z, %v : !m, f32
  %fz = gpu_async.dealloc async [%c] %z : !m
  return
}

// One slab for both would be held with %d.
func.func @more(%v: f32) {
  // expected-remark @below {{2 allocations of 512 bytes stay: a plan might hold more than the program does; the program may hold 256 at a time, and its order needs 256; 512 bytes times steps}}
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%a] %x : !m
  %d, %td = gpu_async.alloc async [%fx] host_shared () : !m
  %e = gpu_async.memset async [%td] %d, %v : !m, f32
  %fd = gpu_async.dealloc async [%e] %d : !m
  %y, %ty = gpu_async.alloc async [%fx] () : !m
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%b] %y : !m
  return
}
