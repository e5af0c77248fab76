// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check takes barriers for what they are: an exchange through workgroup memory
// with two barriers is silent, in a loop too; without the second one the next
// round overwrites what others still read. Memory that was written before a
// barrier is initialised after it.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s
// RUN: not gpu-runner --device=cpu --check -O0 %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c34 = arith.constant 34 : index
  %c35 = arith.constant 35 : index
  %x = gpu.alloc () : memref<70xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c2, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c35, %nty = %c1, %ntz = %c1)
             workgroup(%shared : memref<35xi32, #gpu.address_space<workgroup>>) {
    %other = arith.subi %c34, %tx : index
    %base = arith.muli %bx, %c35 : index
    %i = arith.addi %base, %tx : index
    scf.for %round = %c0 to %c3 step %c1 {
      %sum = arith.addi %tx, %round : index
      %v = arith.index_cast %sum : index to i32
      memref.store %v, %shared[%tx] : memref<35xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %w = memref.load %shared[%other] : memref<35xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      memref.store %w, %x[%i] : memref<70xi32>
    }
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c2, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c35, %nty = %c1, %ntz = %c1)
             workgroup(%shared : memref<35xi32, #gpu.address_space<workgroup>>) {
    %other = arith.subi %c34, %tx : index
    %base = arith.muli %bx, %c35 : index
    %i = arith.addi %base, %tx : index
    scf.for %round = %c0 to %c3 step %c1 {
      %sum = arith.addi %tx, %round : index
      %v = arith.index_cast %sum : index to i32
      // CHECK-DAG: barriers.mlir:[[#@LINE+1]]:7: {{error: data race between threads of a block|note: the other}}: write by block ({{[01]}}, 0, 0), thread ({{[0-9]+}}, 0, 0) of kernel @
      memref.store %v, %shared[%tx] : memref<35xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      // CHECK-DAG: barriers.mlir:[[#@LINE+1]]:12: {{error: data race between threads of a block|note: the other}}: read by block ({{[01]}}, 0, 0), thread ({{[0-9]+}}, 0, 0) of kernel @
      %w = memref.load %shared[%other] : memref<35xi32, #gpu.address_space<workgroup>>
      memref.store %w, %x[%i] : memref<70xi32>
    }
    gpu.terminator
  }
  gpu.dealloc %x : memref<70xi32>
  return
}
// CHECK: gpu-runner: error: --check found 1 bug{{$}}
