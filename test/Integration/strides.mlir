// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Views with negative, zero and huge strides, in host code and in kernels: LLVM
// is not told that their indices are no negative numbers.
// RUN: gpu-runner --device=cpu -O0 %s -e main --input=0 | FileCheck %s
// RUN: gpu-runner --device=cpu -O1 %s -e main --input=0 | FileCheck %s
// RUN: gpu-runner --device=cpu -O2 %s -e main --input=0 | FileCheck %s
// RUN: gpu-runner --device=cpu -O3 %s -e main --input=0 | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s -e main --input=0 | FileCheck %s %}

// CHECK: result[0]: 6xi32=0 0 0 0 0 0
!rows = memref<64x64xi32>
!reversed = memref<64x64xi32, strided<[-64, 1], offset: 4032>>
!open = memref<64x64xi32, strided<[?, ?], offset: ?>>

// x[i, j] = 64 i + j
func.func private @fill(%x: !rows) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c1 {
    scf.for %j = %c0 to %c64 step %c1 {
      %a = arith.muli %i, %c64 : index
      %b = arith.addi %a, %j : index
      %v = arith.index_cast %b : index to i32
      memref.store %v, %x[%i, %j] : !rows
    }
  }
  return
}

// How many of y[i, j] are not 64 (a i + b) + c j + d.
func.func private @wrong(%y: !rows, %a: index, %b: index, %c: index, %d: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0 : i32
  %n = scf.for %i = %c0 to %c64 step %c1 iter_args(%n0 = %none) -> (i32) {
    %n1 = scf.for %j = %c0 to %c64 step %c1 iter_args(%n2 = %n0) -> (i32) {
      %p = arith.muli %a, %i : index
      %q = arith.addi %p, %b : index
      %r = arith.muli %q, %c64 : index
      %s = arith.muli %c, %j : index
      %t = arith.addi %r, %s : index
      %u = arith.addi %t, %d : index
      %e = arith.index_cast %u : index to i32
      %v = memref.load %y[%i, %j] : !rows
      %w = arith.cmpi ne, %v, %e : i32
      %x = arith.extui %w : i1 to i32
      %n3 = arith.addi %n2, %x : i32
      scf.yield %n3 : i32
    }
    scf.yield %n1 : i32
  }
  return %n : i32
}

// By the host, eight rows a round: LLVM knows that (8 i or 2) is no 0.
func.func private @by_host(%x: !rows, %y: !rows) {
  %b = memref.reinterpret_cast %x to offset: [4032], sizes: [64, 64], strides: [-64, 1] : !rows to !reversed
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.for %i = %c0 to %c64 step %c4 {
    scf.for %j = %c0 to %c64 step %c1 {
      %i1 = arith.ori %i, %c1 : index
      %i2 = arith.ori %i, %c2 : index
      %i3 = arith.ori %i, %c3 : index
      %v0 = memref.load %b[%i, %j] : !reversed
      %v1 = memref.load %b[%i1, %j] : !reversed
      %v2 = memref.load %b[%i2, %j] : !reversed
      %v3 = memref.load %b[%i3, %j] : !reversed
      memref.store %v0, %y[%i, %j] : !rows
      memref.store %v1, %y[%i1, %j] : !rows
      memref.store %v2, %y[%i2, %j] : !rows
      memref.store %v3, %y[%i3, %j] : !rows
    }
  }
  return
}

// The same by a kernel.
func.func private @by_kernel(%x: !rows, %y: !rows) {
  %b = memref.reinterpret_cast %x to offset: [4032], sizes: [64, 64], strides: [-64, 1] : !rows to !reversed
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%j) = (%c0) to (%c64) step (%c1) {
    scf.for %i = %c0 to %c64 step %c4 {
      %i1 = arith.ori %i, %c1 : index
      %i2 = arith.ori %i, %c2 : index
      %i3 = arith.ori %i, %c3 : index
      %v0 = memref.load %b[%i, %j] : !reversed
      %v1 = memref.load %b[%i1, %j] : !reversed
      %v2 = memref.load %b[%i2, %j] : !reversed
      %v3 = memref.load %b[%i3, %j] : !reversed
      memref.store %v0, %y[%i, %j] : !rows
      memref.store %v1, %y[%i1, %j] : !rows
      memref.store %v2, %y[%i2, %j] : !rows
      memref.store %v3, %y[%i3, %j] : !rows
    }
  }
  return
}

