// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of f16 and bf16, which a GPU from sm_80 on computes by tensor cores:
// whole tiles; large ones, the last of them not whole; no side a multiple of anything, with a bias, a tanh and what was
// there; a batch, transposed; elements that were written as f32; rows of which
// each begins elsewhere in memory; sizes that are known at run time only, and a
// sum in f16. The cpu device's own way is the reference.
// RUN: gpu-runner --device=cpu -e whole %s --input=256x128xf16=1 --input=128x256xf16=2 --expect=256x256xf32=256
// RUN: %if cuda %{ gpu-runner --device=cuda -e whole %s --input=256x128xf16=1 --input=128x256xf16=2 --expect=256x256xf32=256 %}
// RUN: gpu-runner --device=cpu -e large %s --input=random:1 --input=random:2 --output=result0=@%t.large.npy
// RUN: %if cuda %{ gpu-runner --device=cuda -e large %s --input=random:1 --input=random:2 --expect=@%t.large.npy --tolerance=1e-6 %}
// RUN: gpu-runner --device=cpu -e edges %s --input=random:1 --input=random:2 --input=random:3 --input=random:4 --output=result0=@%t.edges.npy
// RUN: %if cuda %{ gpu-runner --device=cuda -e edges %s --input=random:1 --input=random:2 --input=random:3 --input=random:4 --expect=@%t.edges.npy --tolerance=4e-3 %}
// RUN: gpu-runner --device=cpu -e batch %s --input=random:1 --input=random:2 --output=result0=@%t.batch.npy
// RUN: %if cuda %{ gpu-runner --device=cuda -e batch %s --input=random:1 --input=random:2 --expect=@%t.batch.npy --tolerance=5e-4 %}
// RUN: gpu-runner --device=cpu -e widened %s --input=random:1 --input=random:2 --output=result0=@%t.widened.npy
// RUN: %if cuda %{ gpu-runner --device=cuda -e widened %s --input=random:1 --input=random:2 --expect=@%t.widened.npy --tolerance=1e-6 %}
// RUN: gpu-runner --device=cpu -e wide %s --input=random:1:130x65 --input=random:2:65x90 --output=result0=@%t.wide.npy
// RUN: gpu-runner --device=cpu -e narrow %s --input=random:1:130x65 --input=random:2:65x90 --expect=@%t.wide.npy --tolerance=5e-3
// RUN: %if cuda %{ gpu-runner --device=cuda -e narrow %s --input=random:1:130x65 --input=random:2:65x90 --expect=@%t.wide.npy --tolerance=5e-3 %}
// RUN: gpu-runner --device=cpu -e wide %s --input=random:1:128x72 --input=random:2:72x136 --output=result0=@%t.wide8.npy
// RUN: gpu-runner --device=cpu -e narrow %s --input=random:1:128x72 --input=random:2:72x136 --expect=@%t.wide8.npy --tolerance=5e-3
// RUN: %if cuda %{ gpu-runner --device=cuda -e narrow %s --input=random:1:128x72 --input=random:2:72x136 --expect=@%t.wide8.npy --tolerance=5e-3 %}
// RUN: %if cuda %{ gpu-runner --device=cuda -e narrow %s --input=0x72xf16=1 --input=72x136xf16=1 --expect=0x136xf16=1 %}
// RUN: %if cuda %{ gpu-runner --device=cuda -e narrow %s --input=16x0xf16=1 --input=0x16xf16=1 --expect=16x16xf16=0 %}

func.func @whole(%x: tensor<256x128xf16>, %w: tensor<128x256xf16>) -> tensor<256x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256x256xf32>) -> tensor<256x256xf32>
  %p = linalg.matmul ins(%x, %w : tensor<256x128xf16>, tensor<128x256xf16>) outs(%f : tensor<256x256xf32>) -> tensor<256x256xf32>
  return %p : tensor<256x256xf32>
}

func.func @large(%x: tensor<1000x72xbf16>, %w: tensor<1032x72xbf16>) -> tensor<1000x1032xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1000x1032xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1000x1032xf32>) -> tensor<1000x1032xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<1000x72xbf16>, tensor<1032x72xbf16>) outs(%f : tensor<1000x1032xf32>) {
  ^bb0(%l: bf16, %r: bf16, %o: f32):
    %lw = arith.extf %l : bf16 to f32
    %rw = arith.extf %r : bf16 to f32
    %m = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<1000x1032xf32>
  return %p : tensor<1000x1032xf32>
}

