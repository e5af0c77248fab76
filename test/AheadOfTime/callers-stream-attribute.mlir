// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file from behind gpu-async-take-stream has the caller's stream among its
// arguments. Whoever calls its functions passes the stream last, or has none.
// RUN: split-file %s %t
// RUN: not gpu-runner %t/last.mlir -e f --device=cpu --input=4xf32 2>&1 | FileCheck %s --check-prefix=RUNS
// RUNS: gpu-runner: error: @f takes the caller's stream (gpu_async.stream), but here there is no caller; give it the file from before
// RUN: not gpu-runner --emit=shared --place=off %t/first.mlir --targets=cpu -o %t/lib.so 2>&1 | FileCheck %s --check-prefix=FIRST
// FIRST: error: argument 1 is behind the caller's stream (gpu_async.stream), which is the last one
// RUN: not gpu-runner --emit=shared --place=off --stream=caller %t/last.mlir --targets=cpu -o %t/lib.so 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: argument 2 of type '!llvm.ptr' cannot be the caller's stream (gpu_async.stream): that is one !llvm.ptr
// RUN: not gpu-runner --emit=shared --place=off %t/index.mlir --targets=cpu -o %t/lib.so 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: error: argument 1 of type 'index' cannot be the caller's stream (gpu_async.stream): that is one !llvm.ptr

//--- last.mlir
func.func @f(%x: memref<4xf32>, %s: !llvm.ptr {gpu_async.stream}) { return }
//--- first.mlir
func.func @f(%s: !llvm.ptr {gpu_async.stream}, %x: memref<4xf32>) { return }
//--- index.mlir
func.func @f(%x: memref<4xf32>, %s: index {gpu_async.stream}) { return }
