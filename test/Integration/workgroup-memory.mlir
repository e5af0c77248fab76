// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Static workgroup memory and private memory of a kernel. Each thread uses its
// own slots, so no barrier is needed.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

// CHECK: [0, 3, 6, 9, 112, 115, 118, 121]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %h = memref.alloc() : memref<8xi32>
  %x = gpu.alloc () : memref<8xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c2, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1)
             workgroup(%shared : memref<4xi32, #gpu.address_space<workgroup>>)
             private(%own : memref<2xi32, #gpu.address_space<private>>) {
    %hundred = arith.constant 100 : i32
    %base = arith.muli %bx, %c4 : index
    %i = arith.addi %base, %tx : index
    %i32 = arith.index_cast %i : index to i32
    %b32 = arith.index_cast %bx : index to i32
    %bias = arith.muli %b32, %hundred : i32
    memref.store %i32, %shared[%tx] : memref<4xi32, #gpu.address_space<workgroup>>
    memref.store %bias, %own[%c0] : memref<2xi32, #gpu.address_space<private>>
    memref.store %i32, %own[%c1] : memref<2xi32, #gpu.address_space<private>>
    %s = memref.load %shared[%tx] : memref<4xi32, #gpu.address_space<workgroup>>
    %p0 = memref.load %own[%c0] : memref<2xi32, #gpu.address_space<private>>
    %p1 = memref.load %own[%c1] : memref<2xi32, #gpu.address_space<private>>
    %a = arith.addi %s, %p1 : i32
    %b = arith.addi %a, %p1 : i32
    %v = arith.addi %b, %p0 : i32
    memref.store %v, %x[%i] : memref<8xi32>
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
