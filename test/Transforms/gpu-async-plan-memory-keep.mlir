// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocations that stay as they are, and slabs that are split so that no more
// memory is held than the program holds.
//
// RUN: gpu-opt %s -gpu-async-plan-memory | FileCheck %s

!m = memref<64xf32, 1>

// None of these can be followed, is freed once in its block, or is of a size that
// is known in time; and one that is left is as well by itself.
// CHECK-LABEL: func.func @stay
// CHECK-NOT: window
// CHECK: return
func.func private @take(memref<64xf32, 1>)
func.func @stay(%n: index, %c: i1, %v: f32, %h: memref<1xindex>) -> !m {
  %c0 = arith.constant 0 : index
  %shared, %0 = gpu_async.alloc async host_shared () : !m
  %left, %9 = gpu_async.alloc async () : !m
  // Not known where the first one is allocated.
  %late = memref.load %h[%c0] : memref<1xindex>
  %dynamic, %1 = gpu_async.alloc async (%late) : memref<?xf32, 1>
  %returned, %2 = gpu_async.alloc async () : !m
  %passed, %3 = gpu_async.alloc async () : !m
  func.call @take(%passed) : (!m) -> ()
  %carried, %4 = gpu_async.alloc async () : !m
  %one = scf.if %c -> !m {
    scf.yield %carried : !m
  } else {
    scf.yield %returned : !m
  }
  %address, %5 = gpu_async.alloc async () : !m
  %number = memref.extract_aligned_pointer_as_index %address : !m -> index
  %read, %6 = gpu_async.alloc async () : !m
  %value = memref.load %read[%c0] : !m
  %never, %7 = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%7] %never, %v : !m, f32
  %nested, %8 = gpu_async.alloc async () : !m
  scf.if %c {
    %f = gpu_async.dealloc async [%8] %nested : !m
    gpu_async.wait [%f]
  }
  %b = gpu_async.memset async [%9] %left, %v : !m, f32
  gpu_async.wait [%a, %b]
  %f0 = gpu_async.dealloc async %shared : !m
  %f1 = gpu_async.dealloc async %dynamic : memref<?xf32, 1>
  %f3 = gpu_async.dealloc async %passed : !m
  %f5 = gpu_async.dealloc async %address : !m
  %f6 = gpu_async.dealloc async %read : !m
  %f9 = gpu_async.dealloc async %left : !m
  return %returned : !m
}

// More bytes than there are numbers for: the runtime says which is too large.
// CHECK-LABEL: func.func @too_large
// CHECK-NOT: window
// CHECK: return
func.func @too_large(%i: i8) {
  %x, %tx = gpu_async.alloc async () : memref<4611686018427387904xi8>
  %y, %ty = gpu_async.alloc async () : memref<4611686018427387904xi8>
  %a = gpu_async.memset async [%tx] %x, %i : memref<4611686018427387904xi8>, i8
  %b = gpu_async.memset async [%ty] %y, %i : memref<4611686018427387904xi8>, i8
  gpu_async.wait [%a, %b]
  %fx = gpu_async.dealloc async %x : memref<4611686018427387904xi8>
  %fy = gpu_async.dealloc async %y : memref<4611686018427387904xi8>
  return
}