#ij = affine_map<(i, j) -> (i, j)>
#j = affine_map<(i, j) -> (j)>
func.func @edges(%x: tensor<100x33xbf16>, %w: tensor<33x70xbf16>, %bias: tensor<70xbf16>, %before: tensor<100x70xbf16>) -> tensor<100x70xbf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<100x70xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<100x70xf32>) -> tensor<100x70xf32>
  %p = linalg.matmul ins(%x, %w : tensor<100x33xbf16>, tensor<33x70xbf16>) outs(%f : tensor<100x70xf32>) -> tensor<100x70xf32>
  %o = tensor.empty() : tensor<100x70xbf16>
  %r = linalg.generic {indexing_maps = [#ij, #j, #ij, #ij], iterator_types = ["parallel", "parallel"]} ins(%p, %bias, %before : tensor<100x70xf32>, tensor<70xbf16>, tensor<100x70xbf16>) outs(%o : tensor<100x70xbf16>) {
  ^bb0(%v: f32, %b: bf16, %u: bf16, %out: bf16):
    %wide = arith.extf %b : bf16 to f32
    %s = arith.addf %v, %wide : f32
    %t = math.tanh %s : f32
    %n = arith.truncf %t : f32 to bf16
    %a = arith.addf %n, %u : bf16
    linalg.yield %a : bf16
  } -> tensor<100x70xbf16>
  return %r : tensor<100x70xbf16>
}

func.func @batch(%q: tensor<3x128x64xf16>, %k: tensor<3x128x64xf16>) -> tensor<3x128x128xf16> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x128x128xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<3x128x128xf32>) -> tensor<3x128x128xf32>
  %p = linalg.generic {indexing_maps = [affine_map<(b, i, j, k) -> (b, i, k)>, affine_map<(b, i, j, k) -> (b, j, k)>, affine_map<(b, i, j, k) -> (b, i, j)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%q, %k : tensor<3x128x64xf16>, tensor<3x128x64xf16>) outs(%f : tensor<3x128x128xf32>) {
  ^bb0(%l: f16, %r: f16, %o: f32):
    %lw = arith.extf %l : f16 to f32
    %rw = arith.extf %r : f16 to f32
    %m = arith.mulf %lw, %rw : f32
    %s = arith.addf %o, %m : f32
    linalg.yield %s : f32
  } -> tensor<3x128x128xf32>
  %n = arith.truncf %p : tensor<3x128x128xf32> to tensor<3x128x128xf16>
  return %n : tensor<3x128x128xf16>
}

func.func @widened(%x: tensor<72x50xf16>, %w: tensor<50x40xf16>) -> tensor<72x40xf32> {
  %zero = arith.constant 0.0 : f32
  %a = arith.extf %x : tensor<72x50xf16> to tensor<72x50xf32>
  %b = arith.extf %w : tensor<50x40xf16> to tensor<50x40xf32>
  %e = tensor.empty() : tensor<72x40xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<72x40xf32>) -> tensor<72x40xf32>
  %p = linalg.matmul ins(%a, %b : tensor<72x50xf32>, tensor<50x40xf32>) outs(%f : tensor<72x40xf32>) -> tensor<72x40xf32>
  return %p : tensor<72x40xf32>
}

func.func @narrow(%x: tensor<?x?xf16>, %w: tensor<?x?xf16>) -> tensor<?x?xf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xf16>
  %columns = tensor.dim %w, %c1 : tensor<?x?xf16>
  %zero = arith.constant 0.0 : f16
  %e = tensor.empty(%rows, %columns) : tensor<?x?xf16>
  %f = linalg.fill ins(%zero : f16) outs(%e : tensor<?x?xf16>) -> tensor<?x?xf16>
  %p = linalg.matmul ins(%x, %w : tensor<?x?xf16>, tensor<?x?xf16>) outs(%f : tensor<?x?xf16>) -> tensor<?x?xf16>
  return %p : tensor<?x?xf16>
}

func.func @wide(%x: tensor<?x?xf16>, %w: tensor<?x?xf16>) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = tensor.dim %x, %c0 : tensor<?x?xf16>
  %columns = tensor.dim %w, %c1 : tensor<?x?xf16>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%rows, %columns) : tensor<?x?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  %p = linalg.matmul ins(%x, %w : tensor<?x?xf16>, tensor<?x?xf16>) outs(%f : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %p : tensor<?x?xf32>
}
