// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parallel loops and linalg on memrefs become kernels; the caller's array has what
// they wrote. What they reduce is reduced by kernels, unless the combiner has
// effects: that stays with the host, and says so.
// RUN: gpu-runner --device=cpu --check -e loops %s --input=6xf32=1 --stats 2>%t.stats --output=- | FileCheck %s --check-prefix=LOOPS
// RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
// RUN: gpu-opt %s --gpu-async-offload=device=gpu -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --check -e loops %t.gpu.mlir --input=6xf32=1 --output=- | FileCheck %s --check-prefix=LOOPS
// RUN: gpu-runner --device=cpu --check -e reduces %s --input=70x50xf32=0.25 --input=70xf32 --input=11 --stats 2>%t.stats | FileCheck %s --check-prefix=REDUCES
// RUN: FileCheck %s --check-prefix=KERNELS --input-file=%t.stats
// RUN: gpu-runner --device=cpu --check -e reduces %t.gpu.mlir --input=70x50xf32=0.25 --input=70xf32 --input=11 | FileCheck %s --check-prefix=REDUCES
// RUN: gpu-runner --device=cpu --check -e reduces %t.gpu.mlir --input=70x50xf32=0.25 --input=70xf32 --input=11 --output= --output=- | FileCheck %s --check-prefix=ROWS
// RUN: gpu-runner --device=cpu --leak-check=error -e reduces %s --input=70x50xf32=0.25 --input=70xf32 --input=1 | FileCheck %s --check-prefix=NOTHING
// RUN: gpu-runner --device=cpu -e prints %s --input=2xf32=1 2>&1 | FileCheck %s --check-prefix=PRINTS
// RUN: not gpu-runner --device=cpu --offload=error -e prints %s --input=2xf32=1 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: gpu-runner --device=cpu --offload=off -e loops %s --input=6xf32=1 --output=- | FileCheck %s --check-prefix=LOOPS
// RUN: gpu-runner --device=cpu -e mixed %s | FileCheck %s --check-prefix=MIXED
// RUN: gpu-runner --device=cpu -e keeps %s --input=3 | FileCheck %s --check-prefix=KEEPS

// LOOPS: 6xf32=2 4 2 4 2 4
// STATS: "launches": 3,
// ROWS: arg[1]: 70xf32=13 13
// REDUCES: result[0]: f32=438
// REDUCES-NEXT: result[1]: f32=0.25
// REDUCES-NEXT: result[2]: i32=28
// KERNELS: "launches": 6,
// NOTHING: result[2]: i32=3
// PRINTS: loops.mlir:[[@LINE+78]]:8: remark: runs on the host: no kernel can be made of it
// PRINTS: result[0]: f32=2
// ERROR: loops.mlir:[[@LINE+76]]:8: error: runs on the host: no kernel can be made of it
// MIXED: 3
// KEEPS: result[0]: f32=8
func.func @loops(%a: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  scf.parallel (%i) = (%c1) to (%c6) step (%c2) {
    %v = memref.load %a[%i] : memref<6xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %a[%i] : memref<6xf32>
    scf.reduce
  }
  affine.parallel (%i) = (0) to (3) {
    %v = affine.load %a[%i] : memref<6xf32>
    affine.store %v, %a[%i] : memref<6xf32>
  }
  linalg.add ins(%a, %a : memref<6xf32>, memref<6xf32>) outs(%a : memref<6xf32>)
  return
}

// Two values in every other row, one of a row for each thread, and one of an open
// number of iterations.
func.func @reduces(%a: memref<70x50xf32>, %rows: memref<70xf32>, %n: index) -> (f32, f32, i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c50 = arith.constant 50 : index
  %c70 = arith.constant 70 : index
  %half = arith.constant 0.5 : f32
  %least = arith.constant -1.0 : f32
  %three = arith.constant 3 : i32
  %r:2 = scf.parallel (%i, %j) = (%c0, %c0) to (%c70, %c50) step (%c2, %c1) init (%half, %least) -> (f32, f32) {
    %v = memref.load %a[%i, %j] : memref<70x50xf32>
    %w = math.absf %v : f32
    scf.reduce(%v, %w : f32, f32) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%x: f32, %y: f32):
      %s = arith.maximumf %x, %y : f32
      scf.reduce.return %s : f32
    }
  }
  scf.parallel (%i) = (%c0) to (%c70) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%c50) step (%c1) init (%half) -> f32 {
      %v = memref.load %a[%i, %j] : memref<70x50xf32>
      scf.reduce(%v : f32) {
      ^bb0(%x: f32, %y: f32):
        %s = arith.addf %x, %y : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %rows[%i] : memref<70xf32>
    scf.reduce
  }
  %odd = scf.parallel (%i) = (%c1) to (%n) step (%c2) init (%three) -> i32 {
    %v = arith.index_cast %i : index to i32
    scf.reduce(%v : i32) {
    ^bb0(%x: i32, %y: i32):
      %s = arith.addi %x, %y : i32
      scf.reduce.return %s : i32
    }
  }
  return %r#0, %r#1, %odd : f32, f32, i32
}

func.func private @printF32(f32)
func.func @prints(%a: memref<2xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %zero = arith.constant 0.0 : f32
  // Each sum.
  %r = scf.parallel (%i) = (%c0) to (%c2) step (%c1) init (%zero) -> f32 {
    %v = memref.load %a[%i] : memref<2xf32>
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      func.call @printF32(%s) : (f32) -> ()
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}

// A function with device work of its own stays as it is.
func.func @mixed() {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<3xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<3xf32>)
  %d = gpu.alloc () : memref<3xf32>
  gpu.memcpy %d, %a : memref<3xf32>, memref<3xf32>
  %c3 = arith.constant 3 : index
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c3, %by = %c1, %bz = %c1) {
    %v = memref.load %d[%i] : memref<3xf32>
    %t = arith.addf %v, %v : f32
    %w = arith.addf %v, %t : f32
    memref.store %w, %d[%i] : memref<3xf32>
    gpu.terminator
  }
  gpu.memcpy %a, %d : memref<3xf32>, memref<3xf32>
  gpu.dealloc %d : memref<3xf32>
  %r = memref.load %a[%c1] : memref<3xf32>
  memref.dealloc %a : memref<3xf32>
  call @printF32(%r) : (f32) -> ()
  return
}

// What a loop's kernels write to a global is there behind it.
memref.global "private" @state : memref<8xf32> = dense<1.0>
func.func @keeps(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %s = memref.get_global @state : memref<8xf32>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%s : memref<8xf32>) {
    ^bb0(%v: f32):
      %w = arith.addf %v, %v : f32
      linalg.yield %w : f32
    }
  }
  %s = memref.get_global @state : memref<8xf32>
  %r = memref.load %s[%c0] : memref<8xf32>
  return %r : f32
}
