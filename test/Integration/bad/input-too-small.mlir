// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An --input of fewer elements than the program copies from and to it: an error
// at the op, where the heap was read and written behind the array.
// DEFINE: %{run} = not gpu-runner %s --input=10xf32
// RUN: %{run} --device=cpu -e upload 2>&1 | FileCheck %s --check-prefix=UPLOAD
// RUN: %{run} --device=cpu -e download 2>&1 | FileCheck %s --check-prefix=DOWNLOAD
// RUN: %{run} --device=cpu -e rows 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: %{run} --device=cpu -e fill 2>&1 | FileCheck %s --check-prefix=FILL
// RUN: %{run} --device=cpu -e register 2>&1 | FileCheck %s --check-prefix=REGISTER
// RUN: %{run} --device=cpu -e before 2>&1 | FileCheck %s --check-prefix=BEFORE
// RUN: %if cuda %{ %{run} --device=cuda -e upload 2>&1 | FileCheck %s --check-prefix=UPLOAD %}
// RUN: %if cuda %{ %{run} --device=cuda -e download 2>&1 | FileCheck %s --check-prefix=DOWNLOAD %}
// RUN: %if cuda %{ %{run} --device=cuda -e fill 2>&1 | FileCheck %s --check-prefix=FILL %}
// RUN: %if mock-cuda %{ not env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda gpu-runner %s --input=10xf32 --device=cuda -e upload 2>&1 | FileCheck %s --check-prefix=UPLOAD %}
// RUN: %if mock-cuda %{ not env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda gpu-runner %s --input=10xf32 --device=cuda -e download 2>&1 | FileCheck %s --check-prefix=DOWNLOAD %}
// One that is large enough is none the worse for being known.
// RUN: gpu-runner %s --device=cpu -e upload --input=1000xf32
// RUN: gpu-runner %s --device=cpu -e rows --input=2000xf32 --repeat=3

// With --check it is a report like any other, and the program goes on.
// RUN: %{run} --device=cpu -e upload --check 2>&1 | FileCheck %s --check-prefix=CHECKED-UPLOAD
// RUN: %{run} --device=cpu -e download --check 2>&1 | FileCheck %s --check-prefix=CHECKED-DOWNLOAD
// RUN: %{run} --device=cpu -e rows --check 2>&1 | FileCheck %s --check-prefix=CHECKED-ROWS

func.func @upload(%h: memref<?xf32>) {
  %long = memref.reinterpret_cast %h to offset: [0], sizes: [1000], strides: [1] : memref<?xf32> to memref<1000xf32>
  %x = gpu.alloc () : memref<1000xf32>
  // UPLOAD: input-too-small.mlir:[[@LINE+5]]:3: error: gpu_async.memcpy: the source exceeds --input 0 of 1 (10xf32): 4000 bytes at offset 0 of 40
  // CHECKED-UPLOAD: input-too-small.mlir:[[@LINE+4]]:3: error: out of bounds: gpu.memcpy reads 4000 bytes at byte 0 of 40 bytes of --input 0 of 1 (10xf32)
  // CHECKED-UPLOAD-NOT: error
  // CHECKED-UPLOAD: gpu-runner: error: --check found 1 bug
  // CHECKED-UPLOAD-NOT: error
  gpu.memcpy %x, %long : memref<1000xf32>, memref<1000xf32>
  gpu.dealloc %x : memref<1000xf32>
  return
}

func.func @download(%h: memref<?xf32>) {
  %long = memref.reinterpret_cast %h to offset: [0], sizes: [1000], strides: [1] : memref<?xf32> to memref<1000xf32>
  %x = gpu.alloc () : memref<1000xf32>
  %zero = arith.constant 0.0 : f32
  gpu.memset %x, %zero : memref<1000xf32>, f32
  // DOWNLOAD: input-too-small.mlir:[[@LINE+3]]:3: error: gpu_async.memcpy: the destination exceeds --input 0 of 1 (10xf32): 4000 bytes at offset 0 of 40
  // CHECKED-DOWNLOAD: input-too-small.mlir:[[@LINE+2]]:3: error: out of bounds: gpu.memcpy writes 4000 bytes at byte 0 of 40 bytes of --input 0 of 1 (10xf32)
  // CHECKED-DOWNLOAD: --check found 1 bug
  gpu.memcpy %long, %x : memref<1000xf32>, memref<1000xf32>
  gpu.dealloc %x : memref<1000xf32>
  return
}

func.func @rows(%h: memref<?xf32>) {
  %long = memref.reinterpret_cast %h to offset: [1], sizes: [10, 100], strides: [200, 1] : memref<?xf32> to memref<10x100xf32, strided<[200, 1], offset: 1>>
  %x = gpu.alloc () : memref<10x100xf32>
  // ROWS: input-too-small.mlir:[[@LINE+3]]:3: error: gpu_async.memcpy: the source exceeds --input 0 of 1 (10xf32): 7600 bytes at offset 4 of 40
  // CHECKED-ROWS: input-too-small.mlir:[[@LINE+2]]:3: error: out of bounds: gpu.memcpy reads 7600 bytes at byte 4 of 40 bytes of --input 0 of 1 (10xf32)
  // CHECKED-ROWS: --check found 1 bug
  gpu.memcpy %x, %long : memref<10x100xf32>, memref<10x100xf32, strided<[200, 1], offset: 1>>
  gpu.dealloc %x : memref<10x100xf32>
  return
}

func.func @fill(%h: memref<?xf32>) {
  %long = memref.reinterpret_cast %h to offset: [4], sizes: [100], strides: [1] : memref<?xf32> to memref<100xf32, strided<[1], offset: 4>>
  %zero = arith.constant 0.0 : f32
  // FILL: input-too-small.mlir:[[@LINE+1]]:3: error: gpu_async.memset: the destination exceeds --input 0 of 1 (10xf32): 400 bytes at offset 16 of 40
  gpu.memset %long, %zero : memref<100xf32, strided<[1], offset: 4>>, f32
  return
}

func.func @register(%h: memref<?xf32>) {
  %long = memref.reinterpret_cast %h to offset: [0], sizes: [11], strides: [1] : memref<?xf32> to memref<11xf32>
  %u = memref.cast %long : memref<11xf32> to memref<*xf32>
  // REGISTER: input-too-small.mlir:[[@LINE+1]]:3: error: gpu_async.host_register: the registration exceeds --input 0 of 1 (10xf32): 44 bytes at offset 0 of 40
  gpu.host_register %u : memref<*xf32>
  return
}

func.func @before(%h: memref<?xf32>) {
  %c-8 = arith.constant -8 : index
  %early = memref.reinterpret_cast %h to offset: [%c-8], sizes: [16], strides: [1] : memref<?xf32> to memref<16xf32, strided<[1], offset: ?>>
  %x = gpu.alloc () : memref<16xf32>
  // BEFORE: input-too-small.mlir:[[@LINE+1]]:3: error: gpu_async.memcpy: the source begins 32 bytes before --input 0 of 1 (10xf32): 64 bytes, of which it has 40
  gpu.memcpy %x, %early : memref<16xf32>, memref<16xf32, strided<[1], offset: ?>>
  gpu.dealloc %x : memref<16xf32>
  return
}
