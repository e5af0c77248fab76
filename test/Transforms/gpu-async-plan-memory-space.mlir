// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// space=true: work waits for other work where less memory is needed then, and
// nothing waits for a kernel that may wait itself.
//
// RUN: gpu-opt %s -gpu-async-plan-memory=space=true --verify-roundtrip | FileCheck %s
// RUN: gpu-opt %s -gpu-async-plan-memory="space=true remarks=true" -verify-diagnostics -o /dev/null
// RUN: gpu-opt %s -gpu-async-plan-memory=space=true -gpu-async-print-hazards -o /dev/null 2>&1 | FileCheck %s --check-prefix=HAZARD --allow-empty
// RUN: gpu-opt %s -gpu-async-plan-memory=space=true -gpu-async-make-forks-explicit -gpu-async-assign-streams -gpu-async-verify-form=form=stream -gpu-async-verify-schedule -o /dev/null

!m = memref<64xf32, 1>
!d = memref<?xf32, 1>

// HAZARD-NOT: hazard in @{{[^d]}}

// The second branch waits for the last user of the first.
// CHECK-LABEL: func.func @branches
func.func @branches(%v: f32, %r: !m, %s: !m) {
  // CHECK: gpu_async.alloc async() : memref<256xi8, 1>
  // expected-remark @below {{with 1 more waits in the function 512 bytes become 256; its longest chain of work becomes 4 from 2}}
  // expected-remark @below {{2 allocations of 512 bytes become 1 of 256; the program may hold 512 at a time, and its order needs 256}}
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  // CHECK: gpu_async.memset
  // CHECK: %[[B:.*]] = gpu_async.memcpy
  // expected-note @below {{for this}}
  %b = gpu_async.memcpy async [%a] %r, %x : !m, !m
  %fx = gpu_async.dealloc async [%b] %x : !m
  %y, %ty = gpu_async.alloc async () : !m
  // CHECK: gpu_async.memset async [%{{.*}}, %[[B]]]
  // expected-remark @below {{waits for other work now, so that allocations share bytes}}
  %c = gpu_async.memset async [%ty] %y, %v : !m, f32
  // CHECK: gpu_async.memcpy async [%{{[^,]*}}] %{{.*}}, %{{.*}}
  %d = gpu_async.memcpy async [%c] %s, %y : !m, !m
  %fy = gpu_async.dealloc async [%d] %y : !m
  gpu_async.wait [%b, %d]
  return
}

// %z may follow %x or %y. Behind %y, whose chain is short, the longest one becomes
// no longer.
// CHECK-LABEL: func.func @cheapest
func.func @cheapest(%v: f32, %w: f32) {
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  // expected-remark @below {{with 1 more waits in the function 768 bytes become 512; its longest chain of work becomes 3 from 3}}
  // expected-remark @below {{3 allocations of 768 bytes become 1 of 512; the program may hold 768}}
  %x, %tx = gpu_async.alloc async () : !m
  %y, %ty = gpu_async.alloc async () : !m
  %a0 = gpu_async.memset async [%tx] %x, %v : !m, f32
  %b0 = gpu_async.memset async [%ty] %y, %v : !m, f32
  %a1 = gpu_async.memset async [%a0] %x, %v : !m, f32
  %a2 = gpu_async.memset async [%a1] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%a2] %x : !m
  // CHECK: %[[B:.*]] = gpu_async.memset async [%{{.*}}] %{{.*}}, %arg1
  // expected-note @below {{for this}}
  %b1 = gpu_async.memset async [%b0] %y, %w : !m, f32
  %fy = gpu_async.dealloc async [%b1] %y : !m
  %z, %tz = gpu_async.alloc async () : !m
  // CHECK: gpu_async.memset async [%{{.*}}, %[[B]]]
  // expected-remark @below {{waits for other work now, so that allocations share bytes}}
  %c = gpu_async.memset async [%tz] %z, %v : !m, f32
  %fz = gpu_async.dealloc async [%c] %z : !m
  gpu_async.wait [%a2, %b1, %c]
  return
}

// Sizes that are known at run time only.
// CHECK-LABEL: func.func @dynamic
func.func @dynamic(%n: index, %v: f32) {
  // expected-remark @below {{with 1 more waits in the function 0 bytes become 0; its longest chain of work becomes 2 from 1}}
  // expected-remark @below {{2 of equal sizes, known at run time, are in 1 places, and their order needs 1}}
  %x, %tx = gpu_async.alloc async (%n) : !d
  // CHECK: %[[A:.*]] = gpu_async.memset
  // expected-note @below {{for this}}
  %a = gpu_async.memset async [%tx] %x, %v : !d, f32
  %fx = gpu_async.dealloc async [%a] %x : !d
  %y, %ty = gpu_async.alloc async (%n) : !d
  // CHECK: gpu_async.memset async [%{{.*}}, %[[A]]]
  // expected-remark @below {{waits for other work now, so that allocations share bytes}}
  %b = gpu_async.memset async [%ty] %y, %v : !d, f32
  %fy = gpu_async.dealloc async [%b] %y : !d
  gpu_async.wait [%a, %b]
  return
}

