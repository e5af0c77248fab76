// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// No token in the program: loops, branches and views are ordered by what they
// touch; the sums are those of a run op by op.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-runner --device=cpu --max-streams=1 %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// x = 1; y = 100. Ten turns: x = 2 x + 1 (kernel), y += x (kernel), every third
// turn x = y; the host adds y[0] up. Halves of z are filled on their own.
// CHECK: [135549,  56603,  84904,  7,  9]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %hundred = arith.constant 100 : i32
  %seven = arith.constant 7 : i32
  %nine = arith.constant 9 : i32
  %h = memref.alloc() : memref<5xi32>
  %y_h = memref.alloc() : memref<4xi32>
  %z_h = memref.alloc() : memref<8xi32>
  %x = gpu.alloc () : memref<4xi32>
  %y = gpu.alloc () : memref<4xi32>
  %z = gpu.alloc () : memref<8xi32>
  gpu.memset %x, %one : memref<4xi32>, i32
  gpu.memset %y, %hundred : memref<4xi32>, i32
  %low = memref.subview %z[0][4][1] : memref<8xi32> to memref<4xi32, strided<[1]>>
  %high = memref.subview %z[4][4][1] : memref<8xi32> to memref<4xi32, strided<[1], offset: 4>>
  gpu.memset %low, %seven : memref<4xi32, strided<[1]>>, i32
  gpu.memset %high, %nine : memref<4xi32, strided<[1], offset: 4>>, i32
  %sum = scf.for %i = %c0 to %c10 step %c1 iter_args(%acc = %zero) -> (i32) {
    gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
      %o = arith.constant 1 : i32
      %v = memref.load %x[%tx] : memref<4xi32>
      %w = arith.addi %v, %v : i32
      %s = arith.addi %w, %o : i32
      memref.store %s, %x[%tx] : memref<4xi32>
      gpu.terminator
    }
    gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
      %v = memref.load %x[%tx] : memref<4xi32>
      %w = memref.load %y[%tx] : memref<4xi32>
      %s = arith.addi %w, %v : i32
      memref.store %s, %y[%tx] : memref<4xi32>
      gpu.terminator
    }
    %rest = arith.remui %i, %c3 : index
    %third = arith.cmpi eq, %rest, %c2 : index
    scf.if %third {
      gpu.memcpy %x, %y : memref<4xi32>, memref<4xi32>
    }
    gpu.memcpy %y_h, %y : memref<4xi32>, memref<4xi32>
    %v = memref.load %y_h[%c0] : memref<4xi32>
    %next = arith.addi %acc, %v : i32
    scf.yield %next : i32
  }
  gpu.memcpy %y_h, %x : memref<4xi32>, memref<4xi32>
  gpu.memcpy %z_h, %z : memref<8xi32>, memref<8xi32>
  memref.store %sum, %h[%c0] : memref<5xi32>
  %x3 = memref.load %y_h[%c3] : memref<4xi32>
  memref.store %x3, %h[%c1] : memref<5xi32>
  gpu.memcpy %y_h, %y : memref<4xi32>, memref<4xi32>
  %y3 = memref.load %y_h[%c3] : memref<4xi32>
  memref.store %y3, %h[%c2] : memref<5xi32>
  %z0 = memref.load %z_h[%c0] : memref<8xi32>
  memref.store %z0, %h[%c3] : memref<5xi32>
  %z4 = memref.load %z_h[%c4] : memref<8xi32>
  memref.store %z4, %h[%c4] : memref<5xi32>
  gpu.dealloc %x : memref<4xi32>
  gpu.dealloc %y : memref<4xi32>
  gpu.dealloc %z : memref<8xi32>
  %u = memref.cast %h : memref<5xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<5xi32>
  memref.dealloc %y_h : memref<4xi32>
  memref.dealloc %z_h : memref<8xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
