// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// On a device with 1.5 MB: with --memory=space one branch waits for the other, so
// that both use the same megabyte.
// RUN: env GPU_ASYNC_CPU_MEMORY=1572864 gpu-runner --device=cpu --memory=space --leak-check=error %s | FileCheck %s
// RUN: env GPU_ASYNC_CPU_MEMORY=1572864 GPU_ASYNC_CPU_SCHEDULE=adversarial:1 gpu-runner --device=cpu --memory=space %s | FileCheck %s
// RUN: not env GPU_ASYNC_CPU_MEMORY=1572864 gpu-runner --device=cpu --memory=plan %s 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: gpu-runner --device=cpu --check --memory=space %s | FileCheck %s

// CHECK: result[0]: i32=7
// CHECK: result[1]: i32=8
// PLAN: error: {{.*}} of 2 planned allocations: out of memory: 2097152 bytes asked for
!m = memref<262144xi32>
!few = memref<4xi32>
func.func @main() -> (i32, i32) {
  %c3 = arith.constant 3 : index
  %v = arith.constant 7 : i32
  %w = arith.constant 8 : i32
  %r = memref.alloc() : !few
  %s = memref.alloc() : !few
  %x, %tx = gpu_async.alloc async () : !m
  %x0 = memref.subview %x[0] [4] [1] : !m to memref<4xi32, strided<[1]>>
  %a = gpu_async.memset async [%tx] %x, %v : !m, i32
  %b = gpu_async.memcpy async [%a] %r, %x0 : !few, memref<4xi32, strided<[1]>>
  %fx = gpu_async.dealloc async [%b] %x : !m
  %y, %ty = gpu_async.alloc async () : !m
  %y0 = memref.subview %y[0] [4] [1] : !m to memref<4xi32, strided<[1]>>
  %c = gpu_async.memset async [%ty] %y, %w : !m, i32
  %d = gpu_async.memcpy async [%c] %s, %y0 : !few, memref<4xi32, strided<[1]>>
  %fy = gpu_async.dealloc async [%d] %y : !m
  gpu_async.wait [%b, %d]
  %r3 = memref.load %r[%c3] : !few
  %s3 = memref.load %s[%c3] : !few
  memref.dealloc %r : !few
  memref.dealloc %s : !few
  return %r3, %s3 : i32, i32
}
