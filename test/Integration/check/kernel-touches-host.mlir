// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names a kernel that touches host memory which is neither registered
// nor host-shared. Registered memory is silent until its registration ends.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %h = memref.alloc() : memref<4xi32>
  %r = memref.alloc() : memref<4xi32>
  %u = memref.cast %r : memref<4xi32> to memref<*xi32>
  gpu.host_register %u : memref<*xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    memref.store %one, %r[%c1] : memref<4xi32>
    // CHECK-DAG: kernel-touches-host.mlir:[[#@LINE+1]]:5: error: kernel touches host memory that is neither registered nor host-shared: write of 4 bytes at 0x{{[0-9a-f]+}}, in block (0, 0, 0), thread (0, 0, 0) of kernel @
    memref.store %one, %h[%c1] : memref<4xi32>
    gpu.terminator
  }
  // CHECK-DAG: kernel-touches-host.mlir:14:3: note: launched here
  gpu.host_unregister %u : memref<*xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // CHECK-DAG: kernel-touches-host.mlir:[[#@LINE+1]]:5: error: kernel touches host memory
    memref.store %one, %r[%c0] : memref<4xi32>
    gpu.terminator
  }
  memref.dealloc %h : memref<4xi32>
  memref.dealloc %r : memref<4xi32>
  return
}
// CHECK: gpu-runner: error: --check found 2 bugs
