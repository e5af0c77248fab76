// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -gpu-async-form-groups=device=cpu -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -gpu-async-form-groups=device=gpu -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,GPU

// A softmax is one group of rows: a row for each block of a GPU, as many as are
// worth a block on a CPU.
// CHECK-LABEL: func.func @softmax
// CPU: scf.forall (%{{.*}}) = (0) to (500) step (163)
// GPU: scf.forall (%{{.*}}) = (0) to (500) step (2)
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK: scf.forall.in_parallel
// CHECK-NOT: linalg
// CHECK: return
func.func @softmax(%a: tensor<500x100xf32>) -> tensor<500x100xf32> {
  %e = tensor.empty() : tensor<500x100xf32>
  %s = linalg.softmax dimension(1) ins(%a : tensor<500x100xf32>) outs(%e : tensor<500x100xf32>) -> tensor<500x100xf32>
  return %s : tensor<500x100xf32>
}

// -----

// A product and what is elementwise behind it are tiles of the result.
// CHECK-LABEL: func.func @product
// CPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (200, 100) step (104, 64)
// GPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (200, 100) step (16, 16)
// CHECK: linalg.fill
// CHECK: "reduction"
// CHECK: math.tanh
// CHECK: scf.forall.in_parallel
// CHECK-NOT: linalg
// CHECK: return
func.func @product(%a: tensor<200x70xf32>, %b: tensor<70x100xf32>) -> tensor<200x100xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<200x100xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<200x100xf32>) -> tensor<200x100xf32>
  %p = linalg.matmul ins(%a, %b : tensor<200x70xf32>, tensor<70x100xf32>) outs(%f : tensor<200x100xf32>) -> tensor<200x100xf32>
  %t = math.tanh %p : tensor<200x100xf32>
  return %t : tensor<200x100xf32>
}

// -----

// Two products are two groups: a tile of the second needs rows of the first.
// CHECK-LABEL: func.func @two_products
// CHECK-COUNT-2: scf.forall (
// CHECK-NOT: scf.forall (
// CHECK: return
func.func @two_products(%a: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = linalg.matmul ins(%a, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  %q = linalg.matmul ins(%p, %a : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %q : tensor<64x64xf32>
}

// -----

// Rows whose length is not known do not fit into a block: what two of its ops
// read in full is a kernel of its own. The sum of a row is a single number.
// CHECK-LABEL: func.func @dynamic_rows
// CHECK-COUNT-2: scf.forall (
// CHECK-NOT: scf.forall (
// CHECK: return
#map = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
func.func @dynamic_rows(%a: tensor<?x?xf32>, %e: tensor<?xf32>, %o: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %x = math.exp %a : tensor<?x?xf32>
  %s = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<?x?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%v: f32, %sum: f32):
    %t = arith.addf %v, %sum : f32
    linalg.yield %t : f32
  } -> tensor<?xf32>
  %d = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]} ins(%x, %s : tensor<?x?xf32>, tensor<?xf32>) outs(%o : tensor<?x?xf32>) {
  ^bb0(%v: f32, %sum: f32, %old: f32):
    %t = arith.divf %v, %sum : f32
    linalg.yield %t : f32
  } -> tensor<?x?xf32>
  return %d : tensor<?x?xf32>
}

// -----

// All of a sum is one block.
// CHECK-LABEL: func.func @sum
// CHECK: scf.forall (%{{.*}}) in (1)
func.func @sum(%a: tensor<?xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %s = linalg.reduce ins(%a : tensor<?xf32>) outs(%f : tensor<f32>) dimensions = [0]
    (%v: f32, %sum: f32) {
      %t = arith.addf %v, %sum : f32
      linalg.yield %t : f32
    }
  return %s : tensor<f32>
}

// -----

// The program's own tile.
// CHECK-LABEL: func.func @override
// CHECK: scf.forall (%{{.*}}) = (0) to (100) step (7)
func.func @override(%a: memref<100x8xf32>, %v: f32) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"], gpu_async.tile = array<i64: 7, 0>}
    ins(%v : f32) outs(%a : memref<100x8xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  }
  return
}

// -----

