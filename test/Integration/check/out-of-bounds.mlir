// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names an index outside of its dimension, an address outside of its
// allocation, a workgroup access outside of the block's, and a copy that is too
// long. None of them happens: the neighbour stays as it was.
// RUN: not gpu-runner --device=cpu --check %s 2>%t.err | FileCheck %s --check-prefix=OUT
// RUN: FileCheck %s < %t.err

// OUT: [1, 2, 3, 4]
// OUT: [5, 5, 5, 5]
func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %five = arith.constant 5 : i32
  %h = memref.alloc() : memref<4xi32>
  %n = memref.alloc() : memref<4xi32>
  %x = gpu.alloc (%c4) : memref<?xi32>
  %y = gpu.alloc () : memref<4xi32>
  gpu.memset %y, %five : memref<4xi32>, i32
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c2, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1) {
    %first = arith.muli %bx, %c4 : index
    %i = arith.addi %first, %tx : index
    %next = arith.addi %i, %c1 : index
    %v = arith.index_cast %next : index to i32
    // CHECK-DAG: out-of-bounds.mlir:[[#@LINE+1]]:5: error: out of bounds: write at index 4 of dimension 0, whose size is 4, in block (1, 0, 0), thread (0, 0, 0) of kernel @
    memref.store %v, %x[%i] : memref<?xi32>
    // CHECK-DAG: out-of-bounds.mlir:[[#@LINE-8]]:3: note: launched here
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c4, %nty = %c1, %ntz = %c1)
             workgroup(%shared : memref<4xi32, #gpu.address_space<workgroup>>) {
    %base = memref.extract_aligned_pointer_as_index %x : memref<?xi32> -> index
    %base64 = arith.index_cast %base : index to i64
    %p = llvm.inttoptr %base64 : i64 to !llvm.ptr
    %tx64 = arith.index_cast %tx : index to i64
    %q = llvm.getelementptr inbounds %p[%tx64] : (!llvm.ptr, i64) -> !llvm.ptr, vector<2xi64>
    // CHECK-DAG: out-of-bounds.mlir:[[#@LINE+1]]:10: error: out of bounds: read of 4 bytes at byte 16 of 16 bytes of device memory, in block (0, 0, 0), thread (1, 0, 0)
    %v = llvm.load %q : !llvm.ptr -> i32
    // CHECK-DAG: out-of-bounds.mlir:18:8: note: allocated here
    %at = arith.addi %tx, %c2 : index
    // CHECK-DAG: out-of-bounds.mlir:[[#@LINE+1]]:5: error: out of bounds: write at index 4 of dimension 0, whose size is 4, in block (0, 0, 0), thread (2, 0, 0)
    memref.store %v, %shared[%at] : memref<4xi32, #gpu.address_space<workgroup>>
    gpu.terminator
  }
  gpu.memcpy %n, %y : memref<4xi32>, memref<4xi32>
  %long = memref.reinterpret_cast %y to offset: [0], sizes: [8], strides: [1]
      : memref<4xi32> to memref<8xi32>
  %buffer = memref.alloc() : memref<8xi32>
  // CHECK-DAG: out-of-bounds.mlir:[[#@LINE+1]]:3: error: out of bounds: gpu.memcpy reads 32 bytes at byte 0 of 16 bytes of device memory
  gpu.memcpy %buffer, %long : memref<8xi32>, memref<8xi32>
  gpu.memcpy %h, %x : memref<4xi32>, memref<?xi32>
  gpu.dealloc %x : memref<?xi32>
  gpu.dealloc %y : memref<4xi32>
  %u = memref.cast %h : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  %w = memref.cast %n : memref<4xi32> to memref<*xi32>
  call @printMemrefI32(%w) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<4xi32>
  memref.dealloc %n : memref<4xi32>
  memref.dealloc %buffer : memref<8xi32>
  return
}
// CHECK: gpu-runner: error: --check found 4 bugs

func.func private @printMemrefI32(memref<*xi32>)
