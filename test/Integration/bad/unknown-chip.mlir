// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chip that LLVM does not know; LLVM itself would go on and fail much later.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s

module attributes {gpu.container_module} {
  // CHECK: unknown-chip.mlir:{{[0-9]+}}:{{[0-9]+}}: error:
  // CHECK-SAME: sm_9999
  gpu.module @kernels [#nvvm.target<chip = "sm_9999">] {
    gpu.func @nothing() kernel {
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@nothing blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}
