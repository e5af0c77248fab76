// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inputs that do not fit the entry point's parameters, or are not there.
// RUN: not gpu-runner --device=cpu -e f %s 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: not gpu-runner --device=cpu -e f --input=4xf32=1,2,3,4 --input=i32=1 --input=i32=2 %s 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not gpu-runner --device=cpu -e f --input=4xi32=1,2,3,4 --input=i32=1 %s 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: not gpu-runner --device=cpu -e f --input=2x2xf32=1,2,3,4 --input=i32=1 %s 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not gpu-runner --device=cpu -e f --input=5xf32=1,2,3,4,5 --input=i32=1 %s 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not gpu-runner --device=cpu -e f --input=4xf32=1,2,3 --input=i32=1 %s 2>&1 | FileCheck %s --check-prefix=VALUES
// RUN: not gpu-runner --device=cpu -e f --input=@%t.nothere.npy --input=i32=1 %s 2>&1 | FileCheck %s --check-prefix=FILE

// FEW: error:{{.*}}2 arguments
// MANY: error:{{.*}}2 arguments
// TYPE: error:{{.*}}i32
// SHAPE: error:{{.*}}xf32
// VALUES: error:{{.*}}3 values
// FILE: error:{{.*}}nothere.npy
func.func @f(%x: memref<4xf32>, %n: i32) {
  return
}