// Two of the three would be held with %d, which the program never does: a slab
// for two, and the third stays. With %d alone, until the end, one would do.
// CHECK-LABEL: func.func @gap
func.func @gap(%v: f32) {
  // CHECK: %[[S:.*]], %{{.*}} = gpu_async.alloc async() : memref<512xi8, 1>
  // CHECK: gpu_async.window %[[S]]
  %x, %tx = gpu_async.alloc async () : !m
  // CHECK: gpu_async.window %[[S]]
  %y, %ty = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  // CHECK: %[[B:.*]] = gpu_async.memset
  %b = gpu_async.memset async [%ty, %a] %y, %v : !m, f32
  %b1 = gpu_async.memset async [%b] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%b1] %x : !m
  // CHECK: gpu_async.dealloc async [%{{.*}}] %[[S]]
  %fy = gpu_async.dealloc async [%b] %y : !m
  // CHECK: gpu_async.alloc async host_shared() : memref<64xf32, 1>
  %d, %td = gpu_async.alloc async host_shared () : !m
  %e = gpu_async.memset async [%td, %b1] %d, %v : !m, f32
  // CHECK: gpu_async.dealloc async [%{{.*}}] %{{.*}} : memref<64xf32, 1>
  %fd = gpu_async.dealloc async [%e] %d : !m
  // CHECK: gpu_async.alloc async() : memref<64xf32, 1>
  %z, %tz = gpu_async.alloc async () : !m
  %g = gpu_async.memset async [%tz, %e] %z, %v : !m, f32
  %fz = gpu_async.dealloc async [%g] %z : !m
  return
}
// CHECK-LABEL: func.func @until_the_end
func.func @until_the_end(%v: f32) {
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  // CHECK: gpu_async.alloc async host_shared() : memref<64xf32, 1>
  // CHECK-NOT: gpu_async.alloc
  %d, %td = gpu_async.alloc async host_shared () : !m
  %e = gpu_async.memset async [%td, %a] %d, %v : !m, f32
  %y, %ty = gpu_async.alloc async () : !m
  %b = gpu_async.memset async [%ty, %e] %y, %v : !m, f32
  %c = gpu_async.memset async [%b] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%c] %x : !m
  %fy = gpu_async.dealloc async [%c] %y : !m
  %fd = gpu_async.dealloc async [%e] %d : !m
  return
}

// %x and %y may be one, also beside %d, and only %z must not be held with %e.
// CHECK-LABEL: func.func @offender
func.func @offender(%v: f32) {
  // CHECK: %[[S:.*]], %{{.*}} = gpu_async.alloc async() : memref<256xi8, 1>
  // CHECK: gpu_async.window %[[S]]
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  // CHECK: gpu_async.alloc async host_shared() : memref<64xf32, 1>
  %d, %td = gpu_async.alloc async host_shared () : !m
  %fd = gpu_async.dealloc async [%td] %d : !m
  %fx = gpu_async.dealloc async [%a] %x : !m
  // CHECK: gpu_async.window %[[S]]
  %y, %ty = gpu_async.alloc async [%fx] () : !m
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  gpu_async.wait [%b]
  // CHECK: gpu_async.dealloc async %[[S]]
  %fy = gpu_async.dealloc async %y : !m
  // CHECK: gpu_async.alloc async host_shared() : memref<64xf32, 1>
  %e, %te = gpu_async.alloc async host_shared () : !m
  %fe = gpu_async.dealloc async [%te] %e : !m
  // CHECK: %[[Z:.*]], %{{.*}} = gpu_async.alloc async() : memref<64xf32, 1>
  %z, %tz = gpu_async.alloc async () : !m
  %c = gpu_async.memset async [%tz] %z, %v : !m, f32
  // CHECK: gpu_async.dealloc async [%{{.*}}] %[[Z]]
  %fz = gpu_async.dealloc async [%c] %z : !m
  return
}

// Without the wait the device may come to %z before it has freed what %x and
// %y were in, which the program's %z comes after.
// CHECK-LABEL: func.func @unwaited
// CHECK-NOT: window
// CHECK: return
func.func @unwaited(%v: f32) {
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%a] %x : !m
  %y, %ty = gpu_async.alloc async [%fx] () : !m
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%b] %y : !m
  %e, %te = gpu_async.alloc async host_shared () : !m
  %fe = gpu_async.dealloc async [%te] %e : !m
  %z, %tz = gpu_async.alloc async [%fy] () : !m
  %c = gpu_async.memset async [%tz] %z, %v : !m, f32
  %fz = gpu_async.dealloc async [%c] %z : !m
  return
}

// What comes after a free that stays comes after it still.
// CHECK-LABEL: func.func @after_free
func.func @after_free(%v: f32) {
  %d, %td = gpu_async.alloc async host_shared () : !m
  %e = gpu_async.memset async [%td] %d, %v : !m, f32
  // CHECK: %[[F:.*]] = gpu_async.dealloc async [%{{.*}}] %{{.*}} : memref<64xf32, 1>
  %fd = gpu_async.dealloc async [%e] %d : !m
  // CHECK: gpu_async.alloc async [%[[F]]]() : memref<512xi8, 1>
  %x, %tx = gpu_async.alloc async [%fd] () : !m
  %y, %ty = gpu_async.alloc async [%fd] () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  // Not after the free: stays.
  // CHECK: gpu_async.alloc async() : memref<64xf32, 1>
  %z, %tz = gpu_async.alloc async () : !m
  %c = gpu_async.memset async [%tz] %z, %v : !m, f32
  gpu_async.wait [%a, %b, %c]
  %fx = gpu_async.dealloc async %x : !m
  %fy = gpu_async.dealloc async %y : !m
  %fz = gpu_async.dealloc async %z : !m
  return
}

