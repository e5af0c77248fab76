// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device memory freed twice: an error at the second op.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s
// RUN: %if cuda %{ not gpu-runner --device=cuda %s 2>&1 | FileCheck %s %}

func.func @main() {
  %x = gpu.alloc () : memref<4xi32>
  gpu.dealloc %x : memref<4xi32>
  // CHECK: double-free.mlir:[[@LINE+1]]
  gpu.dealloc %x : memref<4xi32>
  return
}
