// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --print-schedule draws what runs, of tensors too; it does not come from the cache.
// RUN: rm -rf %t && mkdir -p %t
// RUN: gpu-runner --device=cpu --cache=%t/cache %s --input=4xf32=1 --input=4xf32=2 --print-schedule 2>&1 | FileCheck %s
// RUN: gpu-runner --device=cpu --cache=%t/cache %s --input=4xf32=1 --input=4xf32=2 --print-schedule 2>&1 | FileCheck %s
// CHECK: @main: {{[0-9]+}} op{{s?}} on {{[0-9]+}} stream
// CHECK: @other: {{[0-9]+}} op{{s?}} on 1 stream
// CHECK: result[0]: 4xf32=
// RUN: gpu-runner --device=cpu %s -e other --input=4xf32=1 --print-schedule=%t/s.svg | FileCheck %s --check-prefix=RESULT
// RUN: FileCheck %s --check-prefix=SVG --input-file=%t/s.svg
// RESULT: result[0]: 4xf32=2.71
// SVG: <svg
// SVG-NOT: main
// SVG: other
// RUN: gpu-runner %s --targets=cpu,nvptx:sm_90 --emit=mlir -o %t/lowered.mlir --print-schedule=%t/s.dot
// RUN: FileCheck %s --check-prefix=DOT --input-file=%t/s.dot
// DOT: digraph
// RUN: not gpu-runner %t/lowered.mlir --targets=cpu --emit=llvm -o /dev/null --print-schedule 2>&1 | FileCheck %s --check-prefix=LOWERED
// LOWERED: error: --print-schedule: {{.*}}lowered.mlir is lowered already; give it the file from before
// RUN: not gpu-runner --device=cpu %s --input=4xf32=1 --input=4xf32=2 --print-schedule=%t/none/s.svg 2>&1 | FileCheck %s --check-prefix=FILE
// FILE: error: '{{.*}}none/s.svg' cannot be written: No such file or directory
// RUN: not gpu-runner --device=cpu %s --input=4xf32=1 --input=4xf32=2 --print-schedule=%t/s.json --trace=%t/s.json 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: error: --print-schedule and --trace write the same file
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.exp %x : tensor<4xf32>
  %b = arith.addf %a, %y : tensor<4xf32>
  return %b : tensor<4xf32>
}
func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = math.exp %x : tensor<4xf32>
  return %a : tensor<4xf32>
}
