// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file --gpu-async-deallocate --canonicalize --buffer-deallocation-simplification | FileCheck %s
// RUN: gpu-opt %s -split-input-file --gpu-async-deallocate | FileCheck %s --check-prefix=MARKS
// MARKS-NOT: {{manual_deallocation|memref_results|frees_memory|gpu_async.atomic}}

// What bufferization allocates is freed. What the program allocates is not.
// CHECK-LABEL: func.func @frees
// CHECK: %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK: %[[B:.*]] = memref.alloc() : memref<8xf32>
// CHECK: bufferization.dealloc (%[[A]] : memref<4xf32>) if (%true
// CHECK-NOT: %[[B]]
func.func @frees(%v: f32, %i: index) -> f32 attributes {gpu_async.offloaded} {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() {bufferization.manual_deallocation} : memref<8xf32>
  memref.store %v, %a[%i] : memref<4xf32>
  memref.store %v, %b[%i] : memref<8xf32>
  %w = memref.load %a[%i] : memref<4xf32>
  %u = memref.load %b[%i] : memref<8xf32>
  %r = arith.addf %w, %u : f32
  return %r : f32
}

// -----

// A memref that the program returns is no copy, and what a call returns stays
// the program's.
// CHECK-LABEL: func.func @returns
// CHECK-SAME: (%[[M:.*]]: memref<4xf32>) -> memref<4xf32>
// CHECK-NOT: bufferization.clone
// CHECK-NOT: bufferization.dealloc
// CHECK: return %[[M]] : memref<4xf32>
func.func @returns(%m: memref<4xf32>) -> memref<4xf32> attributes {memref_results = array<i64: 0>, gpu_async.offloaded} {
  %n = call @declared() : () -> memref<4xf32>
  memref.copy %n, %m : memref<4xf32> to memref<4xf32>
  return %m : memref<4xf32>
}
func.func private @declared() -> memref<4xf32> attributes {memref_results = array<i64: 0>}

// -----

// What a call returns for a tensor is freed.
// CHECK-LABEL: func.func @of_tensor
// CHECK: %[[N:.*]] = call @declared
// CHECK: bufferization.dealloc
func.func @of_tensor(%m: memref<4xf32>) attributes {gpu_async.offloaded} {
  %n = call @declared() : () -> memref<4xf32>
  memref.copy %n, %m : memref<4xf32> to memref<4xf32>
  return
}
func.func private @declared() -> memref<4xf32>

// -----

// Upstream does not take an atomic with a body.
// CHECK-LABEL: func.func @atomic
// CHECK: memref.generic_atomic_rmw
// CHECK: arith.addf
// CHECK: memref.atomic_yield
// CHECK-NOT: scf.execute_region
func.func @atomic(%m: memref<4xf32>, %v: f32, %i: index) attributes {gpu_async.offloaded} {
  %r = memref.generic_atomic_rmw %m[%i] : memref<4xf32> {
  ^bb0(%old: f32):
    %new = arith.addf %old, %v : f32
    memref.atomic_yield %new : f32
  }
  return
}

// -----

// The iterations of what becomes a launch own no memory that anything else has.
// CHECK-LABEL: func.func @launched
// CHECK: scf.forall
// CHECK: memref.alloc
// CHECK-NOT: bufferization.dealloc
// CHECK: return
func.func @launched(%v: f32, %i: index, %m: memref<4xf32>) attributes {gpu_async.offloaded} {
  scf.forall (%k) in (4) {
    %a = memref.alloc() : memref<4xf32>
    memref.store %v, %a[%i] : memref<4xf32>
    %w = memref.load %a[%k] : memref<4xf32>
    memref.store %w, %m[%k] : memref<4xf32>
  }
  return
}

// -----

// CHECK-LABEL: func.func @unmarked
// CHECK-NOT: bufferization.dealloc
func.func @unmarked(%v: f32, %i: index) -> f32 {
  %a = memref.alloc() : memref<4xf32>
  memref.store %v, %a[%i] : memref<4xf32>
  %w = memref.load %a[%i] : memref<4xf32>
  return %w : f32
}
