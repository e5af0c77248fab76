// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of ranks in loops that become kernels. A group of another number of ranks is an
// error of a program that comes to it only.
// DEFINE: %{run} = gpu-runner %s --device=cpu --output=-
// RUN: %{run} -e unreached --ranks=2 --input=4xi32 --input=3 | FileCheck %s --check-prefix=UNREACHED
// RUN: %{run} -e unreached --ranks=2 --input=4xi32 --input=3 --offload=off | FileCheck %s --check-prefix=UNREACHED
// RUN: gpu-opt --loop-invariant-code-motion %s | FileCheck %s --check-prefix=STAYS
// RUN: %{run} -e inside --ranks=3 --input=4xi32 | FileCheck %s --check-prefix=INSIDE
// RUN: not gpu-opt %S/Inputs/negative-root.mlir 2>&1 | FileCheck %s --check-prefix=ROOT
// ROOT: negative-root.mlir:2:34: error: {{.*}}broadcast has the root -1, but roots are positions in the group, from 0

gpu_async.group @rows grid [2, 3] axes [1]

// UNREACHED: rank 0:
// UNREACHED-NEXT: arg{{.}}0]: 4xi32=0 3 6 9
// UNREACHED: rank 1:
// UNREACHED-NEXT: arg{{.}}0]: 4xi32=3 6 9 12
// STAYS-LABEL: func.func @unreached
// STAYS: scf.if
// STAYS-NEXT: gpu_async.rank @rows
func.func @unreached(%x: memref<4xi32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c6 = arith.constant 6 : index
  %size = gpu_async.size
  %isGrid = arith.cmpi eq, %size, %c6 : index
  scf.for %i = %c0 to %n step %c1 {
    %r = scf.if %isGrid -> index {
      %a = gpu_async.rank @rows
      scf.yield %a : index
    } else {
      %b = gpu_async.rank
      scf.yield %b : index
    }
    scf.parallel (%j) = (%c0) to (%c4) step (%c1) {
      %o = memref.load %x[%j] : memref<4xi32>
      %q = arith.addi %r, %j : index
      %v = arith.index_cast %q : index to i32
      %p = arith.addi %o, %v : i32
      memref.store %p, %x[%j] : memref<4xi32>
      scf.reduce
    }
  }
  return
}

// INSIDE-COUNT-3: arg{{.}}0]: 4xi32={{0|3|6}} {{0|3|6}} {{0|3|6}} {{0|3|6}}
func.func @inside(%x: memref<4xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %r = gpu_async.rank
    %n = gpu_async.size
    %p = arith.muli %r, %n : index
    %v = arith.index_cast %p : index to i32
    memref.store %v, %x[%i] : memref<4xi32>
    scf.reduce
  }
  return
}
