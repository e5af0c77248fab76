// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several ops on one token whose results are never joined, as upstream programs
// write it: they keep the order in which they were issued, and waiting for the
// token waits for all of them.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [7, 8, 9, 10]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %three = arith.constant 3 : i32
  %h = memref.alloc() : memref<4xi32>
  %t = gpu.wait async
  %x, %t0 = gpu.alloc async [%t] () : memref<4xi32>
  %t1 = gpu.memset async [%t] %x, %three : memref<4xi32>, i32
  %t2 = gpu.launch async [%t]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
    %v = memref.load %x[%tx] : memref<4xi32>
    %i = arith.index_cast %tx : index to i32
    %w = arith.addi %v, %i : i32
    memref.store %w, %x[%tx] : memref<4xi32>
    gpu.terminator
  }
  %t3 = gpu.launch async [%t]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
    %v = memref.load %x[%tx] : memref<4xi32>
    %k = arith.constant 4 : i32
    %w = arith.addi %v, %k : i32
    memref.store %w, %x[%tx] : memref<4xi32>
    gpu.terminator
  }
  %t4 = gpu.memcpy async [%t] %h, %x : memref<4xi32>, memref<4xi32>
  %t5 = gpu.dealloc async [%t] %x : memref<4xi32>
  gpu.wait [%t]
  %u = memref.cast %h : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<4xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