// Nothing is saved: all of them are used at the end.
// CHECK-LABEL: func.func @nothing
func.func @nothing(%v: f32, %r: !m) {
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  // expected-remark @below {{2 allocations of 512 bytes become 1 of 512}}
  %x, %tx = gpu_async.alloc async () : !m
  %y, %ty = gpu_async.alloc async () : !m
  // CHECK: gpu_async.memset async [%[[T:[^,]*]]]
  // CHECK: gpu_async.memset async [%[[T]]]
  %a = gpu_async.memset async [%tx] %x, %v : !m, f32
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %c = gpu_async.memcpy async [%a, %b] %x, %y : !m, !m
  gpu_async.wait [%c]
  %fx = gpu_async.dealloc async %x : !m
  %fy = gpu_async.dealloc async %y : !m
  return
}

// Work in regions stays as it is.
// CHECK-LABEL: func.func @nested
func.func @nested(%v: f32, %c: i1) {
  // CHECK: gpu_async.alloc async() : memref<512xi8, 1>
  // expected-remark @below {{2 allocations of 512 bytes become 1 of 512}}
  %x, %tx = gpu_async.alloc async () : !m
  %y, %ty = gpu_async.alloc async () : !m
  %a = scf.if %c -> !gpu_async.token {
    %in = gpu_async.memset async [%tx] %x, %v : !m, f32
    scf.yield %in : !gpu_async.token
  } else {
    scf.yield %tx : !gpu_async.token
  }
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  gpu_async.wait [%a, %b]
  %fx = gpu_async.dealloc async %x : !m
  %fy = gpu_async.dealloc async %y : !m
  return
}

// %a polls until somebody writes to %flag, which what comes after %b may do.
gpu.module @k {
  gpu.func @poll(%flag: memref<1xi32, 1>) kernel {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0 : i32
    scf.while : () -> () {
      %now = memref.load %flag[%c0] : memref<1xi32, 1>
      %go = arith.cmpi eq, %now, %zero : i32
      scf.condition(%go)
    } do {
      scf.yield
    }
    gpu.return
  }
}
// CHECK-LABEL: func.func @blocking
// CHECK: gpu_async.alloc async() : memref<512xi8, 1>
// expected-remark @below {{no order is added for space: a kernel may wait for other work}}
func.func @blocking(%flag: memref<1xi32, 1>, %v: f32) {
  %c1 = arith.constant 1 : index
  // expected-remark @below {{2 allocations of 512 bytes become 1 of 512}}
  %x, %tx = gpu_async.alloc async () : !m
  %p = gpu_async.launch async @k::@poll blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%flag : memref<1xi32, 1>)
  %a = gpu_async.memset async [%tx, %p] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%a] %x : !m
  %y, %ty = gpu_async.alloc async () : !m
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%b] %y : !m
  gpu_async.wait [%a, %b]
  return
}

// What %t stands for may wait for %b.
// CHECK-LABEL: func.func private @outside
// CHECK: gpu_async.alloc async() : memref<512xi8, 1>
// expected-remark @below {{no order is added for space: work from outside of the function could wait for it}}
func.func private @outside(%t: !gpu_async.token, %v: f32) {
  // expected-remark @below {{2 allocations of 512 bytes become 1 of 512}}
  %x, %tx = gpu_async.alloc async () : !m
  %a = gpu_async.memset async [%tx, %t] %x, %v : !m, f32
  %fx = gpu_async.dealloc async [%a] %x : !m
  %y, %ty = gpu_async.alloc async () : !m
  %b = gpu_async.memset async [%ty] %y, %v : !m, f32
  %fy = gpu_async.dealloc async [%b] %y : !m
  gpu_async.wait [%a, %b]
  return
}

// RUN: gpu-opt %s -gpu-async-plan-memory=space=true --remarks-filter=gpu-async-plan-memory --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] WaitForMemory | Category:gpu-async-plan-memory | Function=branches | waits-added=1{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Planned | Category:gpu-async-plan-memory | Function=branches | allocations=2, buffers=1, bytes=256, bytes-before=512{{$}}
