// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An assert guards the division after it, also one that the block does for all its threads.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s
// CHECK: assertion failed in kernel 'f', block (0, 0, 0), thread (0, 0, 0): n is zero
module attributes {gpu.container_module} {
  gpu.module @k {
    func.func @check(%n : index) {
      %c0 = arith.constant 0 : index
      %ok = arith.cmpi ne, %n, %c0 : index
      cf.assert %ok, "n is zero"
      return
    }
    gpu.func @f(%out: memref<?xi32>) kernel {
      %t = gpu.thread_id x
      %g = gpu.grid_dim x
      %c1 = arith.constant 1 : index
      %n = arith.subi %g, %c1 : index
      func.call @check(%n) : (index) -> ()
      %d = gpu.block_dim x
      %q = arith.remui %d, %n : index
      %qi = arith.index_cast %q : index to i32
      %all = gpu.all_reduce add %qi {} : (i32) -> i32
      memref.store %all, %out[%t] : memref<?xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %n = arith.constant 8 : index
    %d = gpu.alloc (%n) : memref<?xi32>
    gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%n, %c1, %c1) args(%d : memref<?xi32>)
    gpu.dealloc %d : memref<?xi32>
    return
  }
}
