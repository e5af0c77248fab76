// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that have no element of a row do as one that has: nobody writes what they
// read before they have. Nor is a number of a row written that other threads of it
// have yet to read. None of this has races with a GPU's schedule.
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.mlir
// RUN: gpu-runner --device=cpu --check -e long %t.mlir --input=2x1000xf32=1 --input=2x1000xf32=2 | FileCheck %s --check-prefix=LONG
// RUN: gpu-runner --device=cpu --check -e short %t.mlir --input=2x7xf16=1 --input=2x7xf16=2 | FileCheck %s --check-prefix=SHORT
// RUN: gpu-runner --device=cpu --check -e few %t.mlir --input=3x200xf32=1 --input=3x200xf32=0.5 --output= --output=- | FileCheck %s --check-prefix=FEW
// RUN: gpu-runner --device=cpu --check -e numbers %t.mlir --input=4x100xf32=1 --input=4xf32=2 --input=4x100xf32 --output= --output=- --output=- | FileCheck %s --check-prefix=NUMBERS
// RUN: gpu-runner --device=cpu --check -e sums %t.mlir --input=8x100xf32=1 --input=8xf32=2 --input=8x100xf32 --output= --output=- --output=- | FileCheck %s --check-prefix=SUMS

#all = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
#each = affine_map<(i) -> (i)>

// A thread has four elements or three.
// LONG: 2x1000xf32={{\[+}}1003 1003
func.func @long(%x: tensor<2x1000xf32>, %y: tensor<2x1000xf32>) -> tensor<2x1000xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<2xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<2xf32>) -> tensor<2xf32>
  %s = linalg.reduce {arith.addf} ins(%x : tensor<2x1000xf32>) outs(%f : tensor<2xf32>) dimensions = [1]
  %r = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<2x1000xf32>, tensor<2xf32>) outs(%y : tensor<2x1000xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %d = arith.addf %a, %b : f32
    %t = arith.addf %d, %c : f32
    linalg.yield %t : f32
  } -> tensor<2x1000xf32>
  return %r : tensor<2x1000xf32>
}

// A thread has one or none.
// SHORT: 2x7xf16={{\[+}}10 10
func.func @short(%x: tensor<2x7xf16>, %y: tensor<2x7xf16>) -> tensor<2x7xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<2xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<2xf16>) -> tensor<2xf16>
  %s = linalg.reduce {arith.addf} ins(%x : tensor<2x7xf16>) outs(%f : tensor<2xf16>) dimensions = [1]
  %r = linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : tensor<2x7xf16>, tensor<2xf16>) outs(%y : tensor<2x7xf16>) {
  ^bb0(%a: f16, %b: f16, %c: f16):
    %d = arith.addf %a, %b : f16
    %t = arith.addf %d, %c : f16
    linalg.yield %t : f16
  } -> tensor<2x7xf16>
  return %r : tensor<2x7xf16>
}

// Three rows of 64 threads, and 64 threads behind them.
// FEW: 3x200xf32={{\[+}}200.5 200.5
func.func @few(%x: memref<3x200xf32>, %y: memref<3x200xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (1) {
    %s = memref.alloc() : memref<3xf32>
    linalg.fill ins(%zero : f32) outs(%s : memref<3xf32>)
    linalg.reduce {arith.addf} ins(%x : memref<3x200xf32>) outs(%s : memref<3xf32>) dimensions = [1]
    linalg.generic {indexing_maps = [#row, #all], iterator_types = ["parallel", "parallel"]}
        ins(%s : memref<3xf32>) outs(%y : memref<3x200xf32>) {
    ^bb0(%b: f32, %c: f32):
      %t = arith.addf %b, %c : f32
      linalg.yield %t : f32
    }
    memref.dealloc %s : memref<3xf32>
  }
  return
}

// All threads of the row read the number that one of them replaces.
// NUMBERS: 4xf32=100 100 100 100
// NUMBERS: 4x100xf32={{\[+}}200 200
func.func @numbers(%x: memref<4x100xf32>, %n: memref<4xf32>, %y: memref<4x100xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    %from = memref.subview %x[%i, 0] [1, 100] [1, 1] : memref<4x100xf32> to memref<1x100xf32, strided<[100, 1], offset: ?>>
    %to = memref.subview %y[%i, 0] [1, 100] [1, 1] : memref<4x100xf32> to memref<1x100xf32, strided<[100, 1], offset: ?>>
    %number = memref.subview %n[%i] [1] [1] : memref<4xf32> to memref<1xf32, strided<[1], offset: ?>>
    %square = memref.alloc() : memref<1x100xf32>
    %s = memref.alloc() : memref<1xf32>
    %p = memref.alloc() : memref<1xf32>
    linalg.mul ins(%from, %from : memref<1x100xf32, strided<[100, 1], offset: ?>>, memref<1x100xf32, strided<[100, 1], offset: ?>>) outs(%square : memref<1x100xf32>)
    linalg.fill ins(%zero : f32) outs(%s : memref<1xf32>)
    linalg.reduce {arith.addf} ins(%square : memref<1x100xf32>) outs(%s : memref<1xf32>) dimensions = [1]
    linalg.mul ins(%s, %number : memref<1xf32>, memref<1xf32, strided<[1], offset: ?>>) outs(%p : memref<1xf32>)
    linalg.copy ins(%s : memref<1xf32>) outs(%number : memref<1xf32, strided<[1], offset: ?>>)
    linalg.generic {indexing_maps = [#all, #row, #all], iterator_types = ["parallel", "parallel"]}
        ins(%square, %p : memref<1x100xf32>, memref<1xf32>) outs(%to : memref<1x100xf32, strided<[100, 1], offset: ?>>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %t = arith.mulf %a, %b : f32
      linalg.yield %t : f32
    }
    memref.dealloc %square : memref<1x100xf32>
    memref.dealloc %s : memref<1xf32>
    memref.dealloc %p : memref<1xf32>
  }
  return
}

// A sum begins with what is there, and is written there; 32 threads have it.
// SUMS: 8xf32=102 102
// SUMS: 8x100xf32={{\[+}}1 1
func.func @sums(%x: memref<8x100xf32>, %n: memref<8xf32>, %y: memref<8x100xf32>) {
  scf.forall (%i) in (1) {
    %own = memref.alloc() : memref<8x100xf32>
    linalg.mul ins(%x, %x : memref<8x100xf32>, memref<8x100xf32>) outs(%own : memref<8x100xf32>)
    linalg.reduce {arith.addf} ins(%own : memref<8x100xf32>) outs(%n : memref<8xf32>) dimensions = [1]
    linalg.copy ins(%own : memref<8x100xf32>) outs(%y : memref<8x100xf32>)
    memref.dealloc %own : memref<8x100xf32>
  }
  return
}
