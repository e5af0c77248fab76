// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A loop around one of many rounds stays a loop; LLVM would write the inner one
// nine times, each as vectors and as a rest. One around a few rounds may go.
// RUN: gpu-runner --emit=llvm --targets=cpu %s -o %t.ll
// RUN: FileCheck %s --check-prefix=LONG < %t.ll
// RUN: FileCheck %s --check-prefix=SHORT < %t.ll

// LONG: define {{.*}}long_block
// LONG: = fsub contract float
// LONG-NOT: = fsub contract float
// LONG: define {{.*}}short_block
// SHORT: define {{.*}}short_block
// SHORT-COUNT-12: = fsub contract float
// SHORT: define

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @long(%n: index, %x: memref<9x?xf32>, %y: memref<?xf32>) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    scf.for %i = %c0 to %c9 step %c1 {
      scf.for %j = %c0 to %n step %c1 {
        %a = memref.load %x[%i, %j] : memref<9x?xf32>
        %b = memref.load %y[%j] : memref<?xf32>
        %s = arith.subf %a, %b : f32
        memref.store %s, %y[%j] : memref<?xf32>
      }
    }
    gpu.return
  }
  gpu.func @short(%x: memref<3x4xf32>, %y: memref<4xf32>) kernel
      attributes {known_block_size = array<i32: 1, 1, 1>, known_grid_size = array<i32: 1, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c3 step %c1 {
      scf.for %j = %c0 to %c4 step %c1 {
        %a = memref.load %x[%i, %j] : memref<3x4xf32>
        %b = memref.load %y[%j] : memref<4xf32>
        %s = arith.subf %a, %b : f32
        memref.store %s, %y[%j] : memref<4xf32>
      }
    }
    gpu.return
  }
}
func.func @main(%n: index, %x: memref<9x?xf32>, %y: memref<?xf32>, %a: memref<3x4xf32>, %b: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @k::@long blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%n : index, %x : memref<9x?xf32>, %y : memref<?xf32>)
  gpu.launch_func @k::@short blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%a : memref<3x4xf32>, %b : memref<4xf32>)
  return
}
}
