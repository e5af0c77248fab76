// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the system gives no thread, or few, the device is opened and functions
// are compiled by the threads that there are.
// UNSUPPORTED: sanitizer
// DEFINE: %{threads} = 0
// DEFINE: %{limited} = env LD_PRELOAD=%test_no_threads TEST_THREADS=%{threads} GPU_ASYNC_CPU_SCHEDULE=fair
// DEFINE: %{run} = %{limited} gpu-runner --device=cpu -e add --input=4xf32=1,2,3,4 %s
// RUN: %{run} | FileCheck %s
// REDEFINE: %{threads} = 1
// RUN: %{run} | FileCheck %s
// REDEFINE: %{threads} = 2
// RUN: %{run} | FileCheck %s
// CHECK: result[0]: 4xf32=2 4 6 8
//
// A time limit needs a thread.
// REDEFINE: %{threads} = 0
// RUN: not %{run} --timeout=100 2>&1 | FileCheck %s --check-prefix=LIMIT
// LIMIT: gpu-runner: error: --timeout: the system gives no thread: Resource temporarily unavailable; raise the limit of threads (ulimit -u)
//
// So do the code generators of GPUs.
// RUN: not %{limited} gpu-runner --emit=llvm --targets=nvptx:sm_90 %s 2>&1 | FileCheck %s --check-prefix=GPU
// GPU: error: gpu.module @add_4 for nvptx:sm_90: LLVM cannot generate code: the system gives no thread: Resource temporarily unavailable
func.func @add(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.addf %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @sub(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.subf %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
func.func @mul(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.mulf %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
