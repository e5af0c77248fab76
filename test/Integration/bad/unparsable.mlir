// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A file that is not MLIR after all.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s

// CHECK: unparsable.mlir:[[@LINE+2]]:{{[0-9]+}}: error:
func.func @main() {
  %c1 = arith.constant one : index
  return
}
