// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Long sums of f32 are taken in pieces. Added up one after the other, 20000 times 0.1
// is off by 2e-4. The sign of a sum of zeros stays.
// DEFINE: %{cpu} = gpu-runner --device=cpu %s --tolerance=3e-6
// DEFINE: %{gpu} = gpu-opt %s --gpu-async-offload=device=gpu | gpu-runner --device=cpu - --tolerance=3e-6
// RUN: %{cpu} -e columns --input=20000x300xf32=0.1 --expect=300xf64=2000.0000298023224
// RUN: %{gpu} -e columns --input=20000x300xf32=0.1 --expect=300xf64=2000.0000298023224
// RUN: %{cpu} -e images --input=9x25x23x5xf32=0.1 --expect=5xf64=517.5000077113509 --expect=5xf64=51.75000154227018
// RUN: %{gpu} -e images --input=9x25x23x5xf32=0.1 --expect=5xf64=517.5000077113509 --expect=5xf64=51.75000154227018
// RUN: %{cpu} -e rows --input=300x50x401xf32=0.1 --expect=300xf64=2005.0000298768282
// RUN: %{gpu} -e rows --input=300x50x401xf32=0.1 --expect=300xf64=2005.0000298768282
// RUN: %{cpu} -e open --input=20003x3xf32=0.1 --expect=3xf64=2000.3000298067927
// RUN: %{gpu} -e open --input=20003x3xf32=0.1 --expect=3xf64=2000.3000298067927
// RUN: %{cpu} -e product --input=20000x5xf32=0.1 --input=20000x7xf32=0.1 --expect=5x7xf64=200.0000059604645
// RUN: %{cpu} -e columns --input=20000x300xf32=-0 --expect=300xf32=0
// RUN: %{cpu} -e signs --input=500x3xf32=-0 --input=3xf32=-0 --expect=3xf32=-inf
// RUN: %{gpu} -e signs --input=500x3xf32=-0 --input=3xf32=-0 --expect=3xf32=-inf
// RUN: %{cpu} -e complex --input=20000x3xf32=0.1 --input=300x20000xf32=0.1 --expect=3xf64=2000.0000298023224 --expect=3xf64=-2000.0000298023224 --expect=300xf64=-2000.0000298023224
// RUN: %{gpu} -e complex --input=20000x3xf32=0.1 --input=300x20000xf32=0.1 --expect=3xf64=2000.0000298023224 --expect=3xf64=-2000.0000298023224 --expect=300xf64=-2000.0000298023224
// RUN: %{cpu} -e running --input=300xf32=1 --expect=f32=45150 --expect=f32=300
// RUN: %{gpu} -e running --input=300xf32=1 --expect=f32=45150 --expect=f32=300
// RUN: %{cpu} -e beside --input=300x3xf32=0.1 --input=3xf32 --input=300x3xf32=7 --expect=3xf64=30.000000447034836 --expect=300x3xf32=0.1
// RUN: %{gpu} -e beside --input=300x3xf32=0.1 --input=3xf32 --input=300x3xf32=7 --expect=3xf64=30.000000447034836 --expect=300x3xf32=0.1

func.func @columns(%x: tensor<20000x300xf32>) -> tensor<300xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<300xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<300xf32>) -> tensor<300xf32>
  %r = linalg.reduce {arith.addf} ins(%x : tensor<20000x300xf32>) outs(%f : tensor<300xf32>) dimensions = [0]
  return %r : tensor<300xf32>
}

// A mean and a mean of squares, as of a batch norm.
func.func @images(%x: tensor<9x25x23x5xf32>) -> (tensor<5xf32>, tensor<5xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(n, h, w, c) -> (n, h, w, c)>, affine_map<(n, h, w, c) -> (c)>, affine_map<(n, h, w, c) -> (c)>],
      iterator_types = ["reduction", "reduction", "reduction", "parallel"]} ins(%x : tensor<9x25x23x5xf32>) outs(%f, %f : tensor<5xf32>, tensor<5xf32>) {
  ^bb0(%a: f32, %sum: f32, %squares: f32):
    %s = arith.addf %sum, %a : f32
    %q = arith.mulf %a, %a : f32
    %t = arith.addf %q, %squares : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<5xf32>, tensor<5xf32>)
  return %r#0, %r#1 : tensor<5xf32>, tensor<5xf32>
}

func.func @rows(%x: tensor<300x50x401xf32>) -> tensor<300xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<300xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<300xf32>) -> tensor<300xf32>
  %r = linalg.reduce {arith.addf} ins(%x : tensor<300x50x401xf32>) outs(%f : tensor<300xf32>) dimensions = [1, 2]
  return %r : tensor<300xf32>
}

func.func @open(%x: tensor<?x?xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1 : index
  %size = tensor.dim %x, %one : tensor<?x?xf32>
  %e = tensor.empty(%size) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.reduce {arith.addf} ins(%x : tensor<?x?xf32>) outs(%f : tensor<?xf32>) dimensions = [0]
  return %r : tensor<?xf32>
}

