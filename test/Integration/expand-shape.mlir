// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Several dimensions of unknown sizes made of one, of memory with gaps: 100 i + 10 j
// + k is stored at [i, j, k], by the host, then one more by a kernel.
// RUN: gpu-runner --device=cpu %s -e main --input=24xi32=7 --input=2 --input=3 --input=2 --output=- | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s -e main --input=24xi32=7 --input=2 --input=3 --input=2 --output=- | FileCheck %s %}

// CHECK: 24xi32=1 7 2 7 11 7 12 7 21 7 22 7 101 7 102 7 111 7 112 7 121 7 122 7
!gaps = memref<?xi32, strided<[2]>>
!wide = memref<?x?x?xi32, strided<[?, ?, 2]>>
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @more(%a: memref<24xi32>, %n: index, %m: index, %l: index) kernel {
      %all = arith.constant 12 : index
      %gaps = memref.reinterpret_cast %a to offset: [0], sizes: [%all], strides: [2] : memref<24xi32> to !gaps
      %e = memref.expand_shape %gaps [[0, 1, 2]] output_shape [%n, %m, %l] : !gaps into !wide
      %i = gpu.thread_id x
      %j = gpu.thread_id y
      %k = gpu.thread_id z
      %one = arith.constant 1 : i32
      %v = memref.load %e[%i, %j, %k] : !wide
      %w = arith.addi %v, %one : i32
      memref.store %w, %e[%i, %j, %k] : !wide
      gpu.return
    }
  }
  func.func @main(%a: memref<24xi32>, %n: index, %m: index, %l: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c10 = arith.constant 10 : index
    %all = arith.constant 12 : index
    %gaps = memref.reinterpret_cast %a to offset: [0], sizes: [%all], strides: [2] : memref<24xi32> to !gaps
    %e = memref.expand_shape %gaps [[0, 1, 2]] output_shape [%n, %m, %l] : !gaps into !wide
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %m step %c1 {
        scf.for %k = %c0 to %l step %c1 {
          %p = arith.muli %i, %c10 : index
          %q = arith.addi %p, %j : index
          %r = arith.muli %q, %c10 : index
          %s = arith.addi %r, %k : index
          %v = arith.index_cast %s : index to i32
          memref.store %v, %e[%i, %j, %k] : !wide
        }
      }
    }
    %d = gpu.alloc () : memref<24xi32>
    gpu.memcpy %d, %a : memref<24xi32>, memref<24xi32>
    gpu.launch_func @kernels::@more blocks in (%c1, %c1, %c1) threads in (%n, %m, %l) args(%d : memref<24xi32>, %n : index, %m : index, %l : index)
    gpu.memcpy %a, %d : memref<24xi32>, memref<24xi32>
    gpu.dealloc %d : memref<24xi32>
    return
  }
}
