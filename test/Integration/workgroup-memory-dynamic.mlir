// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dynamic workgroup memory, whose size the launch states. Each thread uses its
// own slot, so no barrier is needed.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [0, 2, 4, 6, 8, 10, 12, 14]
func.func @main() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %bytes = arith.constant 64 : i32
  %h = memref.alloc() : memref<8xi32>
  %x = gpu.alloc () : memref<8xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c8, %nty = %c1, %ntz = %c1)
             dynamic_shared_memory_size %bytes {
    %offset = arith.constant 32 : index
    %raw = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %shared = memref.view %raw[%offset][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8xi32, #gpu.address_space<workgroup>>
    %i = arith.index_cast %tx : index to i32
    memref.store %i, %shared[%tx] : memref<8xi32, #gpu.address_space<workgroup>>
    %v = memref.load %shared[%tx] : memref<8xi32, #gpu.address_space<workgroup>>
    %w = arith.addi %v, %i : i32
    memref.store %w, %x[%tx] : memref<8xi32>
    gpu.terminator
  }
  gpu.memcpy %h, %x : memref<8xi32>, memref<8xi32>
  gpu.dealloc %x : memref<8xi32>
  %u = memref.cast %h : memref<8xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<8xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
