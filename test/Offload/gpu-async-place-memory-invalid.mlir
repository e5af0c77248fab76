// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-place-memory=device=gpu -verify-diagnostics

func.func private @other(memref<4xf32>)
func.func @passed(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc() : memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    memref.store %v, %t[%c0] : memref<4xf32>
    gpu.terminator
  }
  // expected-error @below {{takes memory that a kernel touches and that would be on the device: copy it to memory of its own first}}
  func.call @other(%t) : (memref<4xf32>) -> ()
  memref.dealloc %t : memref<4xf32>
  return
}

// -----

func.func private @made() -> memref<4xf32>
func.func @of_call(%v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{a kernel touches this memory, and it is not known where it is}}
  %t = func.call @made() : () -> memref<4xf32>
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    memref.store %v, %t[%c0] : memref<4xf32>
    gpu.terminator
  }
  return
}

// -----

// expected-error @below {{a kernel touches memory of type 'memref<4xf32, strided<[2]>>', which cannot be copied to the device as a whole}}
func.func @gaps(%t: memref<4xf32, strided<[2]>>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
    memref.store %v, %t[%c0] : memref<4xf32, strided<[2]>>
    gpu.terminator
  }
  return
}

// -----

// The copy would end with the branch.
func.func @leaves(%v: f32, %p: i1, %other: memref<4xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %m = scf.if %p -> memref<4xf32> {
    // expected-error @below {{a kernel touches this memory, which branches or loops hand on behind the block where it is made}}
    %t = memref.alloca() : memref<4xf32>
    gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c1, %by = %c1, %bz = %c1) {
      memref.store %v, %t[%c0] : memref<4xf32>
      gpu.terminator
    }
    scf.yield %t : memref<4xf32>
  } else {
    scf.yield %other : memref<4xf32>
  }
  %r = memref.load %m[%c0] : memref<4xf32>
  return %r : f32
}
