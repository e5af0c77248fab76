// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A launch of a kernel that its module does not have.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @here() kernel {
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    // CHECK: unknown-kernel.mlir:[[@LINE+2]]:{{[0-9]+}}: error:
    // CHECK-SAME: @kernels::@elsewhere
    gpu.launch_func @kernels::@elsewhere blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}
