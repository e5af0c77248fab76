// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of private functions that hold device ops, one inside a loop, one that
// returns a value read from the device.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [96, 96, 96, 96]
// CHECK: 96
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  %c4 = arith.constant 4 : index
  %three = arith.constant 3 : i32
  %h = memref.alloc(%c4) : memref<?xi32>
  %x = gpu.alloc (%c4) : memref<?xi32>
  gpu.memset %x, %three : memref<?xi32>, i32
  scf.for %i = %c0 to %c5 step %c1 {
    func.call @double(%x) : (memref<?xi32>) -> ()
  }
  gpu.memcpy %h, %x : memref<?xi32>, memref<?xi32>
  %v = call @last(%x) : (memref<?xi32>) -> i64
  gpu.dealloc %x : memref<?xi32>
  %u = memref.cast %h : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  vector.print %v : i64
  memref.dealloc %h : memref<?xi32>
  return
}

func.func private @double(%x: memref<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %n, %nty = %c1, %ntz = %c1) {
    %v = memref.load %x[%tx] : memref<?xi32>
    %w = arith.addi %v, %v : i32
    memref.store %w, %x[%tx] : memref<?xi32>
    gpu.terminator
  }
  return
}

func.func private @last(%x: memref<?xi32>) -> i64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xi32>
  %i = arith.subi %n, %c1 : index
  %h = memref.alloc(%n) : memref<?xi32>
  %t = gpu.wait async
  %d = gpu.memcpy async [%t] %h, %x : memref<?xi32>, memref<?xi32>
  gpu.wait [%d]
  %v = memref.load %h[%i] : memref<?xi32>
  %w = arith.extsi %v : i32 to i64
  memref.dealloc %h : memref<?xi32>
  return %w : i64
}

func.func private @printMemrefI32(memref<*xi32>)
