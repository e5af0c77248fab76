// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// linalg on memrefs on the host side of a program: it prepares what a kernel
// reads and works on what it wrote.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// (A B + 1) summed over its rows, for A full of 2 and B full of 3:
// CHECK: [50, 50, 50, 50, 50]
#identity = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>
func.func @main() {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %three = arith.constant 3.0 : f32
  %a = memref.alloc() : memref<2x4xf32>
  %b = memref.alloc() : memref<4x5xf32>
  %c = memref.alloc() : memref<2x5xf32>
  %s = memref.alloc() : memref<5xf32>
  linalg.fill ins(%two : f32) outs(%a : memref<2x4xf32>)
  linalg.fill ins(%three : f32) outs(%b : memref<4x5xf32>)
  linalg.fill ins(%zero : f32) outs(%c : memref<2x5xf32>)
  linalg.fill ins(%zero : f32) outs(%s : memref<5xf32>)
  linalg.matmul ins(%a, %b : memref<2x4xf32>, memref<4x5xf32>) outs(%c : memref<2x5xf32>)
  %x = gpu.alloc () : memref<2x5xf32>
  gpu.memcpy %x, %c : memref<2x5xf32>, memref<2x5xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c5, %nty = %c2, %ntz = %c1) {
    %one = arith.constant 1.0 : f32
    %v = memref.load %x[%ty, %tx] : memref<2x5xf32>
    %w = arith.addf %v, %one : f32
    memref.store %w, %x[%ty, %tx] : memref<2x5xf32>
    gpu.terminator
  }
  gpu.memcpy %c, %x : memref<2x5xf32>, memref<2x5xf32>
  gpu.dealloc %x : memref<2x5xf32>
  linalg.generic {indexing_maps = [#identity, #column], iterator_types = ["reduction", "parallel"]}
      ins(%c : memref<2x5xf32>) outs(%s : memref<5xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %w = arith.addf %v, %sum : f32
    linalg.yield %w : f32
  }
  %u = memref.cast %s : memref<5xf32> to memref<*xf32>
  call @printMemrefF32(%u) : (memref<*xf32>) -> ()
  memref.dealloc %a : memref<2x4xf32>
  memref.dealloc %b : memref<4x5xf32>
  memref.dealloc %c : memref<2x5xf32>
  memref.dealloc %s : memref<5xf32>
  return
}

func.func private @printMemrefF32(memref<*xf32>)
