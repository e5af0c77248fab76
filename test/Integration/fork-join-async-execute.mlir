// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A fork and a join through async.execute, in the style of upstream's own
// integration test: device ops without tokens inside, values through !async.value.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [84, 84, 84, 84]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %count = arith.constant 4 : index
  %c42 = arith.constant 42 : i32

  %h0 = memref.alloc(%count) : memref<?xi32>
  linalg.fill ins(%c42 : i32) outs(%h0 : memref<?xi32>)

  %t0, %f0 = async.execute () -> !async.value<memref<?xi32>> {
    %b0 = gpu.alloc (%count) : memref<?xi32>
    gpu.memcpy %b0, %h0 : memref<?xi32>, memref<?xi32>
    async.yield %b0 : memref<?xi32>
  }
  %t1, %f1 = async.execute [%t0] (%f0 as %b0 : !async.value<memref<?xi32>>)
      -> !async.value<memref<?xi32>> {
    %b1 = gpu.alloc (%count) : memref<?xi32>
    gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
               threads(%tx, %ty, %tz) in (%ntx = %count, %nty = %c1, %ntz = %c1) {
      %v = memref.load %b0[%tx] : memref<?xi32>
      memref.store %v, %b1[%tx] : memref<?xi32>
      gpu.terminator
    }
    async.yield %b1 : memref<?xi32>
  }
  %t2, %f2 = async.execute [%t0] (%f0 as %b0 : !async.value<memref<?xi32>>)
      -> !async.value<memref<?xi32>> {
    %b2 = gpu.alloc (%count) : memref<?xi32>
    gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
               threads(%tx, %ty, %tz) in (%ntx = %count, %nty = %c1, %ntz = %c1) {
      %v = memref.load %b0[%tx] : memref<?xi32>
      memref.store %v, %b2[%tx] : memref<?xi32>
      gpu.terminator
    }
    async.yield %b2 : memref<?xi32>
  }
  %t3 = async.execute [%t1, %t2] (%f0 as %b0 : !async.value<memref<?xi32>>,
                                  %f1 as %b1 : !async.value<memref<?xi32>>,
                                  %f2 as %b2 : !async.value<memref<?xi32>>) {
    gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
               threads(%tx, %ty, %tz) in (%ntx = %count, %nty = %c1, %ntz = %c1) {
      %v1 = memref.load %b1[%tx] : memref<?xi32>
      %v2 = memref.load %b2[%tx] : memref<?xi32>
      %sum = arith.addi %v1, %v2 : i32
      memref.store %sum, %b2[%tx] : memref<?xi32>
      gpu.terminator
    }
    gpu.memcpy %h0, %b2 : memref<?xi32>, memref<?xi32>
    gpu.dealloc %b0 : memref<?xi32>
    gpu.dealloc %b1 : memref<?xi32>
    gpu.dealloc %b2 : memref<?xi32>
    async.yield
  }
  async.await %t3 : !async.token

  %u = memref.cast %h0 : memref<?xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h0 : memref<?xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
