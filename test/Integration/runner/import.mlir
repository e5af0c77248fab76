// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What becomes of ops that no token orders. The disk cache tells the ways apart.
// RUN: rm -rf %t.cache
// RUN: gpu-runner --device=cpu --cache=%t.cache %s --print-schedule 2>&1 | FileCheck %s --check-prefix=TRUST
// RUN: gpu-runner --device=cpu --cache=%t.cache %s --import=strict --print-schedule 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: gpu-runner --device=cpu --cache=%t.cache %s
// RUN: gpu-runner --device=cpu --cache=%t.cache %s --import=check 2>&1 | FileCheck %s --check-prefix=CHECK
// RUN: gpu-runner --device=cpu --cache=%t.cache %s --import=check 2>&1 | FileCheck %s --check-prefix=CHECK
// TRUST: on 2 streams
// STRICT: on 1 stream,

func.func @main() {
  %one = arith.constant 1 : i32
  %s = gpu.wait async
  %x, %t0 = gpu.alloc async [%s] () : memref<4xi32>
  gpu.wait [%t0]
  %a = gpu.wait async
  %b = gpu.wait async
  %t1 = gpu.memset async [%a] %x, %one : memref<4xi32>, i32
  // CHECK: import.mlir:[[#@LINE+1]]:9: warning: may race with an earlier op: no token orders them, they touch the same memory, and one writes
  %t2 = gpu.memset async [%b] %x, %one : memref<4xi32>, i32
  gpu.wait [%t1, %t2]
  gpu.dealloc %x : memref<4xi32>
  return
}
