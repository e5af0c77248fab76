// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names a data race between two threads of a block: each writes its own
// element and reads its neighbour's, with nothing between. Every pair of places
// is reported once.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s
// RUN: not gpu-runner --device=cpu --check -O0 %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c7 = arith.constant 7 : index
  %c8 = arith.constant 8 : index
  %x = gpu.alloc () : memref<8xi32>
  %y = gpu.alloc () : memref<8xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %v = arith.index_cast %tx : index to i32
    // CHECK: race-threads.mlir:[[#@LINE+1]]:5: error: data race between threads of a block: write by block (0, 0, 0), thread (4, 0, 0) of kernel @{{.*}}, launched at {{.*}}race-threads.mlir:15:3
    memref.store %v, %x[%tx] : memref<8xi32>
    %other = arith.subi %c7, %tx : index
    // CHECK: race-threads.mlir:[[#@LINE+1]]:10: note: the other: read by block (0, 0, 0), thread (3, 0, 0) of kernel @
    %w = memref.load %x[%other] : memref<8xi32>
    // CHECK: race-threads.mlir:13:8: note: at byte 16 of 32 bytes of device memory that comes from here
    memref.store %w, %y[%tx] : memref<8xi32>
    gpu.terminator
  }
  // Atomics between them order nothing if nobody looks at what they saw.
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1) {
    %v = arith.index_cast %tx : index to i32
    // CHECK: race-threads.mlir:[[#@LINE+1]]:5: error: data race between threads of a block: write by block (0, 0, 0), thread (4, 0, 0)
    memref.store %v, %x[%tx] : memref<8xi32>
    %seen = memref.generic_atomic_rmw %y[%c0] : memref<8xi32> {
    ^bb0(%old: i32):
      %new = arith.ori %old, %v : i32
      memref.atomic_yield %new : i32
    }
    %other = arith.subi %c7, %tx : index
    // CHECK: race-threads.mlir:[[#@LINE+1]]:10: note: the other: read by block (0, 0, 0), thread (3, 0, 0)
    %w = memref.load %x[%other] : memref<8xi32>
    %used = memref.atomic_rmw ori %w, %y[%c1] : (i32, memref<8xi32>) -> i32
    gpu.terminator
  }
  gpu.dealloc %x : memref<8xi32>
  gpu.dealloc %y : memref<8xi32>
  return
}
// CHECK: gpu-runner: error: --check found 2 bugs{{$}}
