// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ways to use tokens that go wrong with upstream's own lowering: an async join
// as the last use, a token that nobody uses, one that the host waits for twice,
// a launch with two dependencies.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [5, 6]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = memref.alloc() : memref<2xi32>
  %t = gpu.wait async
  %x, %a = gpu.alloc async [%t] () : memref<1xi32>
  %y, %b = gpu.alloc async [%t] () : memref<2xi32>
  %five = gpu.launch async [%a]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %v = arith.constant 5 : i32
    memref.store %v, %x[%c0] : memref<1xi32>
    gpu.terminator
  }
  // The host waits for one token twice.
  gpu.wait [%five]
  gpu.wait [%five]
  %six = gpu.launch async [%b]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %v = arith.constant 6 : i32
    memref.store %v, %y[%c1] : memref<2xi32>
    gpu.terminator
  }
  // Two dependencies.
  %both = gpu.launch async [%five, %six]
      blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
      threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %v = memref.load %x[%c0] : memref<1xi32>
    memref.store %v, %y[%c0] : memref<2xi32>
    gpu.terminator
  }
  %down = gpu.memcpy async [%both] %h, %y : memref<2xi32>, memref<2xi32>
  gpu.wait [%down]
  %u = memref.cast %h : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<2xi32>
  // An async join is the last use of these, and nobody uses the join.
  %f0 = gpu.dealloc async [%down] %x : memref<1xi32>
  %f1 = gpu.dealloc async [%down] %y : memref<2xi32>
  %join = gpu.wait async [%f0, %f1]
  return
}

func.func private @printMemrefI32(memref<*xi32>)
