// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The system gives no thread to a device: its rank fails, and all end. The errors of streams
// come to the thread that enqueues. With more threads all is well.
// UNSUPPORTED: sanitizer
// DEFINE: %{run} = timeout 60 gpu-runner %S/processes.mlir --device=cpu --ranks=3 --input=4xf32=1,2,3,%r --output=-
// RUN: sh -c 'for n in 3 4 5 6 7 8 9; do env GPU_ASYNC_CPU_SCHEDULE=fair LD_PRELOAD=%test_no_threads TEST_THREADS=$n %{run} >%t.out 2>&1; test $? -le 1 || exit 1; done'
// RUN: not env GPU_ASYNC_CPU_SCHEDULE=fair LD_PRELOAD=%test_no_threads TEST_THREADS=4 %{run} 2>&1 | FileCheck %s
// CHECK: error: {{.*}}the system gives {{.*}}no thread
