// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device ops without tokens: each has finished when the host goes on.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [1.5, 2.5, 3.5]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %one = arith.constant 1.0 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %h = memref.alloc() : memref<3xf32>
  memref.store %one, %h[%c0] : memref<3xf32>
  memref.store %two, %h[%c1] : memref<3xf32>
  memref.store %three, %h[%c2] : memref<3xf32>
  %x = gpu.alloc () : memref<3xf32>
  gpu.memcpy %x, %h : memref<3xf32>, memref<3xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c3, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %half = arith.constant 0.5 : f32
    %v = memref.load %x[%bx] : memref<3xf32>
    %w = arith.addf %v, %half : f32
    memref.store %w, %x[%bx] : memref<3xf32>
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<3xf32>, memref<3xf32>
  gpu.dealloc %x : memref<3xf32>
  %u = memref.cast %h : memref<3xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %h : memref<3xf32>
  return
}

func.func private @printMemrefF32(memref<*xf32>)
