// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An allocation shared by host and device: the host writes, a kernel changes it
// in place, the host reads, without a copy.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [0, 11, 22, 33, 44]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %x = gpu.alloc host_shared (%c5) : memref<?xi32>
  scf.for %i = %c0 to %c5 step %c1 {
    %v = arith.index_cast %i : index to i32
    memref.store %v, %x[%i] : memref<?xi32>
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c5, %nty = %c1, %ntz = %c1) {
    %eleven = arith.constant 11 : i32
    %v = memref.load %x[%tx] : memref<?xi32>
    %w = arith.muli %v, %eleven : i32
    memref.store %w, %x[%tx] : memref<?xi32>
    gpu.terminator
  }
  %u = memref.cast %x : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  gpu.dealloc %x : memref<?xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
