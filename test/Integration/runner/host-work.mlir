// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Work that stays on the host is not passed over in silence, also where the
// program comes out of the cache; tensors have a way.
// RUN: rm -rf %t.cache
// RUN: env GPU_ASYNC_CACHE=on GPU_ASYNC_CACHE_DIR=%t.cache gpu-runner --device=cpu --offload=off -e loop --input=4xf32=1 --output= --stats %s 2>&1 | FileCheck %s
// RUN: env GPU_ASYNC_CACHE=on GPU_ASYNC_CACHE_DIR=%t.cache gpu-runner --device=cpu --offload=off -e loop --input=4xf32=1 --output= --stats %s 2>&1 | FileCheck %s --check-prefixes=CHECK,HIT
// RUN: not gpu-runner --device=cpu --offload=off -e tensor --input=4xf32=1 %S/Inputs/tensor.mlir 2>&1 | FileCheck %s --check-prefix=TENSOR

// TENSOR: tensor.mlir:2:1: error: 'func.func' op works on tensors; the pipeline takes programs on memrefs: bufferize first, by mlir-opt's --one-shot-bufferize="bufferize-function-boundaries
func.func @loop(%a: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: host-work.mlir:[[@LINE+2]]:3: warning: runs on the host, as all of the program does: it launches no kernel
  // CHECK: note: offload=auto makes kernels of parallel loops
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %f = memref.load %a[%i] : memref<4xf32>
    %g = arith.addf %f, %f : f32
    memref.store %g, %a[%i] : memref<4xf32>
    scf.reduce
  }
  return
}
// CHECK: "launches": 0
// HIT-SAME: "program": "hit"
