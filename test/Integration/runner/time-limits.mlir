// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --timeout counts, and without it the variable does.
// RUN: not env GPU_ASYNC_TIMEOUT=0.001 gpu-runner --device=cpu %s 2>&1 | FileCheck %s --check-prefix=OVER
// RUN: not env GPU_ASYNC_TIMEOUT=1000 gpu-runner --device=cpu --timeout=0.001 %s 2>&1 | FileCheck %s --check-prefix=OVER
// OVER: timed out after 0.001 s
// RUN: env GPU_ASYNC_TIMEOUT=0.001 gpu-runner --device=cpu --timeout=0 %s | FileCheck %s
// RUN: env GPU_ASYNC_TIMEOUT=0.001 gpu-runner --device=cpu --timeout=1000 %s | FileCheck %s
// CHECK: result[0]: i32=
module attributes {gpu.container_module} {
  gpu.module @k {
    gpu.func @long(%x: memref<1xi32>) kernel {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 60000000 : index
      %f = arith.constant 1664525 : i32
      %t = arith.constant 1013904223 : i32
      %s = memref.load %x[%c0] : memref<1xi32>
      %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %s) -> i32 {
        %p = arith.muli %v, %f : i32
        %q = arith.addi %p, %t : i32
        %w = arith.xori %q, %v : i32
        scf.yield %w : i32
      }
      memref.store %r, %x[%c0] : memref<1xi32>
      gpu.return
    }
  }
  func.func @main() -> i32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %seven = arith.constant 7 : i32
    %h = memref.alloc() : memref<1xi32>
    memref.store %seven, %h[%c0] : memref<1xi32>
    %m = gpu.alloc () : memref<1xi32>
    gpu.memcpy %m, %h : memref<1xi32>, memref<1xi32>
    gpu.launch_func @k::@long blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<1xi32>)
    gpu.memcpy %h, %m : memref<1xi32>, memref<1xi32>
    %r = memref.load %h[%c0] : memref<1xi32>
    gpu.dealloc %m : memref<1xi32>
    memref.dealloc %h : memref<1xi32>
    return %r : i32
  }
}
