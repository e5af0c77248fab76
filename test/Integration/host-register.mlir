// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that works on registered host memory in place.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [2, 4, 8, 16, 32, 64, 128, 256]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %h = memref.alloc(%c8) : memref<?xf32>
  %end = scf.for %i = %c0 to %c8 step %c1 iter_args(%v = %one) -> (f32) {
    memref.store %v, %h[%i] : memref<?xf32>
    %w = arith.mulf %v, %two : f32
    scf.yield %w : f32
  }
  %u = memref.cast %h : memref<?xf32> to memref<*xf32>
  gpu.host_register %u : memref<*xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %v = memref.load %h[%tx] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %h[%tx] : memref<?xf32>
    gpu.terminator
  }
  gpu.host_unregister %u : memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %h : memref<?xf32>
  return
}

func.func private @printMemrefF32(memref<*xf32>)
