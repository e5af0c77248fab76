// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches inside a loop: tokens that live in the loop's body, and a host read
// of the result in every turn.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// Ten turns of x = 2 x + 1 and y = x from x = 0; the sum of all y on the host.
// CHECK: [1023, 2036]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %zero = arith.constant 0 : i32
  %h = memref.alloc() : memref<2xi32>
  %one_h = memref.alloc() : memref<1xi32>
  %x = gpu.alloc () : memref<1xi32>
  %y = gpu.alloc () : memref<1xi32>
  gpu.memset %x, %zero : memref<1xi32>, i32
  %sum = scf.for %i = %c0 to %c10 step %c1 iter_args(%acc = %zero) -> (i32) {
    %t = gpu.wait async
    %k0 = gpu.launch async [%t]
        blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
      %one = arith.constant 1 : i32
      %v = memref.load %x[%tx] : memref<1xi32>
      %w = arith.addi %v, %v : i32
      %z = arith.addi %w, %one : i32
      memref.store %z, %x[%tx] : memref<1xi32>
      gpu.terminator
    }
    %k1 = gpu.launch async [%k0]
        blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
      %v = memref.load %x[%tx] : memref<1xi32>
      memref.store %v, %y[%tx] : memref<1xi32>
      gpu.terminator
    }
    %m = gpu.memcpy async [%k1] %one_h, %y : memref<1xi32>, memref<1xi32>
    gpu.wait [%m]
    %v = memref.load %one_h[%c0] : memref<1xi32>
    %next = arith.addi %acc, %v : i32
    memref.store %v, %h[%c0] : memref<2xi32>
    scf.yield %next : i32
  }
  memref.store %sum, %h[%c1] : memref<2xi32>
  gpu.dealloc %x : memref<1xi32>
  gpu.dealloc %y : memref<1xi32>
  %u = memref.cast %h : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<2xi32>
  memref.dealloc %one_h : memref<1xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
