// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// gpu.memcpy between a part of a matrix and a contiguous buffer, both ways, and
// between two parts.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// Columns 2 and 3 of rows 1 and 2 come back alone:
// CHECK: [12, 13]
// CHECK-NEXT: [22, 23]
// and are put over columns 0 and 1 of rows 0 and 1:
// CHECK: [12, 13, 2, 3, 4]
// CHECK-NEXT: [22, 23, 12, 13, 14]
// CHECK-NEXT: [20, 21, 22, 23, 24]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c5 = arith.constant 5 : index
  %c10 = arith.constant 10 : index
  %h = memref.alloc() : memref<3x5xi32>
  %part = memref.alloc() : memref<2x2xi32>
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c5 step %c1 {
      %row = arith.muli %i, %c10 : index
      %v = arith.addi %row, %j : index
      %v32 = arith.index_cast %v : index to i32
      memref.store %v32, %h[%i, %j] : memref<3x5xi32>
    }
  }
  %x = gpu.alloc () : memref<3x5xi32>
  %y = gpu.alloc () : memref<2x2xi32>
  gpu.memcpy %x, %h : memref<3x5xi32>, memref<3x5xi32>
  %x_part = memref.subview %x[1, 2] [2, 2] [1, 1] : memref<3x5xi32> to memref<2x2xi32, strided<[5, 1], offset: 7>>
  gpu.memcpy %y, %x_part : memref<2x2xi32>, memref<2x2xi32, strided<[5, 1], offset: 7>>
  gpu.memcpy %part, %y : memref<2x2xi32>, memref<2x2xi32>
  %x_corner = memref.subview %x[0, 0] [2, 2] [1, 1] : memref<3x5xi32> to memref<2x2xi32, strided<[5, 1]>>
  gpu.memcpy %x_corner, %part : memref<2x2xi32, strided<[5, 1]>>, memref<2x2xi32>
  gpu.memcpy %h, %x : memref<3x5xi32>, memref<3x5xi32>
  gpu.dealloc %x : memref<3x5xi32>
  gpu.dealloc %y : memref<2x2xi32>
  %u0 = memref.cast %part : memref<2x2xi32> to memref<*xi32>
  call @printMemrefI32(%u0) : (memref<*xi32>) -> ()
  %u1 = memref.cast %h : memref<3x5xi32> to memref<*xi32>
  call @printMemrefI32(%u1) : (memref<*xi32>) -> ()
  memref.dealloc %part : memref<2x2xi32>
  memref.dealloc %h : memref<3x5xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
