// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The descriptor that an unranked memref points to would not outlive its piece.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s
// CHECK: unranked-kept.mlir:[[@LINE+16]]:{{[0-9]+}}: error: an unranked memref is used across a barrier, which is not supported by the cpu device: cast it to a ranked one before
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @f(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %c0 = arith.constant 0 : index
      %n = gpu.block_dim x
      %o = arith.addi %t, %n : index
      %i = arith.index_cast %t : index to i32
      %s1 = memref.subview %out[%t] [1] [1] : memref<?xi32> to memref<1xi32, strided<[1], offset: ?>>
      %s2 = memref.subview %out[%o] [1] [1] : memref<?xi32> to memref<1xi32, strided<[1], offset: ?>>
      %u1 = memref.cast %s1 : memref<1xi32, strided<[1], offset: ?>> to memref<*xi32>
      %u2 = memref.cast %s2 : memref<1xi32, strided<[1], offset: ?>> to memref<*xi32>
      %old = memref.load %out[%t] : memref<?xi32>
      %z = arith.constant 0 : i32
      %neg = arith.cmpi slt, %old, %z : i32
      %u = arith.select %neg, %u1, %u2 : memref<*xi32>
      gpu.barrier
      %r = memref.cast %u : memref<*xi32> to memref<1xi32, strided<[1], offset: ?>>
      memref.store %i, %r[%c0] : memref<1xi32, strided<[1], offset: ?>>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %n = arith.constant 8 : index
    %s = arith.constant 16 : index
    %d = gpu.alloc (%s) : memref<?xi32>
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%d : memref<?xi32>)
    gpu.dealloc %d : memref<?xi32>
    return
  }
}
