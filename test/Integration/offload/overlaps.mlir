// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments that share memory, of which a kernel writes one. The cpu device
// reaches the memory itself. For a GPU there is a copy of each argument: the
// call fails before anything runs, unless their addresses are apart.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: gpu-opt --gpu-async-offload=device=gpu -mlir-print-debuginfo %s -o %t.mlir
// RUN: gpu-runner --device=cpu -e apart %t.mlir | FileCheck %s --check-prefix=APART
// RUN: not gpu-runner --device=cpu -e main %t.mlir 2>&1 | FileCheck %s --check-prefix=SHARED
// RUN: not gpu-runner --device=cpu -e backwards %t.mlir 2>&1 | FileCheck %s --check-prefix=BACKWARDS
// RUN: not gpu-runner --device=cpu -e host %t.mlir 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not gpu-runner --device=cpu -e global %t.mlir 2>&1 | FileCheck %s --check-prefix=GLOBAL
// RUN: %if cuda %{ gpu-runner --device=cuda -e apart %s | FileCheck %s --check-prefix=APART %}
// RUN: %if cuda %{ not gpu-runner --device=cuda -e main %s 2>&1 | FileCheck %s --check-prefix=SHARED %}

memref.global "private" @numbers : memref<4xi32> = dense<1>
func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}

// Each element of the first array, and one more, becomes one of the second.
// SHARED: overlaps.mlir:[[@LINE+4]]:1: error: assertion failed: argument 0 and argument 1 of @add overlap,
// SHARED-SAME: and one of them is written: the device has a copy of each, so pass memory that does not overlap
// BACKWARDS: error: assertion failed: argument 0 and argument 1 of @add overlap
// GLOBAL: error: assertion failed: argument 0 and @numbers of @addGlobal overlap
func.func private @add(%from: memref<?xi32, strided<[?], offset: ?>>, %to: memref<?xi32, strided<[?], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %n = memref.dim %from, %c0 : memref<?xi32, strided<[?], offset: ?>>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %from[%i] : memref<?xi32, strided<[?], offset: ?>>
    %w = arith.addi %v, %one : i32
    memref.store %w, %to[%i] : memref<?xi32, strided<[?], offset: ?>>
  }
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %from[%i] : memref<?xi32, strided<[?], offset: ?>>
    %w = arith.addi %v, %one : i32
    memref.store %w, %to[%i] : memref<?xi32, strided<[?], offset: ?>>
  }
  return
}

func.func private @make() -> memref<8xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m = memref.alloc() : memref<8xi32>
  scf.for %i = %c0 to %c8 step %c1 {
    %v = arith.index_cast %i : index to i32
    memref.store %v, %m[%i] : memref<8xi32>
  }
  return %m : memref<8xi32>
}

func.func private @show(%m: memref<8xi32>) {
  %all = memref.cast %m : memref<8xi32> to memref<*xi32>
  call @printMemrefI32(%all) : (memref<*xi32>) -> ()
  memref.dealloc %m : memref<8xi32>
  return
}

// The same four elements twice.
// CHECK: [2, 3, 4, 5, 4, 5, 6, 7]
func.func @main() {
  %m = call @make() : () -> memref<8xi32>
  %v = memref.subview %m[0] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1]>>
  %a = memref.cast %v : memref<4xi32, strided<[1]>> to memref<?xi32, strided<[?], offset: ?>>
  call @add(%a, %a) : (memref<?xi32, strided<[?], offset: ?>>, memref<?xi32, strided<[?], offset: ?>>) -> ()
  call @show(%m) : (memref<8xi32>) -> ()
  return
}

// Four elements and the four behind them, and nothing at all inside of these.
// APART: [0, 1, 2, 3, 1, 2, 3, 4]
func.func @apart() {
  %c0 = arith.constant 0 : index
  %m = call @make() : () -> memref<8xi32>
  %v = memref.subview %m[0] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1]>>
  %w = memref.subview %m[4] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1], offset: 4>>
  %none = memref.subview %m[2] [%c0] [1] : memref<8xi32> to memref<?xi32, strided<[1], offset: 2>>
  %a = memref.cast %v : memref<4xi32, strided<[1]>> to memref<?xi32, strided<[?], offset: ?>>
  %b = memref.cast %w : memref<4xi32, strided<[1], offset: 4>> to memref<?xi32, strided<[?], offset: ?>>
  %c = memref.cast %none : memref<?xi32, strided<[1], offset: 2>> to memref<?xi32, strided<[?], offset: ?>>
  call @add(%a, %b) : (memref<?xi32, strided<[?], offset: ?>>, memref<?xi32, strided<[?], offset: ?>>) -> ()
  call @add(%c, %a) : (memref<?xi32, strided<[?], offset: ?>>, memref<?xi32, strided<[?], offset: ?>>) -> ()
  call @show(%m) : (memref<8xi32>) -> ()
  return
}

// The second array goes from element 7 down to element 3.
func.func @backwards() {
  %m = call @make() : () -> memref<8xi32>
  %v = memref.subview %m[0] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1]>>
  %w = memref.reinterpret_cast %m to offset: [7], sizes: [5], strides: [-1] : memref<8xi32> to memref<5xi32, strided<[-1], offset: 7>>
  %a = memref.cast %v : memref<4xi32, strided<[1]>> to memref<?xi32, strided<[?], offset: ?>>
  %b = memref.cast %w : memref<5xi32, strided<[-1], offset: 7>> to memref<?xi32, strided<[?], offset: ?>>
  call @add(%a, %b) : (memref<?xi32, strided<[?], offset: ?>>, memref<?xi32, strided<[?], offset: ?>>) -> ()
  call @show(%m) : (memref<8xi32>) -> ()
  return
}

// The host reads by the one name what a kernel has written by the other.
// HOST: error: assertion failed: argument 0 and argument 1 of @addAndRead overlap
func.func private @addAndRead(%to: memref<4xi32>, %from: memref<4xi32>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    memref.store %one, %to[%i] : memref<4xi32>
  }
  %v = memref.load %from[%c1] : memref<4xi32>
  return %v : i32
}

func.func @host() -> i32 {
  %m = memref.alloc() : memref<4xi32>
  %v = call @addAndRead(%m, %m) : (memref<4xi32>, memref<4xi32>) -> i32
  memref.dealloc %m : memref<4xi32>
  return %v : i32
}

func.func private @addGlobal(%to: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %from = memref.get_global @numbers : memref<4xi32>
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %v = memref.load %from[%i] : memref<4xi32>
    %w = arith.addi %v, %v : i32
    memref.store %w, %to[%i] : memref<4xi32>
  }
  return
}

func.func @global() {
  %m = memref.get_global @numbers : memref<4xi32>
  call @addGlobal(%m) : (memref<4xi32>) -> ()
  return
}
