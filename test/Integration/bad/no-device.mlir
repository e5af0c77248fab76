// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A device that isn't there.
// RUN: not gpu-runner --device=cuda:99 %s 2>&1 | FileCheck %s --check-prefix=ORDINAL
// RUN: not gpu-runner --device=abacus %s 2>&1 | FileCheck %s --check-prefix=NAME

// ORDINAL: error:{{.*}}cuda
// NAME: error:{{.*}}abacus
func.func @main() {
  return
}
