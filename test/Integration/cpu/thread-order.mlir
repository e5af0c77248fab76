// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread's stores and loads of its own row keep their order, also where LLVM
// makes one wide access of several: in a row by a computed index, by two names,
// in pieces between barriers, for elements of several sizes.
// RUN: gpu-runner --device=cpu -O0 %s --input=0 --input=1 | FileCheck %s
// RUN: gpu-runner --device=cpu -O2 %s --input=0 --input=1 | FileCheck %s
// RUN: gpu-runner --device=cpu -O3 %s --input=0 --input=1 | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s --input=0 --input=1 | FileCheck %s %}

// Rows of different arrays stay wide accesses: the program looks before the loop
// whether they are different.
// RUN: gpu-runner --emit=llvm --mcpu=skylake-avx512 %S/Inputs/rows.mlir | FileCheck %s --check-prefix=ROWS
// ROWS-LABEL: define internal void @k_scale_block(
// ROWS: %found.conflict
// ROWS: load <96 x i8>
// ROWS: store <96 x i8>

// A pipeline without our passes leaves the loop alone.
// RUN: gpu-runner --emit=llvm -O0 %S/Inputs/rows.mlir | FileCheck %s --check-prefix=MARK
// MARK: br label {{.*}} !llvm.loop ![[#LOOP:]]
// MARK: ![[#LOOP]] = distinct !{![[#LOOP]], ![[#MARK:]], ![[#]]}
// MARK: ![[#MARK]] = !{!"llvm.loop.vectorize.enable", i1 false}

// How many of 64 rows are wrong, of 5 cases.
// CHECK: result[0]: 5xi32=0 0 0 0 0
func.func @main(%zero: index, %one: index) -> tensor<5xi32> {
  %a = call @computed(%zero) : (index) -> i32
  %b = call @names(%zero) : (index) -> i32
  %c = call @pieces(%zero, %one) : (index, index) -> i32
  %d = call @wide(%zero) : (index) -> i32
  %e = call @others(%one) : (index) -> i32
  %r = tensor.from_elements %a, %b, %c, %d, %e : tensor<5xi32>
  return %r : tensor<5xi32>
}

// x[2t] = t + 1, x[2t + 1] = 10 x[2t + d] with d = 0
func.func private @computed(%d: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0 : i32
  %k1 = arith.constant 1 : i32
  %k10 = arith.constant 10 : i32
  %x = memref.alloc() : memref<128xi32>
  linalg.fill ins(%none : i32) outs(%x : memref<128xi32>)
  scf.parallel (%t) = (%c0) to (%c64) step (%c1) {
    %i = arith.muli %t, %c2 : index
    %i1 = arith.addi %i, %c1 : index
    %j = arith.addi %i, %d : index
    %n = arith.index_cast %t : index to i32
    %a = arith.addi %n, %k1 : i32
    memref.store %a, %x[%i] : memref<128xi32>
    %b = memref.load %x[%j] : memref<128xi32>
    %c = arith.muli %b, %k10 : i32
    memref.store %c, %x[%i1] : memref<128xi32>
  }
  %r = scf.for %t = %c0 to %c64 step %c1 iter_args(%w = %none) -> (i32) {
    %i = arith.muli %t, %c2 : index
    %i1 = arith.addi %i, %c1 : index
    %n = arith.index_cast %t : index to i32
    %a = arith.addi %n, %k1 : i32
    %e = arith.muli %a, %k10 : i32
    %v = memref.load %x[%i1] : memref<128xi32>
    %is = arith.cmpi ne, %v, %e : i32
    %q = arith.extui %is : i1 to i32
    %m = arith.addi %w, %q : i32
    scf.yield %m : i32
  }
  memref.dealloc %x : memref<128xi32>
  return %r : i32
}

// Bytes in rows of three, by a second name.
func.func private @names(%d: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0 : i32
  %k1 = arith.constant 1 : i8
  %x = memref.alloc() : memref<192xi8>
  %same = memref.subview %x[%d] [192] [1] : memref<192xi8> to memref<192xi8, strided<[1], offset: ?>>
  scf.parallel (%t) = (%c0) to (%c64) step (%c1) {
    %i = arith.muli %t, %c3 : index
    %i1 = arith.addi %i, %c1 : index
    %i2 = arith.addi %i, %c2 : index
    %n = arith.index_cast %t : index to i8
    memref.store %n, %x[%i] : memref<192xi8>
    %a = memref.load %same[%i] : memref<192xi8, strided<[1], offset: ?>>
    %b = arith.addi %a, %k1 : i8
    memref.store %b, %x[%i1] : memref<192xi8>
    %c = memref.load %same[%i1] : memref<192xi8, strided<[1], offset: ?>>
    %e = arith.addi %c, %k1 : i8
    memref.store %e, %x[%i2] : memref<192xi8>
  }
  %r = scf.for %t = %c0 to %c64 step %c1 iter_args(%w = %none) -> (i32) {
    %i = arith.muli %t, %c3 : index
    %i2 = arith.addi %i, %c2 : index
    %v = memref.load %x[%i2] : memref<192xi8>
    %n = arith.addi %t, %c2 : index
    %e = arith.index_cast %n : index to i8
    %is = arith.cmpi ne, %v, %e : i8
    %q = arith.extui %is : i1 to i32
    %m = arith.addi %w, %q : i32
    scf.yield %m : i32
  }
  memref.dealloc %x : memref<192xi8>
  return %r : i32
}

