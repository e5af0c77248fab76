// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that use vector, complex, index and affine ops.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// Four lanes 2 i + 1, the product (1 + 2i)(3 + 4i), and 7 / 2 rounded up.
// CHECK: [1, 3, 5, 7, -5, 10, 4, 6]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %c6 = arith.constant 6 : index
  %h = memref.alloc() : memref<8xf32>
  %x = gpu.alloc () : memref<8xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %lanes = arith.constant dense<[0.0, 1.0, 2.0, 3.0]> : vector<4xf32>
    %twos = arith.constant dense<2.0> : vector<4xf32>
    %one = arith.constant 1.0 : f32
    %ones = vector.broadcast %one : f32 to vector<4xf32>
    %v = vector.fma %lanes, %twos, %ones : vector<4xf32>
    vector.store %v, %x[%c0] : memref<8xf32>, vector<4xf32>

    %two = arith.constant 2.0 : f32
    %three = arith.constant 3.0 : f32
    %four = arith.constant 4.0 : f32
    %p = complex.create %one, %two : complex<f32>
    %q = complex.create %three, %four : complex<f32>
    %r = complex.mul %p, %q : complex<f32>
    %re = complex.re %r : complex<f32>
    %im = complex.im %r : complex<f32>
    memref.store %re, %x[%c4] : memref<8xf32>
    memref.store %im, %x[%c5] : memref<8xf32>

    %seven = index.constant 7
    %half = index.constant 2
    %up = index.ceildivs %seven, %half
    %up32 = index.casts %up : index to i32
    %upf = arith.sitofp %up32 : i32 to f32
    memref.store %upf, %x[%c6] : memref<8xf32>
    %zero = arith.constant 0.0 : f32
    %sum = affine.for %i = 0 to 4 iter_args(%acc = %zero) -> (f32) {
      %i32 = arith.index_cast %i : index to i32
      %if = arith.sitofp %i32 : i32 to f32
      %next = arith.addf %acc, %if : f32
      affine.yield %next : f32
    }
    affine.store %sum, %x[7] : memref<8xf32>
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<8xf32>, memref<8xf32>
  gpu.dealloc %x : memref<8xf32>
  %u = memref.cast %h : memref<8xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %h : memref<8xf32>
  return
}

func.func private @printMemrefF32(memref<*xf32>)
