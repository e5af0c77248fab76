// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products whose steps are cut into parts, as for tensor cores, come to what whole
// ones come to; on the cpu device by threads.
// RUN: gpu-runner --device=cpu -e reference %s --input=random:1 --input=random:2 --output=result0=@%t.npy
// RUN: gpu-opt %s -gpu-async-split-reductions=device=sm_80 | gpu-runner --device=cpu -e product - --input=random:1 --input=random:2 --expect=@%t.npy --tolerance=1e-3 | FileCheck %s
// RUN: gpu-opt %s -gpu-async-split-reductions=device=sm_80 -gpu-async-offload=device=gpu | gpu-runner --device=cpu -O0 -e product - --input=random:1 --input=random:2 --expect=@%t.npy --tolerance=1e-3 | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda -e product %s --input=random:1 --input=random:2 --expect=@%t.npy --tolerance=1e-3 %}
// RUN: gpu-runner --device=cpu -e added %s --input=random:1 --input=random:2 --input=random:3 --output=result0=@%t.npy
// RUN: gpu-opt %s -gpu-async-split-reductions=device=sm_80 | gpu-runner --device=cpu -e added - --input=random:1 --input=random:2 --input=random:3 --expect=@%t.npy --tolerance=1e-5 | FileCheck %s
// RUN: gpu-opt %s -gpu-async-split-reductions=device=sm_80 -gpu-async-offload=device=gpu | gpu-runner --device=cpu -O0 -e added - --input=random:1 --input=random:2 --input=random:3 --expect=@%t.npy --tolerance=1e-5 | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda -e added %s --input=random:1 --input=random:2 --input=random:3 --expect=@%t.npy --tolerance=1e-5 %}
// RUN: gpu-runner --device=cpu -e vector %s --input=random:1 --input=random:2 --output=result0=@%t.npy
// RUN: gpu-opt %s -gpu-async-offload=device=gpu | gpu-runner --device=cpu -O0 -e vector - --input=random:1 --input=random:2 --expect=@%t.npy --tolerance=1e-6 | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda -e vector %s --input=random:1 --input=random:2 --expect=@%t.npy --tolerance=1e-6 %}
// RUN: gpu-runner --device=cpu -e cast %s --input=random:1 --input=8192xf32=2.5 --output=result0=@%t.npy
// RUN: gpu-opt %s -gpu-async-offload=device=gpu | gpu-runner --device=cpu -O0 -e cast - --input=random:1 --input=8192xf32=2.5 --expect=@%t.npy --tolerance=1e-5 | FileCheck %s

// CHECK: result[0]: error
func.func @product(%x: tensor<16x2048xf16>, %w: tensor<2048x33xf16>) -> tensor<16x33xf16> {
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty() : tensor<16x33xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<16x33xf16>) -> tensor<16x33xf16>
  %p = linalg.matmul ins(%x, %w : tensor<16x2048xf16>, tensor<2048x33xf16>)
      outs(%f : tensor<16x33xf16>) -> tensor<16x33xf16>
  %t = math.tanh %p : tensor<16x33xf16>
  return %t : tensor<16x33xf16>
}

// Its sums are in f32 where they are not cut, too.
func.func @reference(%x: tensor<16x2048xf16>, %w: tensor<2048x33xf16>) -> tensor<16x33xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x33xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x33xf32>) -> tensor<16x33xf32>
  %p = linalg.matmul ins(%x, %w : tensor<16x2048xf16>, tensor<2048x33xf16>)
      outs(%f : tensor<16x33xf32>) -> tensor<16x33xf32>
  %t = math.tanh %p : tensor<16x33xf32>
  %r = arith.truncf %t : tensor<16x33xf32> to tensor<16x33xf16>
  return %r : tensor<16x33xf16>
}

func.func @added(%c: tensor<2x16x24xf32>, %x: tensor<2x2048x16xbf16>, %w: tensor<2x2048x24xbf16>) -> tensor<2x16x24xf32> {
  %p = linalg.generic {indexing_maps = [affine_map<(n, i, j, k) -> (n, k, i)>, affine_map<(n, i, j, k) -> (n, k, j)>,
      affine_map<(n, i, j, k) -> (n, i, j)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x2048x16xbf16>, tensor<2x2048x24xbf16>) outs(%c : tensor<2x16x24xf32>) {
  ^bb0(%l: bf16, %r: bf16, %s: f32):
    %0 = arith.extf %l : bf16 to f32
    %1 = arith.extf %r : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %s, %2 : f32
    linalg.yield %3 : f32
  } -> tensor<2x16x24xf32>
  return %p : tensor<2x16x24xf32>
}

func.func @vector(%x: tensor<2048xf32>, %w: tensor<2048x70xf32>) -> tensor<70xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<70xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<70xf32>) -> tensor<70xf32>
  %p = linalg.vecmat ins(%x, %w : tensor<2048xf32>, tensor<2048x70xf32>) outs(%f : tensor<70xf32>) -> tensor<70xf32>
  return %p : tensor<70xf32>
}

// Each factor is cast before it is multiplied: to what is narrower, or to integers.
func.func @cast(%x: tensor<128x8192xf64>, %v: tensor<8192xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128xf32>) -> tensor<128xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, k) -> (i, k)>, affine_map<(i, k) -> (k)>, affine_map<(i, k) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x, %v : tensor<128x8192xf64>, tensor<8192xf32>) outs(%f : tensor<128xf32>) {
  ^bb0(%a: f64, %b: f32, %sum: f32):
    %narrow = arith.truncf %a : f64 to f32
    %integer = arith.fptosi %b : f32 to i32
    %whole = arith.sitofp %integer : i32 to f32
    %product = arith.mulf %narrow, %whole : f32
    %next = arith.addf %sum, %product : f32
    linalg.yield %next : f32
  } -> tensor<128xf32>
  return %p : tensor<128xf32>
}
