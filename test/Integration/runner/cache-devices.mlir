// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// On a GPU the targets are known only once its driver has started. A second
// entry tells whether it is worth waiting for that; the fake CUDA library stands
// for the driver, whose machine code of the runtime's own kernels is a third.
// A build of the compiler alone has no such library.
// REQUIRES: mock-cuda
// RUN: rm -rf %t.work && mkdir -p %t.work
// DEFINE: %{device} =
// DEFINE: %{run} = env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda gpu-runner --cache=%t.work/cache %s %{device} --stats 2>&1
// REDEFINE: %{device} = --device=cuda
// RUN: %{run} | FileCheck %s --check-prefix=FIRST
// FIRST: "device": "cuda:0"
// FIRST-SAME: "program": "miss", "compile_jobs": 1, "hits": 0, "misses": 2, "damaged": 0, "stores": 3
// RUN: %{run} | FileCheck %s --check-prefix=SECOND
// SECOND: "device": "cuda:0"
// SECOND-SAME: "program": "hit", "compile_jobs": 0, "hits": 3, "misses": 0, "damaged": 0, "stores": 0
// REDEFINE: %{device} = --device=auto
// RUN: %{run} | FileCheck %s --check-prefix=SECOND

// Another target is another entry; the cpu's is known at once.
// REDEFINE: %{device} = --device=cpu
// RUN: %{run} | FileCheck %s --check-prefix=CPU1
// CPU1: "device": "cpu"
// CPU1-SAME: "program": "miss", "compile_jobs": 1, "hits": 0, "misses": 1, "damaged": 0, "stores": 1
// RUN: %{run} | FileCheck %s --check-prefix=CPU2
// CPU2: "program": "hit", "compile_jobs": 0, "hits": 1, "misses": 0
// RUN: env GPU_ASYNC_DEVICE=cpu gpu-runner --cache=%t.work/cache %s --stats 2>&1 | FileCheck %s --check-prefix=CPU2

// What does not exist is said whether or not the program is kept.
// RUN: not env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda gpu-runner --cache=%t.work/cache --device=cuda:7 %s 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not env GPU_ASYNC_CUDA_LIBRARY=%mock_cuda gpu-runner --cache=off --device=cuda:7 %s 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --device=cuda:7: there is no device cuda:7
// NONE: the devices are:
// NONE: cuda:0 {{.*}}, sm_90

func.func @main() {
  %x = gpu.alloc () : memref<4xf32>
  %y = gpu.alloc () : memref<4xf32>
  gpu.memcpy %x, %y : memref<4xf32>, memref<4xf32>
  gpu.dealloc %x : memref<4xf32>
  gpu.dealloc %y : memref<4xf32>
  return
}