// Two arguments of one memory, half floats, with a barrier between.
func.func private @pieces(%zero: index, %one: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0 : i32
  %h = memref.alloc() : memref<128xf16>
  %x = gpu.alloc () : memref<128xf16>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one)
             threads(%t, %ty, %tz) in (%sx = %c64, %sy = %one, %sz = %one) {
    %two = arith.constant 2.0 : f16
    %same = memref.reinterpret_cast %x to offset: [%zero], sizes: [128], strides: [1] : memref<128xf16> to memref<128xf16, strided<[1], offset: ?>>
    %i = arith.muli %t, %c2 : index
    %i1 = arith.addi %i, %c1 : index
    %n = arith.index_cast %t : index to i32
    %f = arith.sitofp %n : i32 to f16
    memref.store %f, %same[%i] : memref<128xf16, strided<[1], offset: ?>>
    %a = memref.load %x[%i] : memref<128xf16>
    %b = arith.addf %a, %two : f16
    memref.store %b, %same[%i1] : memref<128xf16, strided<[1], offset: ?>>
    gpu.barrier
    memref.store %two, %x[%i] : memref<128xf16>
    %c = memref.load %same[%i] : memref<128xf16, strided<[1], offset: ?>>
    %d = memref.load %same[%i1] : memref<128xf16, strided<[1], offset: ?>>
    %e = arith.addf %c, %d : f16
    memref.store %e, %x[%i1] : memref<128xf16>
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<128xf16>, memref<128xf16>
  gpu.dealloc %x : memref<128xf16>
  %r = scf.for %t = %c0 to %c64 step %c1 iter_args(%w = %none) -> (i32) {
    %i = arith.muli %t, %c2 : index
    %i1 = arith.addi %i, %c1 : index
    %v = memref.load %h[%i1] : memref<128xf16>
    %four = arith.constant 4.0 : f16
    %n = arith.index_cast %t : index to i32
    %f = arith.sitofp %n : i32 to f16
    %e = arith.addf %f, %four : f16
    %is = arith.cmpf une, %v, %e : f16
    %q = arith.extui %is : i1 to i32
    %m = arith.addi %w, %q : i32
    scf.yield %m : i32
  }
  memref.dealloc %h : memref<128xf16>
  return %r : i32
}

// Doubles in rows of four, of which the first is a sum of the others: stores of
// these come before loads by a computed index.
func.func private @wide(%d: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0 : i32
  %zero = arith.constant 0.0 : f64
  %x = memref.alloc() : memref<64x4xf64>
  scf.parallel (%t) = (%c0) to (%c64) step (%c1) {
    scf.for %j = %c1 to %c4 step %c1 {
      %p = arith.addi %t, %j : index
      %n = arith.index_cast %p : index to i32
      %f = arith.sitofp %n : i32 to f64
      memref.store %f, %x[%t, %j] : memref<64x4xf64>
    }
    %s = scf.for %j = %c1 to %c4 step %c1 iter_args(%a = %zero) -> (f64) {
      %k = arith.addi %j, %d : index
      %v = memref.load %x[%t, %k] : memref<64x4xf64>
      %b = arith.addf %a, %v : f64
      scf.yield %b : f64
    }
    memref.store %s, %x[%t, %c0] : memref<64x4xf64>
  }
  %r = scf.for %t = %c0 to %c64 step %c1 iter_args(%w = %none) -> (i32) {
    %v = memref.load %x[%t, %c0] : memref<64x4xf64>
    %k3 = arith.constant 3 : i32
    %k6 = arith.constant 6 : i32
    %n = arith.index_cast %t : index to i32
    %n3 = arith.muli %n, %k3 : i32
    %n6 = arith.addi %n3, %k6 : i32
    %e = arith.sitofp %n6 : i32 to f64
    %is = arith.cmpf une, %v, %e : f64
    %q = arith.extui %is : i1 to i32
    %m = arith.addi %w, %q : i32
    scf.yield %m : i32
  }
  memref.dealloc %x : memref<64x4xf64>
  return %r : i32
}

// Rows of two, read by steps of one: what the store leaves is read, by no other
// thread.
func.func private @others(%one: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c63 = arith.constant 63 : index
  %c64 = arith.constant 64 : index
  %none = arith.constant 0 : i32
  %k5 = arith.constant 5 : i32
  %x = memref.alloc() : memref<256xi32>
  linalg.fill ins(%none : i32) outs(%x : memref<256xi32>)
  scf.parallel (%t) = (%c0) to (%c64) step (%c1) {
    %i = arith.muli %t, %c2 : index
    %i1 = arith.addi %i, %c1 : index
    // Of thread 63 it is its own element, of all others one that nobody writes.
    %far = arith.addi %t, %c63 : index
    %near = arith.cmpi eq, %t, %c63 : index
    %c128 = arith.constant 128 : index
    %above = arith.addi %t, %c128 : index
    %j = arith.select %near, %far, %above : index
    %n = arith.index_cast %t : index to i32
    %a = arith.addi %n, %k5 : i32
    memref.store %a, %x[%i] : memref<256xi32>
    %b = memref.load %x[%j] : memref<256xi32>
    memref.store %b, %x[%i1] : memref<256xi32>
  }
  %r = scf.for %t = %c0 to %c64 step %c1 iter_args(%w = %none) -> (i32) {
    %i = arith.muli %t, %c2 : index
    %i1 = arith.addi %i, %c1 : index
    %near = arith.cmpi eq, %t, %c63 : index
    %n = arith.index_cast %t : index to i32
    %a = arith.addi %n, %k5 : i32
    %e = arith.select %near, %a, %none : i32
    %v = memref.load %x[%i1] : memref<256xi32>
    %is = arith.cmpi ne, %v, %e : i32
    %q = arith.extui %is : i1 to i32
    %m = arith.addi %w, %q : i32
    scf.yield %m : i32
  }
  memref.dealloc %x : memref<256xi32>
  return %r : i32
}
