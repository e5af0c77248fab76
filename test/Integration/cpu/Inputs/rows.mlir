// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pixels of three bytes, each stored before the next is loaded.
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @scale(%x: memref<?x3xi8>, %y: memref<?x3xi8>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %two = arith.constant 2 : i8
      %t = gpu.global_id x
      scf.for %j = %c0 to %c3 step %c1 {
        %v = memref.load %x[%t, %j] : memref<?x3xi8>
        %w = arith.muli %v, %two : i8
        memref.store %w, %y[%t, %j] : memref<?x3xi8>
      }
      gpu.return
    }
  }
  func.func @main(%x: memref<?x3xi8>, %y: memref<?x3xi8>) {
    %c1 = arith.constant 1 : index
    %c256 = arith.constant 256 : index
    gpu.launch_func @k::@scale blocks in (%c1, %c1, %c1) threads in (%c256, %c1, %c1) args(%x : memref<?x3xi8>, %y : memref<?x3xi8>)
    return
  }
}
