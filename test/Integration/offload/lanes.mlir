// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads that are none of a result's lanes read nothing behind the operands: 24
// results have 8 lanes each, and 64 threads are left.
// RUN: gpu-opt %s --gpu-async-offload="device=gpu mode=error" | gpu-runner --device=cpu --check - --input=256x24xf32=1 --input=24xf32=2 --output= --output=- | FileCheck %s

// CHECK: 24xf32=258 258
func.func @main(%x: memref<256x24xf32>, %y: memref<24xf32>) {
  scf.forall (%i) in (1) {
    linalg.reduce {arith.addf} ins(%x : memref<256x24xf32>) outs(%y : memref<24xf32>) dimensions = [0]
  }
  return
}
