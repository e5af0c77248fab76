// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names host code that touches device memory, which only the cpu device
// forgives: a load, a store, and printing. Host-shared memory is both sides'.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %s = gpu.alloc host_shared () : memref<4xi32>
  memref.store %one, %s[%c0] : memref<4xi32>
  %x = gpu.alloc () : memref<4xi32>
  // CHECK: host-touches-device.mlir:[[#@LINE+1]]:3: error: host code touches device memory: write of 4 bytes in @main
  memref.store %one, %x[%c0] : memref<4xi32>
  // CHECK: host-touches-device.mlir:12:8: note: allocated here
  %c2 = arith.constant 2 : index
  // CHECK: host-touches-device.mlir:[[#@LINE+1]]:8: error: host code touches device memory: read of 4 bytes in @main
  %v = memref.load %x[%c2] : memref<4xi32>
  memref.store %v, %s[%c1] : memref<4xi32>
  %u = memref.cast %x : memref<4xi32> to memref<*xi32>
  // CHECK: host-touches-device.mlir:[[#@LINE+1]]:3: error: host code touches device memory: read of 16 bytes in @main
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  gpu.dealloc %x : memref<4xi32>
  gpu.dealloc %s : memref<4xi32>
  return
}
// CHECK: gpu-runner: error: --check found 3 bugs

func.func private @printMemrefI32(memref<*xi32>)
