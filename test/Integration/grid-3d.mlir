// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three-dimensional grids and blocks, with extents that differ in every
// direction: each thread writes its own number at its own place.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// 3 x 2 x 2 blocks of 2 x 3 x 4 threads fill 8 x 6 x 6 elements; the host counts
// those that do not hold their own position.
// CHECK: [0, 288]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %h = memref.alloc() : memref<8x6x6xi32>
  %x = gpu.alloc () : memref<8x6x6xi32>
  gpu.memset %x, %zero : memref<8x6x6xi32>, i32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c3, %nby = %c2, %nbz = %c2)
             threads(%tx, %ty, %tz) in (%ntx = %c2, %nty = %c3, %ntz = %c4) {
    %x0 = arith.muli %bx, %ntx : index
    %i = arith.addi %x0, %tx : index
    %y0 = arith.muli %by, %nty : index
    %j = arith.addi %y0, %ty : index
    %z0 = arith.muli %bz, %ntz : index
    %k = arith.addi %z0, %tz : index
    %rows = arith.muli %nby, %nty : index
    %columns = arith.muli %nbx, %ntx : index
    %p0 = arith.muli %k, %rows : index
    %p1 = arith.addi %p0, %j : index
    %p2 = arith.muli %p1, %columns : index
    %p = arith.addi %p2, %i : index
    %v = arith.index_cast %p : index to i32
    %r = memref.atomic_rmw addi %v, %x[%k, %j, %i] : (i32, memref<8x6x6xi32>) -> i32
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<8x6x6xi32>, memref<8x6x6xi32>
  gpu.dealloc %x : memref<8x6x6xi32>
  %result = memref.alloc() : memref<2xi32>
  memref.store %zero, %result[%c0] : memref<2xi32>
  memref.store %zero, %result[%c1] : memref<2xi32>
  scf.for %k = %c0 to %c8 step %c1 {
    scf.for %j = %c0 to %c6 step %c1 {
      scf.for %i = %c0 to %c6 step %c1 {
        %v = memref.load %h[%k, %j, %i] : memref<8x6x6xi32>
        %seen = memref.load %result[%c1] : memref<2xi32>
        %wrong = arith.cmpi ne, %v, %seen : i32
        %w32 = arith.extui %wrong : i1 to i32
        %old = memref.load %result[%c0] : memref<2xi32>
        %new = arith.addi %old, %w32 : i32
        memref.store %new, %result[%c0] : memref<2xi32>
        %next = arith.addi %seen, %one : i32
        memref.store %next, %result[%c1] : memref<2xi32>
      }
    }
  }
  %u = memref.cast %result : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %result : memref<2xi32>
  memref.dealloc %h : memref<8x6x6xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
