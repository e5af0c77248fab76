// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An explicit fork and join with gpu tokens: one kernel, three branches that
// read what it wrote, and a kernel after all three.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [6, 66, 126, 186, 246, 306, 366, 426]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %h = memref.alloc() : memref<8xi32>
  %start = gpu.wait async
  %x, %x_ready = gpu.alloc async [%start] () : memref<8xi32>
  %a, %a_ready = gpu.alloc async [%start] () : memref<8xi32>
  %b, %b_ready = gpu.alloc async [%start] () : memref<8xi32>
  %c, %c_ready = gpu.alloc async [%start] () : memref<8xi32>

  // x = 10 i
  %first = gpu.launch async [%x_ready]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %ten = arith.constant 10 : i32
    %i = arith.index_cast %tx : index to i32
    %v = arith.muli %i, %ten : i32
    memref.store %v, %x[%tx] : memref<8xi32>
    gpu.terminator
  }
  // a = x + 1, b = 2 x + 2, c = 3 x + 3
  %branch_a = gpu.launch async [%first, %a_ready]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %k = arith.constant 1 : i32
    %v = memref.load %x[%tx] : memref<8xi32>
    %w = arith.addi %v, %k : i32
    memref.store %w, %a[%tx] : memref<8xi32>
    gpu.terminator
  }
  %branch_b = gpu.launch async [%first, %b_ready]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %k = arith.constant 2 : i32
    %v = memref.load %x[%tx] : memref<8xi32>
    %p = arith.muli %v, %k : i32
    %w = arith.addi %p, %k : i32
    memref.store %w, %b[%tx] : memref<8xi32>
    gpu.terminator
  }
  %branch_c = gpu.launch async [%first, %c_ready]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %k = arith.constant 3 : i32
    %v = memref.load %x[%tx] : memref<8xi32>
    %p = arith.muli %v, %k : i32
    %w = arith.addi %p, %k : i32
    memref.store %w, %c[%tx] : memref<8xi32>
    gpu.terminator
  }
  // x = a + b + c
  %last = gpu.launch async [%branch_a, %branch_b, %branch_c]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %va = memref.load %a[%tx] : memref<8xi32>
    %vb = memref.load %b[%tx] : memref<8xi32>
    %vc = memref.load %c[%tx] : memref<8xi32>
    %ab = arith.addi %va, %vb : i32
    %abc = arith.addi %ab, %vc : i32
    memref.store %abc, %x[%tx] : memref<8xi32>
    gpu.terminator
  }
  %down = gpu.memcpy async [%last] %h, %x : memref<8xi32>, memref<8xi32>
  %f0 = gpu.dealloc async [%down] %x : memref<8xi32>
  %f1 = gpu.dealloc async [%last] %a : memref<8xi32>
  %f2 = gpu.dealloc async [%last] %b : memref<8xi32>
  %f3 = gpu.dealloc async [%last] %c : memref<8xi32>
  gpu.wait [%f0, %f1, %f2, %f3]

  %u = memref.cast %h : memref<8xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<8xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
