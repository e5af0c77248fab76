// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The host waits for the fill and then frees the buffer. The kernel races with
// the fill, also where it runs last, after the free was enqueued.
//
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:4 not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:8 not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:10 not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:11 not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=fair not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s
func.func @main() {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %one = arith.constant 1 : i32
  %s = gpu.wait async
  %a, %t0 = gpu.alloc async [%s] () : memref<16xi32>
  %b, %t1 = gpu.alloc async [%s] () : memref<16xi32>
  // CHECK-DAG: race-before-free.mlir:[[@LINE+1]]:{{[0-9]+}}: {{error: race between|note: the other}}
  %t2 = gpu.memset async [%t0] %a, %one : memref<16xi32>, i32
  %t3 = gpu.launch async [%t0, %t1] blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
      threads(%x, %y, %z) in (%sx = %c16, %sy = %c1, %sz = %c1) {
    // CHECK-DAG: race-before-free.mlir:[[@LINE+1]]:{{[0-9]+}}: {{error: race between|note: the other}}
    %v = memref.load %a[%x] : memref<16xi32>
    memref.store %v, %b[%x] : memref<16xi32>
    gpu.terminator
  }
  gpu.wait [%t2]
  %t4 = gpu.dealloc async [%t2, %t3] %a : memref<16xi32>
  %t5 = gpu.dealloc async [%t3] %b : memref<16xi32>
  gpu.wait [%t4, %t5]
  return
}
