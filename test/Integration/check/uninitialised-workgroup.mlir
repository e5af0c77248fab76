// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names a read of workgroup memory that no thread of the block has
// written, also where an earlier block left something there.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %x = gpu.alloc () : memref<8xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c2, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1)
             workgroup(%shared : memref<4xi32, #gpu.address_space<workgroup>>) {
    %v = arith.index_cast %tx : index to i32
    %first = arith.cmpi eq, %bx, %c0 : index
    scf.if %first {
      memref.store %v, %shared[%tx] : memref<4xi32, #gpu.address_space<workgroup>>
    }
    // CHECK: uninitialised-workgroup.mlir:[[#@LINE+1]]:10: error: read of uninitialised workgroup memory: byte 0 of the block's 16, in block (1, 0, 0), thread (0, 0, 0) of kernel @
    %w = memref.load %shared[%tx] : memref<4xi32, #gpu.address_space<workgroup>>
    %base = arith.muli %bx, %c4 : index
    %i = arith.addi %base, %tx : index
    memref.store %w, %x[%i] : memref<8xi32>
    gpu.terminator
  }
  // CHECK: uninitialised-workgroup.mlir:12:3: note: launched here
  gpu.dealloc %x : memref<8xi32>
  return
}
// CHECK: gpu-runner: error: --check found 1 bug{{$}}
