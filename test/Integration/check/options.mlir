// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check is for the cpu device, for programs that are not lowered yet, and part
// of what the disk cache goes by.
// RUN: not gpu-runner --device=cuda --check %s 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: --check: only on the cpu device, not on cuda
// RUN: not gpu-runner --check --emit=llvm %s 2>&1 | FileCheck %s --check-prefix=EMIT
// EMIT: error: --check: not with --emit
// RUN: gpu-runner --emit=mlir %s > %t.mlir
// RUN: not gpu-runner --check %t.mlir 2>&1 | FileCheck %s --check-prefix=LOWERED
// LOWERED: error: --check: {{.*}} is lowered already; give it the file from before
// RUN: rm -rf %t.cache
// RUN: gpu-runner --device=cpu --cache=%t.cache %s
// RUN: not gpu-runner --cache=%t.cache --check %s 2>&1 | FileCheck %s --check-prefix=FOUND
// RUN: not gpu-runner --cache=%t.cache --check %s 2>&1 | FileCheck %s --check-prefix=FOUND
// RUN: gpu-runner --device=cpu --cache=%t.cache %s
// FOUND: options.mlir:[[#@LINE+5]]:8: error: host code touches device memory

func.func @main() {
  %c0 = arith.constant 0 : index
  %x = gpu.alloc () : memref<4xi32>
  %v = memref.load %x[%c0] : memref<4xi32>
  gpu.dealloc %x : memref<4xi32>
  return
}
