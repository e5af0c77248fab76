// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Grid and block sizes known only at run time, one of them zero: that launch
// does nothing, and what comes after it still runs.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// 0, 1, 2 and 3 blocks of 5 threads each:
// CHECK: [30]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<1xi32>
  %start = gpu.wait async
  %x, %allocated = gpu.alloc async [%start] () : memref<1xi32>
  %cleared = gpu.memset async [%allocated] %x, %zero : memref<1xi32>, i32
  gpu.wait [%cleared]
  scf.for %blocks = %c0 to %c4 step %c1 {
    %ready = gpu.wait async
    %k = gpu.launch async [%ready]
        blocks(%bx, %by, %bz) in (%nbx = %blocks, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c5, %nty = %c1, %ntz = %c1) {
      %one = arith.constant 1 : i32
      %r = memref.atomic_rmw addi %one, %x[%c0] : (i32, memref<1xi32>) -> i32
      gpu.terminator
    }
    gpu.wait [%k]
  }
  gpu.memcpy %h, %x : memref<1xi32>, memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  %u = memref.cast %h : memref<1xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<1xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
