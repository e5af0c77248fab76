// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device ops in the arms of scf.if and in the blocks of cf.cond_br; their tokens
// stay where they were made.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [1, 20]
// CHECK: [2, 40]
func.func @main() {
  %true = arith.constant true
  %false = arith.constant false
  call @run(%true) : (i1) -> ()
  call @run(%false) : (i1) -> ()
  return
}

func.func @run(%which: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %twenty = arith.constant 20 : i32
  %forty = arith.constant 40 : i32
  %h = memref.alloc() : memref<2xi32>
  %x = gpu.alloc () : memref<2xi32>
  gpu.memset %x, %zero : memref<2xi32>, i32
  scf.if %which {
    %t = gpu.wait async
    %k = gpu.launch async [%t]
        blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
      memref.store %one, %x[%c0] : memref<2xi32>
      gpu.terminator
    }
    gpu.wait [%k]
  } else {
    gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
               threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
      memref.store %two, %x[%c0] : memref<2xi32>
      gpu.terminator
    }
  }
  cf.cond_br %which, ^yes, ^no
^yes:
  %ty = gpu.wait async
  %ky = gpu.launch async [%ty]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %tyy, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    memref.store %twenty, %x[%c1] : memref<2xi32>
    gpu.terminator
  }
  gpu.wait [%ky]
  cf.br ^end
^no:
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %tyy, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    memref.store %forty, %x[%c1] : memref<2xi32>
    gpu.terminator
  }
  cf.br ^end
^end:
  gpu.memcpy %h, %x : memref<2xi32>, memref<2xi32>
  gpu.dealloc %x : memref<2xi32>
  %u = memref.cast %h : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<2xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
