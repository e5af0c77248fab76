// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// There is no memory for a planned allocation: the error names the largest of the
// program's allocations in it.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s

func.func @main() {
  %i = arith.constant 1 : i8
  %x = gpu.alloc () : memref<16xi8>
  // CHECK: planned-memory-too-large.mlir:[[@LINE+1]]:8: error: gpu_async.alloc of 2 planned allocations: out of memory: 70368744177920 bytes
  %y = gpu.alloc () : memref<70368744177664xi8>
  gpu.memset %x, %i : memref<16xi8>, i8
  gpu.memset %y, %i : memref<70368744177664xi8>, i8
  gpu.dealloc %x : memref<16xi8>
  gpu.dealloc %y : memref<70368744177664xi8>
  return
}
