// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two kernels on independent tokens, each of which spins until the other has
// started: legal, and finished only by an implementation that runs both at once.
// RUN: gpu-runner --device=cpu --timeout=60 %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda --timeout=60 %s | FileCheck %s %}

// CHECK: [1, 1]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %h = memref.alloc() : memref<2xi32>
  %start = gpu.wait async
  %flags, %allocated = gpu.alloc async [%start] () : memref<2xi32>
  %cleared = gpu.memset async [%allocated] %flags, %zero : memref<2xi32>, i32
  %a = gpu.launch async [%cleared]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %old = memref.atomic_rmw addi %one, %flags[%c0] : (i32, memref<2xi32>) -> i32
    scf.while : () -> () {
      %seen = memref.atomic_rmw addi %zero, %flags[%c1] : (i32, memref<2xi32>) -> i32
      %wait = arith.cmpi eq, %seen, %zero : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    gpu.terminator
  }
  %b = gpu.launch async [%cleared]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %old = memref.atomic_rmw addi %one, %flags[%c1] : (i32, memref<2xi32>) -> i32
    scf.while : () -> () {
      %seen = memref.atomic_rmw addi %zero, %flags[%c0] : (i32, memref<2xi32>) -> i32
      %wait = arith.cmpi eq, %seen, %zero : i32
      scf.condition(%wait)
    } do {
      scf.yield
    }
    gpu.terminator
  }
  %down = gpu.memcpy async [%a, %b] %h, %flags : memref<2xi32>, memref<2xi32>
  %freed = gpu.dealloc async [%down] %flags : memref<2xi32>
  gpu.wait [%freed]
  %u = memref.cast %h : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<2xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