// A product with the unit matrix is the other factor: LLVM unrolls its loop.
func.func private @by_product(%x: !rows, %unit: !rows, %y: !rows) {
  %none = arith.constant 0 : i32
  %b = memref.reinterpret_cast %x to offset: [4032], sizes: [64, 64], strides: [-64, 1] : !rows to !reversed
  linalg.fill ins(%none : i32) outs(%y : !rows)
  linalg.matmul ins(%b, %unit : !reversed, !rows) outs(%y : !rows)
  return
}

// Strides that are known at run time: both are negative.
func.func private @by_open(%x: !rows, %y: !rows, %minus1: index, %minus64: index) {
  %c4095 = arith.constant 4095 : index
  %b = memref.reinterpret_cast %x to offset: [%c4095], sizes: [64, 64], strides: [%minus64, %minus1] : !rows to !open
  linalg.copy ins(%b : !open) outs(%y : !rows)
  return
}

// One row for all.
func.func private @by_zero(%x: !rows, %y: !rows, %zero: index) {
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %b = memref.reinterpret_cast %x to offset: [%c128], sizes: [64, 64], strides: [%zero, %c1] : !rows to !open
  linalg.copy ins(%b : !open) outs(%y : !rows)
  return
}

// The stride of a dimension of size 1 is multiplied, which wraps, and not used.
func.func private @by_unused(%x: !rows, %y: !rows, %zero: index) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %large = arith.constant 4611686018427387905 : index
  %c = memref.reinterpret_cast %x to offset: [0], sizes: [1, 64, 64], strides: [%large, %c64, %c1] : !rows to memref<1x64x64xi32, strided<[?, ?, ?]>>
  %s = memref.subview %c[%zero, 0, 0] [1, 64, 64] [%c4, 1, 1] : memref<1x64x64xi32, strided<[?, ?, ?]>> to memref<1x64x64xi32, strided<[?, ?, ?], offset: ?>>
  %z = memref.expand_shape %y [[0, 1], [2]] output_shape [1, 64, 64] : !rows into memref<1x64x64xi32>
  linalg.copy ins(%s : memref<1x64x64xi32, strided<[?, ?, ?], offset: ?>>) outs(%z : memref<1x64x64xi32>)
  return
}

func.func @main(%zero: index) -> tensor<6xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  %minus = arith.constant -1 : index
  %minus1 = arith.subi %zero, %c1 : index
  %minus64 = arith.subi %zero, %c64 : index
  %x = memref.alloc() : !rows
  %y = memref.alloc() : !rows
  %unit = memref.alloc() : !rows
  call @fill(%x) : (!rows) -> ()
  linalg.fill ins(%none : i32) outs(%unit : !rows)
  scf.for %i = %c0 to %c64 step %c1 {
    memref.store %one, %unit[%i, %i] : !rows
  }
  call @by_host(%x, %y) : (!rows, !rows) -> ()
  %w0 = call @wrong(%y, %minus, %c63, %c1, %c0) : (!rows, index, index, index, index) -> i32
  call @by_kernel(%x, %y) : (!rows, !rows) -> ()
  %w1 = call @wrong(%y, %minus, %c63, %c1, %c0) : (!rows, index, index, index, index) -> i32
  call @by_product(%x, %unit, %y) : (!rows, !rows, !rows) -> ()
  %w2 = call @wrong(%y, %minus, %c63, %c1, %c0) : (!rows, index, index, index, index) -> i32
  call @by_open(%x, %y, %minus1, %minus64) : (!rows, !rows, index, index) -> ()
  %w3 = call @wrong(%y, %minus, %c63, %minus, %c63) : (!rows, index, index, index, index) -> i32
  call @by_zero(%x, %y, %zero) : (!rows, !rows, index) -> ()
  %w4 = call @wrong(%y, %c0, %c2, %c1, %c0) : (!rows, index, index, index, index) -> i32
  call @by_unused(%x, %y, %zero) : (!rows, !rows, index) -> ()
  %w5 = call @wrong(%y, %c1, %c0, %c1, %c0) : (!rows, index, index, index, index) -> i32
  memref.dealloc %x : !rows
  memref.dealloc %y : !rows
  memref.dealloc %unit : !rows
  %r = tensor.from_elements %w0, %w1, %w2, %w3, %w4, %w5 : tensor<6xi32>
  return %r : tensor<6xi32>
}
