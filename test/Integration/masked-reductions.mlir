// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reductions over dimensions of size 1, under a mask: what it leaves out is the accumulator, or
// the sum of nothing.
// RUN: gpu-runner --device=cpu %s --input=4xi32=10,20,30,40 --input=4xi32=3,-3,3,-3 --expect=arg0=4xi32=19,21,41,43
// RUN: %if cuda %{ gpu-runner --device=cuda %s --input=4xi32=10,20,30,40 --input=4xi32=3,-3,3,-3 --expect=arg0=4xi32=19,21,41,43 %}
func.func @main(%h: memref<4xi32>, %k: memref<4xi32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %d = gpu.alloc () : memref<4xi32>
  %e = gpu.alloc () : memref<4xi32>
  gpu.memcpy %d, %h : memref<4xi32>, memref<4xi32>
  gpu.memcpy %e, %k : memref<4xi32>, memref<4xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c4, %sy = %c1, %sz = %c1) {
    %zero = arith.constant 0 : i32
    %x = memref.load %d[%tx] : memref<4xi32>
    %y = memref.load %e[%tx] : memref<4xi32>
    %isPositive = arith.cmpi sgt, %y, %zero : i32
    %mask = vector.broadcast %isPositive : i1 to vector<1x2xi1>
    %alone = vector.broadcast %isPositive : i1 to vector<1xi1>
    %source = vector.broadcast %y : i32 to vector<1x2xi32>
    %single = vector.broadcast %y : i32 to vector<1xi32>
    %i = arith.index_cast %tx : index to i32
    %accumulator = vector.from_elements %i, %x : vector<2xi32>
    // The number of the thread and x, each and 3 more where the mask is set.
    %pair = vector.mask %mask { vector.multi_reduction <add>, %source, %accumulator [0] : vector<1x2xi32> to vector<2xi32> } : vector<1x2xi1> -> vector<2xi32>
    // 0 or 3.
    %sum = vector.mask %alone { vector.reduction <add>, %single : vector<1xi32> into i32 } : vector<1xi1> -> i32
    %a = vector.extract %pair[0] : i32 from vector<2xi32>
    %b = vector.extract %pair[1] : i32 from vector<2xi32>
    %c = arith.addi %a, %b : i32
    %r = arith.addi %c, %sum : i32
    memref.store %r, %d[%tx] : memref<4xi32>
    gpu.terminator
  }
  gpu.memcpy %h, %d : memref<4xi32>, memref<4xi32>
  gpu.dealloc %d : memref<4xi32>
  gpu.dealloc %e : memref<4xi32>
  return
}
