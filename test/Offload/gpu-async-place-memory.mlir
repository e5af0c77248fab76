// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-place-memory=device=gpu -verify-diagnostics | FileCheck %s --check-prefixes=CHECK,GPU
// RUN: gpu-opt %s -split-input-file -gpu-async-place-memory=device=cpu -verify-diagnostics | FileCheck %s --check-prefixes=CHECK,CPU

// What a kernel reads is copied to the device, what it writes back, a result
// only back; what only kernels touch is the device's from the start.
// Whether two are one memory is compared where one is written.
// CHECK-LABEL: func.func @arguments
// CPU-NOT: cf.assert
// GPU: cf.assert {{.*}}, "argument 0 and argument 1 of @arguments overlap, and one of them is written
// GPU: cf.assert {{.*}}, "argument 0 and argument 2
// GPU: cf.assert {{.*}}, "argument 1 and argument 2
// GPU-NOT: cf.assert
// GPU-DAG: gpu.memcpy %[[A:.*]], %arg0
// GPU-DAG: gpu.memcpy %{{.*}}, %arg1 : memref<?xf32>, memref<?xf32>
// CPU-COUNT-3: gpu.host_register
// CPU: gpu.alloc () : memref<4xf32>
// GPU-NOT: gpu.memcpy %{{.*}}, %arg2
// CHECK: gpu.launch
// GPU: memref.load %[[A]]
// CPU: memref.load %arg0
// GPU-NOT: gpu.memcpy %arg0
// GPU-DAG: gpu.memcpy %arg1, %{{.*}} : memref<?xf32>, memref<?xf32>
// GPU-DAG: gpu.memcpy %arg2, %{{.*}} : memref<4xf32>, memref<4xf32>
// CPU-COUNT-3: gpu.host_unregister
// CHECK: return
func.func @arguments(%a: memref<4xf32>, %b: memref<?xf32>, %c: memref<4xf32> {gpu_async.result = 0 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc() : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %a[%c0] : memref<4xf32>
    memref.store %v, %t[%c0] : memref<4xf32>
    memref.store %v, %b[%c0] : memref<?xf32>
    memref.store %v, %c[%c0] : memref<4xf32>
    gpu.terminator
  }
  memref.dealloc %t : memref<4xf32>
  return
}

// -----

// An element that the host reads, and a constant.
// CHECK-LABEL: func.func @elements
// GPU: %[[T:.*]] = gpu.alloc () : memref<4xf32>
// GPU-NOT: gpu.memcpy
// CHECK: gpu.launch
// GPU: memref.get_global @w
// GPU: %[[V:.*]] = memref.subview %{{.*}}[%c0] [1] [1] : memref<4xf32> to memref<f32, strided<[], offset: ?>>
// GPU: gpu.memcpy %[[E:.*]], %[[V]]
// GPU: memref.load %[[E]][]
// CPU: memref.load %{{.*}}[%c0]
// CHECK: return
memref.global "private" constant @w : memref<4xf32> = dense<1.0>
func.func @elements() -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = memref.get_global @w : memref<4xf32>
  %t = memref.alloc() : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %w[%c0] : memref<4xf32>
    memref.store %v, %t[%c0] : memref<4xf32>
    gpu.terminator
  }
  %r = memref.load %t[%c0] : memref<4xf32>
  memref.dealloc %t : memref<4xf32>
  return %r : f32
}

// -----

// No kernel touches it.
// CHECK-LABEL: func.func @host_only
// CHECK: memref.alloc
// CHECK: memref.dealloc
func.func @host_only(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc() : memref<4xf32>
  memref.store %v, %t[%c0] : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    gpu.terminator
  }
  memref.dealloc %t : memref<4xf32>
  return
}

// -----

// Of a constant that is large the runtime keeps a copy.
// CHECK-LABEL: func.func @large
// CHECK: %[[W:.*]] = gpu_async.constant @w : memref<20000xf32>
// CHECK-NOT: @w
// CHECK: gpu.launch
// CHECK: memref.load %[[W]]
memref.global "private" constant @w : memref<20000xf32> = dense<1.0>
func.func @large(%a: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = memref.get_global @w : memref<20000xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %w[%c0] : memref<20000xf32>
    memref.store %v, %a[%c0] : memref<4xf32>
    gpu.terminator
  }
  return
}

// -----

