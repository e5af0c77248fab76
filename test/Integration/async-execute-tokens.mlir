// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// async.execute whose bodies use gpu tokens of their own and host waits.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [30, 31, 32, 33]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %h = memref.alloc() : memref<4xi32>
  %x = gpu.alloc () : memref<4xi32>
  %y = gpu.alloc () : memref<4xi32>

  %t0 = async.execute {
    %s = gpu.wait async
    %k = gpu.launch async [%s]
        blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
      %v = arith.index_cast %tx : index to i32
      memref.store %v, %x[%tx] : memref<4xi32>
      gpu.terminator
    }
    gpu.wait [%k]
    async.yield
  }
  %t1 = async.execute {
    %s = gpu.wait async
    %k = gpu.launch async [%s]
        blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
      %v = arith.constant 30 : i32
      memref.store %v, %y[%tx] : memref<4xi32>
      gpu.terminator
    }
    gpu.wait [%k]
    async.yield
  }
  %t2 = async.execute [%t0, %t1] {
    %s = gpu.wait async
    %k = gpu.launch async [%s]
        blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
        threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
      %a = memref.load %x[%tx] : memref<4xi32>
      %b = memref.load %y[%tx] : memref<4xi32>
      %v = arith.addi %a, %b : i32
      memref.store %v, %x[%tx] : memref<4xi32>
      gpu.terminator
    }
    %d = gpu.memcpy async [%k] %h, %x : memref<4xi32>, memref<4xi32>
    gpu.wait [%d]
    async.yield
  }
  async.await %t2 : !async.token

  %u = memref.cast %h : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  gpu.dealloc %x : memref<4xi32>
  gpu.dealloc %y : memref<4xi32>
  memref.dealloc %h : memref<4xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
