// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An entry point that the program does not have.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s --check-prefix=MAIN
// RUN: not gpu-runner --device=cpu -e start %s 2>&1 | FileCheck %s --check-prefix=START

// MAIN: error:{{.*}}main
// START: error:{{.*}}start
func.func @begin() {
  return
}
