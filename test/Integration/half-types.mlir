// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that store and load f16 and bf16 and compute in f32.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// 1 + 1/1024 is kept by f16 and not by bf16; 1 + 1/128 by both.
// CHECK: [1.00098, 1, 1.00781, 1.00781]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %h = memref.alloc() : memref<4xf32>
  %x = gpu.alloc () : memref<4xf32>
  %a = gpu.alloc () : memref<2xf16>
  %b = gpu.alloc () : memref<2xbf16>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c2, %nty = %c1, %ntz = %c1) {
    %fine = arith.constant 1.0009765625 : f32
    %coarse = arith.constant 1.0078125 : f32
    %first = arith.cmpi eq, %tx, %c0 : index
    %v = arith.select %first, %fine, %coarse : f32
    %v16 = arith.truncf %v : f32 to f16
    %vb16 = arith.truncf %v : f32 to bf16
    memref.store %v16, %a[%tx] : memref<2xf16>
    memref.store %vb16, %b[%tx] : memref<2xbf16>
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c2, %nty = %c1, %ntz = %c1) {
    %v16 = memref.load %a[%tx] : memref<2xf16>
    %vb16 = memref.load %b[%tx] : memref<2xbf16>
    %w0 = arith.extf %v16 : f16 to f32
    %w1 = arith.extf %vb16 : bf16 to f32
    %even = arith.addi %tx, %tx : index
    %odd = arith.addi %even, %c1 : index
    memref.store %w0, %x[%even] : memref<4xf32>
    memref.store %w1, %x[%odd] : memref<4xf32>
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<4xf32>, memref<4xf32>
  gpu.dealloc %x : memref<4xf32>
  gpu.dealloc %a : memref<2xf16>
  gpu.dealloc %b : memref<2xbf16>
  %u = memref.cast %h : memref<4xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %h : memref<4xf32>
  return
}

func.func private @printMemrefF32(memref<*xf32>)
