// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch with fewer arguments than its kernel has parameters.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @two(%a: i32, %b: i32) kernel {
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %one = arith.constant 1 : i32
    // CHECK: wrong-argument-count.mlir:[[@LINE+1]]:{{[0-9]+}}: error:
    gpu.launch_func @kernels::@two blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
        args(%one : i32)
    return
  }
}