// And of one that something outside of kernels uses, too; the host reads its own.
// CHECK-LABEL: func.func @both
// CHECK: %[[W:.*]] = gpu_async.constant @w
// CHECK: gpu.launch
// CHECK: memref.load %[[W]][
// CHECK: %[[H:.*]] = memref.get_global @w
// CHECK: memref.load %[[H]][
memref.global "private" constant @w : memref<4xf32> = dense<1.0>
func.func @both(%a: memref<4xf32>, %b: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %w = memref.get_global @w : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %w[%c0] : memref<4xf32>
    memref.store %v, %a[%c0] : memref<4xf32>
    gpu.terminator
  }
  %again = memref.get_global @w : memref<4xf32>
  memref.copy %again, %b : memref<4xf32> to memref<4xf32>
  %r = memref.load %again[%c1] : memref<4xf32>
  return %r : f32
}

// -----

// Arguments that stay: a copy of the runtime's, behind a layout too.
// CHECK-LABEL: func.func @residents
// CHECK-SAME: %[[A:.*]]: memref<?xf32> {gpu_async.resident}, %[[B:.*]]: memref<4xf32, strided<[1], offset: ?>> {gpu_async.resident}, %{{.*}}: memref<4xf32>)
// CHECK-DAG: %[[RA:.*]] = gpu_async.resident %[[A]] : memref<?xf32> to memref<?xf32>
// CHECK-DAG: %[[RB:.*]] = gpu_async.resident %[[B]] : memref<4xf32, strided<[1], offset: ?>> to memref<4xf32>
// CHECK-DAG: %[[VB:.*]] = memref.cast %[[RB]] : memref<4xf32> to memref<4xf32, strided<[1], offset: ?>>
// CHECK-NOT: gpu.memcpy %{{.*}}, %[[A]]
// CHECK: gpu.launch
// CHECK-DAG: memref.load %[[RA]]
// CHECK-DAG: memref.load %[[VB]]
// CHECK: gpu.terminator
// CHECK: memref.load %[[A]]
func.func @residents(%a: memref<?xf32> {gpu_async.resident}, %b: memref<4xf32, strided<[1], offset: ?>> {gpu_async.resident}, %c: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %a[%c0] : memref<?xf32>
    %w = memref.load %b[%c0] : memref<4xf32, strided<[1], offset: ?>>
    %s = arith.addf %v, %w : f32
    memref.store %s, %c[%c0] : memref<4xf32>
    gpu.terminator
  }
  %r = memref.load %a[%c0] : memref<?xf32>
  return %r : f32
}

// -----

// expected-error @+1 {{argument 0 of type 'memref<4xf32>' is to stay on the device (gpu_async.resident), but a kernel may write it: pass it without the attribute}}
func.func @written(%a: memref<4xf32> {gpu_async.resident}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    memref.store %v, %a[%c0] : memref<4xf32>
    gpu.terminator
  }
  return
}

// -----

// expected-error @+1 {{argument 0 of type 'memref<4xf32, strided<[2]>>' is to stay on the device (gpu_async.resident), but its elements may have gaps between them: pass it without the attribute}}
func.func @gaps(%a: memref<4xf32, strided<[2]>> {gpu_async.resident}, %b: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %a[%c0] : memref<4xf32, strided<[2]>>
    memref.store %v, %b[%c0] : memref<4xf32>
    gpu.terminator
  }
  return
}

// -----

// What a library is given is like what kernels touch: by its declaration only
// the second argument comes back.
// CHECK-LABEL: func.func @library
// GPU-DAG: gpu.memcpy %[[A:.*]], %arg0 : memref<?xf32>, memref<?xf32>
// GPU-DAG: gpu.memcpy %[[B:.*]], %arg1 : memref<?xf32>, memref<?xf32>
// CPU-COUNT-2: gpu.host_register
// GPU: gpu_async.call @scale(%[[A]] : memref<?xf32>, %[[B]] : memref<?xf32>)
// CPU: gpu_async.call @scale(%arg0 : memref<?xf32>, %arg1 : memref<?xf32>)
// GPU-NOT: gpu.memcpy %arg0
// GPU: gpu.memcpy %arg1, %{{.*}} : memref<?xf32>, memref<?xf32>
// GPU-NOT: gpu.memcpy %arg0
// CPU-COUNT-2: gpu.host_unregister
// CHECK: return
func.func private @scale(memref<?xf32> {llvm.readonly}, memref<?xf32>)
func.func @library(%a: memref<?xf32>, %b: memref<?xf32>) {
  gpu_async.call @scale(%a : memref<?xf32>, %b : memref<?xf32>)
  return
}

// -----

