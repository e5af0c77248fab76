// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums of f16 and bf16 are taken in f32: one more does not go lost in many.
// RUN: gpu-runner --device=cpu %s -e product --input=3x4096xbf16=1 --input=4096x40xbf16=1 --expect=3x40xf32=4096
// RUN: gpu-runner --device=cpu %s -e row --input=3x4096xf16=1 --input=3xf16=1 --expect=3xf32=4097 --tolerance=1e-3
// RUN: %if cuda %{ gpu-runner --device=cuda %s -e product --input=3x4096xbf16=1 --input=4096x40xbf16=1 --expect=3x40xf32=4096 %}
// RUN: %if cuda %{ gpu-runner --device=cuda %s -e row --input=3x4096xf16=1 --input=3xf16=1 --expect=3xf32=4097 --tolerance=1e-3 %}

func.func @product(%x: tensor<3x4096xbf16>, %y: tensor<4096x40xbf16>) -> tensor<3x40xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<3x40xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<3x40xbf16>) -> tensor<3x40xbf16>
  %r = linalg.matmul ins(%x, %y : tensor<3x4096xbf16>, tensor<4096x40xbf16>) outs(%f : tensor<3x40xbf16>) -> tensor<3x40xbf16>
  return %r : tensor<3x40xbf16>
}

func.func @row(%x: tensor<3x4096xf16>, %z: tensor<3xf16>) -> tensor<3xf16> {
  %r = linalg.reduce {arith.addf} ins(%x : tensor<3x4096xf16>) outs(%z : tensor<3xf16>) dimensions = [1]
  return %r : tensor<3xf16>
}