// A named op keeps its tile, and so does what others are fused into.
// CHECK-LABEL: func.func @override_named
// CHECK: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (200, 100) step (20, 50)
func.func @override_named(%x: tensor<200x70xf32>, %w: tensor<70x100xf32>, %z: tensor<200x100xf32>) -> tensor<200x100xf32> {
  %p = linalg.matmul {gpu_async.tile = array<i64: 20, 50, 0>} ins(%x, %w : tensor<200x70xf32>, tensor<70x100xf32>) outs(%z : tensor<200x100xf32>) -> tensor<200x100xf32>
  return %p : tensor<200x100xf32>
}
// CHECK-LABEL: func.func @override_fused
// CHECK: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (200, 100) step (25, 10)
func.func @override_fused(%x: tensor<200x100xf32>) -> tensor<200x100xf32> {
  %two = arith.constant dense<2.0> : tensor<200x100xf32>
  %p = arith.mulf %x, %two : tensor<200x100xf32>
  %r = math.exp %p {gpu_async.tile = array<i64: 25, 10>} : tensor<200x100xf32>
  return %r : tensor<200x100xf32>
}
// An array that is read backwards is read element by element.
// CHECK-LABEL: func.func @override_backwards
// CHECK: scf.forall (%{{.*}}) = (0) to (64) step (4)
func.func @override_backwards(%x: tensor<64x?xf32>, %z: tensor<64xf32>) -> tensor<64xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (63 - d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"], gpu_async.tile = array<i64: 4, 0>}
      ins(%x : tensor<64x?xf32>) outs(%z : tensor<64xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<64xf32>
  return %r : tensor<64xf32>
}

// -----

// A body that reads memory is computed where it is, in blocks of its own.
// CHECK-LABEL: func.func @reads
// CHECK: scf.forall
// CHECK: memref.load
// CHECK: scf.forall.in_parallel
// CHECK: linalg.fill
// CHECK: scf.forall
// CHECK: linalg.generic {{.*}}"reduction"
#both = affine_map<(d0, d1) -> (d0, d1)>
#first = affine_map<(d0, d1) -> (d0)>
func.func @reads(%x: tensor<500x100xf32>, %m: memref<500x100xf32>, %z: tensor<500xf32>) -> tensor<500xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<500x100xf32>
  %a = linalg.generic {indexing_maps = [#both, #both], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<500x100xf32>) outs(%e : tensor<500x100xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %v = memref.load %m[%i, %j] : memref<500x100xf32>
    %s = arith.addf %v, %in : f32
    linalg.yield %s : f32
  } -> tensor<500x100xf32>
  linalg.fill ins(%zero : f32) outs(%m : memref<500x100xf32>)
  %r = linalg.generic {indexing_maps = [#both, #first], iterator_types = ["parallel", "reduction"]} ins(%a : tensor<500x100xf32>) outs(%z : tensor<500xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<500xf32>
  return %r : tensor<500xf32>
}

// -----

// Rows that a product by a vector needs whole are computed where it takes them:
// its block keeps none.
// CHECK-LABEL: func.func @computed_rows
// CPU: scf.forall (%{{.*}}) = (0) to (20000) step (16)
// GPU: scf.forall (%{{.*}}) = (0) to (20000) step (8)
// CHECK: "reduction"
// CHECK: math.exp
// CHECK: linalg.yield
// CHECK-NOT: linalg
// CHECK: return
func.func @computed_rows(%x: tensor<20000x10000xf32>, %a: tensor<10000xf32>) -> tensor<20000xf32> {
  %zero = arith.constant 0.0 : f32
  %y = math.exp %x : tensor<20000x10000xf32>
  %e = tensor.empty() : tensor<20000xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<20000xf32>) -> tensor<20000xf32>
  %r = linalg.matvec ins(%y, %a : tensor<20000x10000xf32>, tensor<10000xf32>) outs(%f : tensor<20000xf32>) -> tensor<20000xf32>
  return %r : tensor<20000xf32>
}

// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -gpu-async-form-groups=device=gpu --remarks-filter=gpu-async-form-groups --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Group | Category:gpu-async-form-groups | Function=softmax | groups=1, ops-in-groups=6{{$}}
