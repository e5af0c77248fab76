// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic updates of one memory from many threads and blocks, integer and float,
// and a generic one by compare and swap.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// 512 threads: their number, the largest and smallest number, all bits, and the
// number again by compare and swap.
// CHECK: [512, 511, 0, 511, 1024]
// CHECK: [256]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %zerof = arith.constant 0.0 : f32
  %h = memref.alloc() : memref<5xi32>
  %hf = memref.alloc() : memref<1xf32>
  linalg.fill ins(%zero : i32) outs(%h : memref<5xi32>)
  linalg.fill ins(%zerof : f32) outs(%hf : memref<1xf32>)
  %many = arith.constant 100000 : i32
  memref.store %many, %h[%c2] : memref<5xi32>
  %x = gpu.alloc () : memref<5xi32>
  %f = gpu.alloc () : memref<1xf32>
  gpu.memcpy %x, %h : memref<5xi32>, memref<5xi32>
  gpu.memcpy %f, %hf : memref<1xf32>, memref<1xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c8, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c64, %nty = %c1, %ntz = %c1) {
    %one = arith.constant 1 : i32
    %two = arith.constant 2 : i32
    %half = arith.constant 0.5 : f32
    %base = arith.muli %bx, %ntx : index
    %i = arith.addi %base, %tx : index
    %v = arith.index_cast %i : index to i32
    %r0 = memref.atomic_rmw addi %one, %x[%c0] : (i32, memref<5xi32>) -> i32
    %r1 = memref.atomic_rmw maxs %v, %x[%c1] : (i32, memref<5xi32>) -> i32
    %r2 = memref.atomic_rmw mins %v, %x[%c2] : (i32, memref<5xi32>) -> i32
    %r3 = memref.atomic_rmw ori %v, %x[%c3] : (i32, memref<5xi32>) -> i32
    %r4 = memref.generic_atomic_rmw %x[%c4] : memref<5xi32> {
    ^bb0(%old : i32):
      %new = arith.addi %old, %two : i32
      memref.atomic_yield %new : i32
    }
    %r5 = memref.atomic_rmw addf %half, %f[%c0] : (f32, memref<1xf32>) -> f32
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<5xi32>, memref<5xi32>
  gpu.memcpy %hf, %f : memref<1xf32>, memref<1xf32>
  gpu.dealloc %x : memref<5xi32>
  gpu.dealloc %f : memref<1xf32>
  %u = memref.cast %h : memref<5xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  %uf = memref.cast %hf : memref<1xf32> to memref<*xf32>
  call @printMemrefF32(%uf) : (memref<*xf32>) -> ()
  memref.dealloc %h : memref<5xi32>
  memref.dealloc %hf : memref<1xf32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
func.func private @printMemrefF32(memref<*xf32>)
