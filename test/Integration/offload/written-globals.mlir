// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A global that kernels write has what they wrote after them, for later kernels and for
// the host. For a GPU, too.
// RUN: gpu-runner --device=cpu --check %s --input=3 | FileCheck %s
// RUN: gpu-opt %s --gpu-async-offload=device=gpu | gpu-runner --device=cpu --check - --input=3 | FileCheck %s
// CHECK: result[0]: f32=8
// A function returns the global itself: what its caller writes to the result is in the
// global, and nobody frees it.
// RUN: gpu-runner --device=cpu --check --leak-check=error %s -e returned --input=3 | FileCheck %s --check-prefix=SAME
// RUN: gpu-opt %s --gpu-async-offload=device=gpu | gpu-runner --device=cpu --check - -e returned --input=3 | FileCheck %s --check-prefix=SAME
// SAME: result[0]: 4xf32=3 3 3 3
// RUN: gpu-runner --device=cpu --check --leak-check=error %s -e caller --input=3 | FileCheck %s --check-prefix=CALLER
// RUN: gpu-opt %s --gpu-async-offload=device=gpu | gpu-runner --device=cpu --check - -e caller --input=3 | FileCheck %s --check-prefix=CALLER
// CALLER: result[0]: f32=7
// CALLER: result[1]: f32=3
memref.global "private" @g : memref<4xf32> = dense<1.0>
func.func private @bump() {
  %g = memref.get_global @g : memref<4xf32>
  linalg.add ins(%g, %g : memref<4xf32>, memref<4xf32>) outs(%g : memref<4xf32>)
  return
}
func.func @main(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    func.call @bump() : () -> ()
  }
  %g = memref.get_global @g : memref<4xf32>
  %v = memref.load %g[%c0] : memref<4xf32>
  return %v : f32
}
func.func @returned(%x: f32) -> memref<4xf32> {
  %g = memref.get_global @g : memref<4xf32>
  linalg.fill ins(%x : f32) outs(%g : memref<4xf32>)
  return %g : memref<4xf32>
}
func.func @caller(%x: f32) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %seven = arith.constant 7.0 : f32
  %same = call @returned(%x) : (f32) -> memref<4xf32>
  memref.store %seven, %same[%c0] : memref<4xf32>
  %g = memref.get_global @g : memref<4xf32>
  %v = memref.load %g[%c0] : memref<4xf32>
  %w = memref.load %g[%c1] : memref<4xf32>
  return %v, %w : f32, f32
}
