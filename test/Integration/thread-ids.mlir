// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The ops that tell a kernel where it is, in a kernel written as gpu.func.
// RUN: gpu-runner --device=cpu %s | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // Writes thread, block, global id, block and grid extent of the last thread.
    gpu.func @where(%x: memref<3x5xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %tx = gpu.thread_id x
      %ty = gpu.thread_id y
      %tz = gpu.thread_id z
      %bx = gpu.block_id x
      %by = gpu.block_id y
      %bz = gpu.block_id z
      %gx = gpu.global_id x
      %gy = gpu.global_id y
      %gz = gpu.global_id z
      %dx = gpu.block_dim x
      %dy = gpu.block_dim y
      %dz = gpu.block_dim z
      %nx = gpu.grid_dim x
      %ny = gpu.grid_dim y
      %nz = gpu.grid_dim z
      %tx1 = arith.addi %gx, %c1 : index
      %ty1 = arith.addi %gy, %c1 : index
      %tz1 = arith.addi %gz, %c1 : index
      %ex = arith.muli %dx, %nx : index
      %ey = arith.muli %dy, %ny : index
      %ez = arith.muli %dz, %nz : index
      %lx = arith.cmpi eq, %tx1, %ex : index
      %ly = arith.cmpi eq, %ty1, %ey : index
      %lz = arith.cmpi eq, %tz1, %ez : index
      %lxy = arith.andi %lx, %ly : i1
      %last = arith.andi %lxy, %lz : i1
      scf.if %last {
        %txi = arith.index_cast %tx : index to i32
        %tyi = arith.index_cast %ty : index to i32
        %tzi = arith.index_cast %tz : index to i32
        %bxi = arith.index_cast %bx : index to i32
        %byi = arith.index_cast %by : index to i32
        %bzi = arith.index_cast %bz : index to i32
        %gxi = arith.index_cast %gx : index to i32
        %gyi = arith.index_cast %gy : index to i32
        %gzi = arith.index_cast %gz : index to i32
        %dxi = arith.index_cast %dx : index to i32
        %dyi = arith.index_cast %dy : index to i32
        %dzi = arith.index_cast %dz : index to i32
        %nxi = arith.index_cast %nx : index to i32
        %nyi = arith.index_cast %ny : index to i32
        %nzi = arith.index_cast %nz : index to i32
        memref.store %txi, %x[%c0, %c0] : memref<3x5xi32>
        memref.store %bxi, %x[%c0, %c1] : memref<3x5xi32>
        memref.store %gxi, %x[%c0, %c2] : memref<3x5xi32>
        memref.store %dxi, %x[%c0, %c3] : memref<3x5xi32>
        memref.store %nxi, %x[%c0, %c4] : memref<3x5xi32>
        memref.store %tyi, %x[%c1, %c0] : memref<3x5xi32>
        memref.store %byi, %x[%c1, %c1] : memref<3x5xi32>
        memref.store %gyi, %x[%c1, %c2] : memref<3x5xi32>
        memref.store %dyi, %x[%c1, %c3] : memref<3x5xi32>
        memref.store %nyi, %x[%c1, %c4] : memref<3x5xi32>
        memref.store %tzi, %x[%c2, %c0] : memref<3x5xi32>
        memref.store %bzi, %x[%c2, %c1] : memref<3x5xi32>
        memref.store %gzi, %x[%c2, %c2] : memref<3x5xi32>
        memref.store %dzi, %x[%c2, %c3] : memref<3x5xi32>
        memref.store %nzi, %x[%c2, %c4] : memref<3x5xi32>
      }
      gpu.return
    }
  }

  // CHECK: [3, 4, 19, 4, 5]
  // CHECK-NEXT: [1, 2, 5, 2, 3]
  // CHECK-NEXT: [2, 1, 5, 3, 2]
  func.func @main() {
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %h = memref.alloc() : memref<3x5xi32>
    %x = gpu.alloc () : memref<3x5xi32>
    gpu.launch_func @kernels::@where blocks in (%c5, %c3, %c2) threads in (%c4, %c2, %c3)
        args(%x : memref<3x5xi32>)
    gpu.memcpy %h, %x : memref<3x5xi32>, memref<3x5xi32>
    gpu.dealloc %x : memref<3x5xi32>
    %u = memref.cast %h : memref<3x5xi32> to memref<*xi32>
    call @printMemrefI32(%u) : (memref<*xi32>) -> ()
    memref.dealloc %h : memref<3x5xi32>
    return
  }

  func.func private @printMemrefI32(memref<*xi32>)
}
