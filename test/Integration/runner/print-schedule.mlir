// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --print-schedule draws what runs, of tensors too; it does not come from the cache.
// RUN: rm -rf %t && mkdir -p %t
// RUN: gpu-runner --device=cpu --cache=%t/cache %s --input=4xf32=1 --input=4xf32=2 --print-schedule 2>&1 | FileCheck %s
// RUN: gpu-runner --device=cpu --cache=%t/cache %s --input=4xf32=1 --input=4xf32=2 --print-schedule 2>&1 | FileCheck %s
// CHECK: @main: {{[0-9]+}} op{{s?}} on {{[0-9]+}} stream
// CHECK: @other: {{[0-9]+}} op{{s?}} on 1 stream
// CHECK: result[0]: 4xf32=
// A wide schedule has marks in its columns, and labels at the end of its rows; host waits that follow each other are one bar.
// RUN: gpu-runner --device=cpu %s -e wide --input=4x4xf32=1 --print-schedule 2>&1 | FileCheck %s --check-prefix=WIDE
// WIDE: @wide: 6 ops on 4 streams, 1 event, 3 waits, 4 host waits
// WIDE: 1  │ ●{{ +}}matmul_exp_tanh_4x4x4
// WIDE: 4  │ │   │   │   ●{{ +}}matmul_exp_tanh_4x4x4_3 ← 0
// WIDE-NEXT: └─
// WIDE-NEXT: ╩═══╩═══╩═══╩═══ host waits for s0, s1, s2, s3
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
func.func @wide(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %c0 = arith.constant dense<0.0> : tensor<4x4xf32>
  %p0 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c0 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a0 = math.exp %p0 : tensor<4x4xf32>
  %b0 = math.tanh %a0 : tensor<4x4xf32>
  %d0 = math.sin %b0 : tensor<4x4xf32>
  %c1 = arith.constant dense<1.0> : tensor<4x4xf32>
  %p1 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c1 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a1 = math.exp %p1 : tensor<4x4xf32>
  %b1 = math.tanh %a1 : tensor<4x4xf32>
  %d1 = math.sin %b1 : tensor<4x4xf32>
  %c2 = arith.constant dense<2.0> : tensor<4x4xf32>
  %p2 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a2 = math.exp %p2 : tensor<4x4xf32>
  %b2 = math.tanh %a2 : tensor<4x4xf32>
  %d2 = math.sin %b2 : tensor<4x4xf32>
  %c3 = arith.constant dense<3.0> : tensor<4x4xf32>
  %p3 = linalg.matmul ins(%x, %x : tensor<4x4xf32>, tensor<4x4xf32>) outs(%c3 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %a3 = math.exp %p3 : tensor<4x4xf32>
  %b3 = math.tanh %a3 : tensor<4x4xf32>
  %d3 = math.sin %b3 : tensor<4x4xf32>
  return %d0, %d1, %d2, %d3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
