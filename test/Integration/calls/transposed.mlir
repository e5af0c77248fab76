// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --blas=auto: products whose results are wanted transposed, by a library and by kernels. The numbers are small and whole, so
// that all orders of a sum are one.
// REQUIRES: cblas
// DEFINE: %{run} = gpu-runner --timeout=60 --device=cpu %s --input=@%t/a.npy --input=@%t/b.npy
// DEFINE: %{equal} = --output=result0= --output=result1= --output=result2= --expect=result0=@%t/p.npy --expect=result1=@%t/q.npy --expect=result2=@%t/r.npy
// RUN: rm -rf %t && mkdir %t
// RUN: gpu-runner %s -e numbers --device=cpu --output=result0=@%t/a.npy --output=result1=@%t/b.npy
// RUN: %{run} --output=result0=@%t/p.npy --output=result1=@%t/q.npy --output=result2=@%t/r.npy
// RUN: env GPU_ASYNC_CBLAS_LIBRARY=%cblas %{run} %{equal} --blas=auto --stats=%t/stats.json
// RUN: FileCheck %s --input-file=%t/stats.json
// CHECK: "library_calls": {"made": 2,
// RUN: env GPU_ASYNC_CBLAS_LIBRARY=/not/there.so %{run} %{equal} --blas=auto
// RUN: %if cuda %{ gpu-runner --timeout=60 --device=cuda --blas=auto %s --input=@%t/a.npy --input=@%t/b.npy %{equal} %}

func.func @main(%a: tensor<128x96xf32>, %b: tensor<96x160xf32>) -> (tensor<160x128xf32>, tensor<40x4x32xf32>, tensor<32x40x4xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x160xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x160xf32>) -> tensor<128x160xf32>
  %p = linalg.matmul ins(%a, %b : tensor<128x96xf32>, tensor<96x160xf32>) outs(%f : tensor<128x160xf32>) -> tensor<128x160xf32>
  %t = tensor.empty() : tensor<160x128xf32>
  %r = linalg.transpose ins(%p : tensor<128x160xf32>) outs(%t : tensor<160x128xf32>) permutation = [1, 0]
  // Batches: parts of the rows by parts of the columns.
  %rows = tensor.expand_shape %a [[0, 1], [2]] output_shape [4, 32, 96] : tensor<128x96xf32> into tensor<4x32x96xf32>
  %columns = tensor.expand_shape %b [[0], [1, 2]] output_shape [96, 4, 40] : tensor<96x160xf32> into tensor<96x4x40xf32>
  %be = tensor.empty() : tensor<4x32x40xf32>
  %bf = linalg.fill ins(%zero : f32) outs(%be : tensor<4x32x40xf32>) -> tensor<4x32x40xf32>
  %q = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, b, n)>,
                                        affine_map<(b, m, n, k) -> (b, m, n)>],
                       iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%rows, %columns : tensor<4x32x96xf32>, tensor<96x4x40xf32>) outs(%bf : tensor<4x32x40xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %m = arith.mulf %x, %y : f32
    %n = arith.addf %sum, %m : f32
    linalg.yield %n : f32
  } -> tensor<4x32x40xf32>
  %u = tensor.empty() : tensor<40x4x32xf32>
  %s = linalg.transpose ins(%q : tensor<4x32x40xf32>) outs(%u : tensor<40x4x32xf32>) permutation = [2, 0, 1]
  // Here the batches are last, which no library writes.
  %v = tensor.empty() : tensor<32x40x4xf32>
  %bg = linalg.fill ins(%zero : f32) outs(%be : tensor<4x32x40xf32>) -> tensor<4x32x40xf32>
  %q2 = linalg.generic {indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (k, b, n)>,
                                         affine_map<(b, m, n, k) -> (b, m, n)>],
                        iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
      ins(%rows, %columns : tensor<4x32x96xf32>, tensor<96x4x40xf32>) outs(%bg : tensor<4x32x40xf32>) {
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %m = arith.mulf %y, %x : f32
    %n = arith.addf %sum, %m : f32
    linalg.yield %n : f32
  } -> tensor<4x32x40xf32>
  %w = linalg.transpose ins(%q2 : tensor<4x32x40xf32>) outs(%v : tensor<32x40x4xf32>) permutation = [1, 2, 0]
  return %r, %s, %w : tensor<160x128xf32>, tensor<40x4x32xf32>, tensor<32x40x4xf32>
}

func.func @numbers() -> (tensor<128x96xf32>, tensor<96x160xf32>) {
  %a = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c7 = arith.constant 7 : index
    %s = arith.addi %i, %j : index
    %m = arith.remui %s, %c7 : index
    %n = arith.index_cast %m : index to i32
    %v = arith.sitofp %n : i32 to f32
    tensor.yield %v : f32
  } : tensor<128x96xf32>
  %b = tensor.generate {
  ^bb0(%i: index, %j: index):
    %c5 = arith.constant 5 : index
    %c3 = arith.constant 3 : index
    %t = arith.muli %i, %c3 : index
    %s = arith.addi %t, %j : index
    %m = arith.remui %s, %c5 : index
    %n = arith.index_cast %m : index to i32
    %v = arith.sitofp %n : i32 to f32
    tensor.yield %v : f32
  } : tensor<96x160xf32>
  return %a, %b : tensor<128x96xf32>, tensor<96x160xf32>
}
