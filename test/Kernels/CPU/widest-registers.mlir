// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A product uses the widest registers that the processor has, also where LLVM would rather
// use narrower ones (sapphirerapids), and no wider ones.
// RUN: gpu-runner --emit=object --targets=cpu --mcpu=sapphirerapids %s -o %t.o
// RUN: llvm-objdump -d --no-show-raw-insn %t.o | FileCheck %s --check-prefix=AVX512
// RUN: gpu-runner --emit=object --targets=cpu --mcpu=x86-64-v3 %s -o %t.o
// RUN: llvm-objdump -d --no-show-raw-insn %t.o | FileCheck %s --check-prefix=AVX2 --implicit-check-not=zmm
// RUN: gpu-runner --emit=object --targets=cpu %s -o %t.o
// RUN: llvm-objdump -d --no-show-raw-insn %t.o | FileCheck %s --check-prefix=SSE2 "--implicit-check-not={{[yz]mm}}"
// AVX512-COUNT-16: vfmadd{{.*}}%zmm
// AVX2-COUNT-10: vfmadd{{.*}}%ymm
// SSE2: mulps
func.func @product(%a: tensor<128x96xf32>, %b: tensor<96x256xf32>, %z: tensor<128x256xf32>) -> tensor<128x256xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<128x96xf32>, tensor<96x256xf32>) outs(%z : tensor<128x256xf32>) -> tensor<128x256xf32>
  return %r : tensor<128x256xf32>
}