// What the host reads through a view that kernels use, too, is the copy's.
// CHECK-LABEL: func.func @view
// CHECK-SAME: %[[A:.*]]: memref<8xf32> {gpu_async.resident}
// CHECK: %[[R:.*]] = gpu_async.resident %[[A]]
// CHECK: %[[V:.*]] = memref.subview %[[R]][2] [4] [1]
// CHECK: gpu.launch
// GPU: %[[E:.*]] = memref.subview %[[V]][%{{.*}}] [1] [1]
// GPU: gpu.memcpy %[[H:.*]], %[[E]]
// GPU: memref.load %[[H]][]
// CPU: memref.load %[[V]][
func.func @view(%a: memref<8xf32> {gpu_async.resident}, %b: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = memref.subview %a[2] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %s[%c0] : memref<4xf32, strided<[1], offset: 2>>
    memref.store %v, %b[%c0] : memref<4xf32>
    gpu.terminator
  }
  %r = memref.load %s[%c1] : memref<4xf32, strided<[1], offset: 2>>
  return %r : f32
}

// -----

// A kernel writes what it has chosen: both are copied back.
// CHECK-LABEL: func.func @chosen
// GPU: %[[SELECTED:.*]] = arith.select
// GPU: memref.store %{{.*}}, %[[SELECTED]]
// GPU-DAG: gpu.memcpy %arg0, %{{.*}} : memref<4xf32>, memref<4xf32>
// GPU-DAG: gpu.memcpy %arg1, %{{.*}} : memref<4xf32>, memref<4xf32>
// CHECK: return
func.func @chosen(%a: memref<4xf32>, %b: memref<4xf32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 2.0 : f32
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %m = arith.select %c, %a, %b : memref<4xf32>
    memref.store %v, %m[%c0] : memref<4xf32>
    gpu.terminator
  }
  return
}

// -----

// The host's copy of an element lies in the entry block: made in the loop it
// would be memory more for each round.
// GPU-LABEL: func.func @elements
// GPU: memref.alloca() : memref<f32>
// GPU: scf.for
// GPU-NOT: alloca
// GPU: gpu.memcpy
// GPU: return
func.func @elements(%x: memref<?xf32>, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    memref.store %zero, %x[%tx] : memref<?xf32>
    gpu.terminator
  }
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%before = %zero) -> f32 {
    %v = memref.load %x[%i] : memref<?xf32>
    %now = arith.addf %before, %v : f32
    scf.yield %now : f32
  }
  return %sum : f32
}

// -----

// The host may write by any op.
// CHECK-LABEL: func.func @vectors
// CPU-NOT: cf.assert
// GPU: cf.assert {{.*}}, "argument 0 and argument 1 of @vectors overlap, and one of them is written
func.func @vectors(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ones = arith.constant dense<1.0> : vector<4xf32>
  vector.store %ones, %b[%c0] : memref<4xf32>, vector<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    %v = memref.load %a[%c0] : memref<4xf32>
    memref.store %v, %c[%c0] : memref<4xf32>
    gpu.terminator
  }
  return
}

// -----

// The host reads by an address that may be the argument's, unless that is denied.
// CHECK-LABEL: func.func @by_address
// CHECK: gpu.launch
// GPU: gpu.memcpy %arg0, %[[A:.*]] : memref<4xf32>, memref<4xf32>
// CHECK: llvm.load
// GPU: gpu.memcpy %[[A]], %arg0 : memref<4xf32>, memref<4xf32>
// GPU: gpu.memcpy %arg0, %[[A]] : memref<4xf32>, memref<4xf32>
// CHECK: return
func.func @by_address(%a: memref<4xf32>, %p: !llvm.ptr) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%nx = %c1, %ny = %c1, %nz = %c1) {
    memref.store %x, %a[%c0] : memref<4xf32>
    gpu.terminator
  }
  %v = llvm.load %p : !llvm.ptr -> f32
  return %v : f32
}

// -----

// CHECK-LABEL: func.func @no_alias
// CHECK: gpu.launch
// CHECK-NOT: gpu.memcpy
// CHECK: llvm.load
func.func @no_alias(%a: memref<4xf32> {llvm.noalias}, %p: !llvm.ptr) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%nx = %c1, %ny = %c1, %nz = %c1) {
    memref.store %x, %a[%c0] : memref<4xf32>
    gpu.terminator
  }
  %v = llvm.load %p : !llvm.ptr -> f32
  return %v : f32
}

// RUN: not gpu-opt %s -split-input-file -gpu-async-place-memory=device=gpu --remarks-filter=gpu-async-place-memory --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Placed | Category:gpu-async-place-memory | Function=elements | copies=1, device-buffers=1, registered=0{{$}}
