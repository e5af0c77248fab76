// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop of small kernels becomes one kernel, with what the host does in it.
// RUN: gpu-opt %s -gpu-async-launch-loops | FileCheck %s

// Blocks and threads come one after the other; a round's memory is the loop's.
// CHECK-LABEL: func.func @all(
// CHECK: %[[OWN:.*]] = memref.alloc() : memref<8xf32>
// CHECK: gpu.launch
// CHECK: %[[STACK:.*]] = memref.alloca() : memref<4xf32>
// CHECK: scf.for %[[I:.*]] = %c0
// CHECK: %[[ROW:.*]] = memref.subview %{{.*}}[%[[I]], 0]
// CHECK: scf.for %[[B:.*]] = %{{.*}} to %c2
// CHECK: scf.for %[[T:.*]] = %{{.*}} to %c4
// CHECK: arith.muli %[[B]], %c4
// CHECK: memref.store %{{.*}}, %[[STACK]][%[[T]]]
// CHECK: memref.store %{{.*}}, %[[OWN]]
// CHECK-NOT: memref.copy
// CHECK: scf.for
// CHECK: %[[V:.*]] = memref.load %[[OWN]]
// CHECK: memref.store %[[V]], %{{.*}}
// CHECK: scf.if
// CHECK: memref.store
// CHECK-NOT: memref.dealloc
// CHECK: gpu.terminator
// CHECK: memref.dealloc %[[OWN]]
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @all(%x: memref<?x8xf32>, %y: memref<8xf32>, %z: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %n step %c1 {
    %own = memref.alloc() : memref<8xf32>
    %row = memref.subview %x[%i, 0] [1, 8] [1, 1] : memref<?x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c2, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
      %stack = memref.alloca() : memref<4xf32>
      %b = arith.muli %bx, %sx : index
      %at = arith.addi %b, %tx : index
      %v = memref.load %row[%at] : memref<8xf32, strided<[1], offset: ?>>
      memref.store %v, %stack[%tx] : memref<4xf32>
      %w = memref.load %stack[%tx] : memref<4xf32>
      memref.store %w, %own[%at] : memref<8xf32>
      gpu.terminator
    }
    memref.copy %own, %y : memref<8xf32> to memref<8xf32>
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      %v = memref.load %y[%c0] : memref<8xf32>
      memref.store %v, %z[] : memref<f32>
    }
    memref.dealloc %own : memref<8xf32>
  }
  return
}

// What is too much, or not known, or used behind the loop, stays a loop of
// launches, and so does what waits for others.
// CHECK-LABEL: func.func @large(
// CHECK: scf.for
// CHECK: gpu.launch
// CHECK: scf.for
// CHECK: gpu.terminator
func.func @large(%x: memref<300000xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %most = arith.constant 300000 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      scf.for %at = %c0 to %most step %c1 {
        memref.store %zero, %x[%at] : memref<300000xf32>
      }
      gpu.terminator
    }
  }
  return
}

// CHECK-LABEL: func.func @unknown(
// CHECK: scf.for
// CHECK-NEXT: gpu.launch
func.func @unknown(%x: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %n, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      memref.store %zero, %x[%bx] : memref<?xf32>
      gpu.terminator
    }
  }
  return
}

// CHECK-LABEL: func.func @used(
// CHECK: scf.for
// CHECK-NEXT: gpu.launch
func.func @used(%x: memref<f32>, %n: index, %s: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %s) -> i32 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      memref.store %zero, %x[] : memref<f32>
      gpu.terminator
    }
    %b = arith.addi %a, %a : i32
    scf.yield %b : i32
  }
  return %r : i32
}

// CHECK-LABEL: func.func @together(
// CHECK: scf.for
// CHECK-NEXT: gpu.launch
func.func @together(%x: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c8, %sy = %c1, %sz = %c1) {
      %v = memref.load %x[%tx] : memref<8xf32>
      gpu.barrier
      memref.store %v, %x[%c0] : memref<8xf32>
      gpu.terminator
    }
  }
  return
}

// Of nested loops the outermost; one that calls something stays on the host, and
// the loop in it is a kernel.
func.func private @other()
// CHECK-LABEL: func.func @nested(
// CHECK: scf.for
// CHECK-NEXT: call @other
// CHECK: gpu.launch
// CHECK-NEXT: scf.for
// CHECK-NEXT: scf.for
// CHECK-NOT: gpu.launch
// CHECK: return
func.func @nested(%x: memref<f32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    func.call @other() : () -> ()
    scf.for %j = %c0 to %n step %c1 {
      scf.for %k = %c0 to %n step %c1 {
        gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
          memref.store %zero, %x[] : memref<f32>
          gpu.terminator
        }
      }
    }
  }
  return
}

// A kernel's module has globals of its own: whose it is the loop is told.
memref.global "private" @global : memref<8xf32> = dense<1.0>
// CHECK-LABEL: func.func @symbols(
// CHECK: %[[GLOBAL:.*]] = memref.get_global @global
// CHECK: gpu.launch
// CHECK-NEXT: scf.for
// CHECK-NOT: memref.get_global
// CHECK: memref.store %{{.*}}, %[[GLOBAL]]
func.func @symbols(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %i = %c0 to %n step %c1 {
    %x = memref.get_global @global : memref<8xf32>
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      memref.store %zero, %x[%c0] : memref<8xf32>
      gpu.terminator
    }
  }
  return
}

// What a kernel calls may ask which thread it is, or wait for the others.
// CHECK-LABEL: func.func @calls(
// CHECK: scf.for
// CHECK-NEXT: gpu.launch
func.func @calls(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
      func.call @other() : () -> ()
      gpu.terminator
    }
  }
  return
}

// RUN: gpu-opt %s -gpu-async-launch-loops --remarks-filter=gpu-async-launch-loops --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] LoopInKernel | Category:gpu-async-launch-loops | Function=all | loops=1{{$}}