// As of a weight's gradient.
func.func @product(%x: tensor<20000x5xf32>, %y: tensor<20000x7xf32>) -> tensor<5x7xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<5x7xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<5x7xf32>) -> tensor<5x7xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (k, i)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
      iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %y : tensor<20000x5xf32>, tensor<20000x7xf32>) outs(%f : tensor<5x7xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %p : f32
    linalg.yield %s : f32
  } -> tensor<5x7xf32>
  return %r : tensor<5x7xf32>
}

// 1 over a sum of zeros that all are negative.
func.func @signs(%x: tensor<500x3xf32>, %z: tensor<3xf32>) -> tensor<3xf32> {
  %one = arith.constant dense<1.0> : tensor<3xf32>
  %r = linalg.reduce {arith.addf} ins(%x : tensor<500x3xf32>) outs(%z : tensor<3xf32>) dimensions = [0]
  %q = arith.divf %one, %r : tensor<3xf32>
  return %q : tensor<3xf32>
}

// A sum of running sums: the order counts, so that it is not taken in pieces.
func.func @running(%x: tensor<300xf32>) -> (tensor<f32>, tensor<f32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>],
      iterator_types = ["reduction"]} ins(%x : tensor<300xf32>) outs(%f, %f : tensor<f32>, tensor<f32>) {
  ^bb0(%a: f32, %sum: f32, %sums: f32):
    %s = arith.addf %sum, %a : f32
    %t = arith.addf %sums, %s : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<f32>, tensor<f32>)
  return %r#1, %r#0 : tensor<f32>, tensor<f32>
}

// Sums of complex numbers, down the columns and along the rows.
func.func @complex(%x: tensor<20000x3xf32>, %y: tensor<300x20000xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<300xf32>) {
  %zero = complex.constant [0.0 : f32, 0.0 : f32] : complex<f32>
  %e = tensor.empty() : tensor<3xcomplex<f32>>
  %f = linalg.fill ins(%zero : complex<f32>) outs(%e : tensor<3xcomplex<f32>>) -> tensor<3xcomplex<f32>>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<20000x3xf32>) outs(%f : tensor<3xcomplex<f32>>) {
  ^bb0(%a: f32, %sum: complex<f32>):
    %b = arith.negf %a : f32
    %c = complex.create %a, %b : complex<f32>
    %s = complex.add %sum, %c : complex<f32>
    linalg.yield %s : complex<f32>
  } -> tensor<3xcomplex<f32>>
  %g = tensor.empty() : tensor<300xcomplex<f32>>
  %h = linalg.fill ins(%zero : complex<f32>) outs(%g : tensor<300xcomplex<f32>>) -> tensor<300xcomplex<f32>>
  %q = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]} ins(%y : tensor<300x20000xf32>) outs(%h : tensor<300xcomplex<f32>>) {
  ^bb0(%a: f32, %sum: complex<f32>):
    %b = arith.negf %a : f32
    %c = complex.create %a, %b : complex<f32>
    %s = complex.add %sum, %c : complex<f32>
    linalg.yield %s : complex<f32>
  } -> tensor<300xcomplex<f32>>
  %d = tensor.empty() : tensor<3xf32>
  %p:2 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]} ins(%r : tensor<3xcomplex<f32>>) outs(%d, %d : tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%a: complex<f32>, %o: f32, %v: f32):
    %b = complex.re %a : complex<f32>
    %c = complex.im %a : complex<f32>
    linalg.yield %b, %c : f32, f32
  } -> (tensor<3xf32>, tensor<3xf32>)
  %i = tensor.empty() : tensor<300xf32>
  %rows = linalg.map ins(%q : tensor<300xcomplex<f32>>) outs(%i : tensor<300xf32>) (%a: complex<f32>, %o: f32) {
    %b = complex.im %a : complex<f32>
    linalg.yield %b : f32
  }
  return %p#0, %p#1, %rows : tensor<3xf32>, tensor<3xf32>, tensor<300xf32>
}

// Sums beside an output with an element for each round.
func.func @beside(%x: tensor<300x3xf32>, %e: tensor<3xf32>, %w: tensor<300x3xf32>) -> (tensor<3xf32>, tensor<300x3xf32>) {
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["reduction", "parallel"]} ins(%x : tensor<300x3xf32>) outs(%e, %w : tensor<3xf32>, tensor<300x3xf32>) {
  ^bb0(%v: f32, %sum: f32, %old: f32):
    %s = arith.addf %sum, %v : f32
    linalg.yield %s, %v : f32, f32
  } -> (tensor<3xf32>, tensor<300x3xf32>)
  return %r#0, %r#1 : tensor<3xf32>, tensor<300x3xf32>
}