// Sizes that are known at run time only, while something else is allocated that
// could be: only those of constants are planned.
// CHECK-LABEL: func.func @beside
func.func @beside(%n: index, %v: f32) {
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  %x, %tx = gpu_async.alloc async () : !m
  %y, %ty = gpu_async.alloc async () : !m
  // CHECK: gpu_async.alloc async(%{{.*}}) : memref<?xf32, 1>
  %p, %tp = gpu_async.alloc async (%n) : memref<?xf32, 1>
  %q, %tq = gpu_async.alloc async host_shared () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %c = gpu_async.memset async [%tp] %p, %v : memref<?xf32, 1>, f32
  %d = gpu_async.memset async [%tq] %q, %v : !m, f32
  gpu_async.wait [%a, %b, %c, %d]
  %fx = gpu_async.dealloc async %x : !m
  %fy = gpu_async.dealloc async %y : !m
  %fp = gpu_async.dealloc async %p : memref<?xf32, 1>
  %fq = gpu_async.dealloc async %q : !m
  return
}

// In the loop nothing else is allocated, beside the loop it is.
// CHECK-LABEL: func.func @each_block
func.func @each_block(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: gpu_async.alloc async(%{{.*}}) : memref<?xf32, 1>
  // CHECK: gpu_async.alloc async(%{{.*}}) : memref<?xf32, 1>
  %x, %tx = gpu_async.alloc async (%n) : memref<?xf32, 1>
  %y, %ty = gpu_async.alloc async (%n) : memref<?xf32, 1>
  // CHECK: %[[S:.*]], %{{.*}} = gpu_async.alloc async(%{{.*}}) : memref<?xi8, 1>
  // CHECK: scf.for
  scf.for %i = %c0 to %n step %c1 {
    // CHECK-COUNT-2: gpu_async.window %[[S]]
    %p, %tp = gpu_async.alloc async (%n) : memref<?xf32, 1>
    %a = gpu_async.memset async [%tp] %p, %v : memref<?xf32, 1>, f32
    %q, %tq = gpu_async.alloc async (%n) : memref<?xf32, 1>
    %b = gpu_async.memset async [%tq, %a] %q, %v : memref<?xf32, 1>, f32
    gpu_async.wait [%b]
    %fp = gpu_async.dealloc async %p : memref<?xf32, 1>
    %fq = gpu_async.dealloc async %q : memref<?xf32, 1>
  }
  %c = gpu_async.memset async [%tx] %x, %v : memref<?xf32, 1>, f32
  %d = gpu_async.memset async [%ty] %y, %v : memref<?xf32, 1>, f32
  gpu_async.wait [%c, %d]
  %fx = gpu_async.dealloc async %x : memref<?xf32, 1>
  %fy = gpu_async.dealloc async %y : memref<?xf32, 1>
  return
}

// A kernel that may touch anything may touch what is allocated then: %x and %y
// are in use at a time though %b comes after %a.
gpu.module @k {
  gpu.func @anything(%p: !llvm.ptr) kernel {
    %v = llvm.load %p : !llvm.ptr -> i32
    llvm.store %v, %p : i32, !llvm.ptr
    gpu.return
  }
}
// CHECK-LABEL: func.func @anything
func.func @anything(%p: !llvm.ptr, %v: f32) {
  %c1 = arith.constant 1 : index
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %l = gpu_async.launch async [%a] @k::@anything blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%p : !llvm.ptr)
  %y, %ty = gpu_async.alloc async () : !m
  %b = gpu_async.memset async [%ty, %a] %y, %v : !m, f32
  gpu_async.wait [%l, %b]
  %fx = gpu_async.dealloc async %x : !m
  %fy = gpu_async.dealloc async %y : !m
  return
}
