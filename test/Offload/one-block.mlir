// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of few elements are one group, though one of them has none of the others' loops.
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -gpu-async-form-groups=device=cpu -canonicalize -cse | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -gpu-async-form-groups=device=gpu -canonicalize -cse | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=gpu -canonicalize -cse | FileCheck %s --check-prefix=THREADS

// A layer norm of one row: the mean and the variance are needed by all elements. A thread
// has three of them, which it reads once.
// CHECK-LABEL: func.func @norm
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK-COUNT-2: "reduction"
// CHECK: scf.forall.in_parallel
// CHECK-NOT: linalg
// CHECK: return
// THREADS-LABEL: func.func @norm
// THREADS-COUNT-1: gpu.launch
// THREADS-COUNT-3: memref.load %{{.*}} : memref<768xf32>
// THREADS-NOT: memref.load %{{.*}} : memref<768xf32>
// THREADS-NOT: gpu.launch
// THREADS: return
func.func @norm(%x: tensor<768xf32>) -> tensor<768xf32> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 768.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<768xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce {arith.addf} ins(%x : tensor<768xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  %d = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x, %sum : tensor<768xf32>, tensor<f32>) outs(%e : tensor<768xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %mean = arith.divf %s, %n : f32
    %r = arith.subf %a, %mean : f32
    linalg.yield %r : f32
  } -> tensor<768xf32>
  %squares = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
      ins(%d : tensor<768xf32>) outs(%f0 : tensor<f32>) {
  ^bb0(%a: f32, %s: f32):
    %p = arith.mulf %a, %a : f32
    %r = arith.addf %s, %p : f32
    linalg.yield %r : f32
  } -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%d, %squares : tensor<768xf32>, tensor<f32>) outs(%e : tensor<768xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %v = arith.divf %s, %n : f32
    %i = math.rsqrt %v : f32
    %r = arith.mulf %a, %i : f32
    linalg.yield %r : f32
  } -> tensor<768xf32>
  return %y : tensor<768xf32>
}

// -----

// A scalar product is a reduction as others are.
// CHECK-LABEL: func.func @scaled
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK: "reduction"
// CHECK: "parallel"
// CHECK: scf.forall.in_parallel
// CHECK-NOT: linalg
// CHECK: return
func.func @scaled(%x: tensor<500xf32>, %y: tensor<500xf32>) -> tensor<500xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<500xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %dot = linalg.dot ins(%x, %y : tensor<500xf32>, tensor<500xf32>) outs(%f0 : tensor<f32>) -> tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x, %dot : tensor<500xf32>, tensor<f32>) outs(%e : tensor<500xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %p = arith.divf %a, %s : f32
    linalg.yield %p : f32
  } -> tensor<500xf32>
  return %r : tensor<500xf32>
}

// -----

// Many elements are many blocks' work. The mean is there before.
// CHECK-LABEL: func.func @long
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK: scf.forall (%{{.*}}) = (0) to (20000) step (
// CHECK: return
func.func @long(%x: tensor<20000xf32>) -> tensor<20000xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<20000xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce {arith.addf} ins(%x : tensor<20000xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x, %sum : tensor<20000xf32>, tensor<f32>) outs(%e : tensor<20000xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %p = arith.divf %a, %s : f32
    linalg.yield %p : f32
  } -> tensor<20000xf32>
  return %r : tensor<20000xf32>
}

// -----

// The sums of long rows have blocks of their own, and so does the product, though what
// uses them is one block's work.
// CHECK-LABEL: func.func @of_many
// CHECK: scf.forall (%{{.*}}) = (0) to (300) step (
// CHECK: scf.forall (%{{.*}}) = (0) to (300) step (
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK: return
func.func @of_many(%x: tensor<300x1000xf32>, %v: tensor<1000xf32>, %z: tensor<300xf32>) -> tensor<300xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<300xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<300xf32>) -> tensor<300xf32>
  %rows = linalg.reduce {arith.maximumf} ins(%x : tensor<300x1000xf32>) outs(%f : tensor<300xf32>) dimensions = [1]
  %product = linalg.matvec ins(%x, %v : tensor<300x1000xf32>, tensor<1000xf32>) outs(%f : tensor<300xf32>) -> tensor<300xf32>
  %sum = linalg.reduce {arith.addf} ins(%z : tensor<300xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%rows, %product, %sum : tensor<300xf32>, tensor<300xf32>, tensor<f32>) outs(%e : tensor<300xf32>) {
  ^bb0(%a: f32, %b: f32, %s: f32, %o: f32):
    %p = arith.divf %a, %s : f32
    %q = arith.addf %p, %b : f32
    linalg.yield %q : f32
  } -> tensor<300xf32>
  return %r : tensor<300xf32>
}

// -----

// Tiles that are given are cut.
// CHECK-LABEL: func.func @given
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK: scf.forall (%{{.*}}) = (0) to (500) step (100)
func.func @given(%x: tensor<500xf32>) -> tensor<500xf32> {
  %zero = arith.constant 0.0 : f32
  %e0 = tensor.empty() : tensor<f32>
  %e = tensor.empty() : tensor<500xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<f32>) -> tensor<f32>
  %sum = linalg.reduce {arith.addf} ins(%x : tensor<500xf32>) outs(%f0 : tensor<f32>) dimensions = [0]
  %r = linalg.generic {gpu_async.tile = array<i64: 100>, indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%x, %sum : tensor<500xf32>, tensor<f32>) outs(%e : tensor<500xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %p = arith.divf %a, %s : f32
    linalg.yield %p : f32
  } -> tensor<500xf32>
  return %r : tensor<500xf32>
}
