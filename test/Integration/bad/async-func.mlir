// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// async.func is refused by name: this is about async.execute around device ops,
// not about coroutines.
// RUN: not gpu-runner --device=cpu -e main %s 2>&1 | FileCheck %s

// CHECK: async-func.mlir:[[@LINE+2]]:{{[0-9]+}}: error:
// CHECK-SAME: async.func
async.func @task() -> !async.token {
  return
}
func.func @main() {
  return
}
