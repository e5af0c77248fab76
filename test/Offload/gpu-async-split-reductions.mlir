// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-split-reductions=device=cpu -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: gpu-opt %s -split-input-file -gpu-async-split-reductions=device=gpu -canonicalize -cse | FileCheck %s --check-prefixes=CHECK,GPU

// Blocks add up a part each, from nothing on; what was there before counts once.
// CHECK-LABEL: func.func @all
// CHECK-SAME: (%[[A:.*]]: tensor<1000x300xf32>, %[[START:.*]]: tensor<f32>)
// CPU: %[[PARTS:.*]] = scf.forall (%{{.*}}) = (0) to (1000) step (250) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<4xf32>)
// GPU: %[[PARTS:.*]] = scf.forall (%{{.*}}) = (0) to (1000) step (56) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<18xf32>)
// What a CPU's block adds up lies in memory of its own.
// CPU: %[[OWN:.*]] = bufferization.alloc_tensor() : tensor<f32>
// GPU: %[[OWN:.*]] = tensor.extract_slice %{{.*}} to tensor<f32>
// CHECK: %[[NOTHING:.*]] = linalg.fill ins(%{{.*}}) outs(%[[OWN]]
// CHECK: linalg.reduce {{.*}} outs(%[[NOTHING]]
// CHECK: math.absf
// CHECK: arith.addf
// CHECK: scf.forall.in_parallel
// CHECK: mapping = [#gpu.block<linear_dim_0>]
// CHECK: linalg.reduce {{.*}}ins(%[[PARTS]] {{.*}} outs(%[[START]]
// CHECK-NOT: math.absf
// CHECK: return
func.func @all(%a: tensor<1000x300xf32>, %start: tensor<f32>) -> tensor<f32> {
  %r = linalg.reduce ins(%a : tensor<1000x300xf32>) outs(%start : tensor<f32>) dimensions = [0, 1]
    (%x: f32, %sum: f32) {
      %size = math.absf %x : f32
      %t = arith.addf %sum, %size : f32
      linalg.yield %t : f32
    }
  return %r : tensor<f32>
}

// -----

// Where a loop has fewer rounds than parts are wanted, the next one is cut, too.
// CHECK-LABEL: func.func @outer_loops_are_short
// CPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (3, 100000) step (1, 4762)
// GPU: scf.forall (%{{.*}}, %{{.*}}) = (0, 0) to (3, 100000) step (1, 8334)
func.func @outer_loops_are_short(%a: tensor<3x100000x2xi32>, %start: tensor<2xi32>) -> tensor<2xi32> {
  %r = linalg.reduce ins(%a : tensor<3x100000x2xi32>) outs(%start : tensor<2xi32>) dimensions = [0, 1]
    (%x: i32, %most: i32) {
      %t = arith.maxsi %most, %x : i32
      linalg.yield %t : i32
    }
  return %r : tensor<2xi32>
}

// -----

// What all rows share is one row: the squares of a variance, with the mean.
// CHECK-LABEL: func.func @variance
// CHECK-SAME: %[[MEAN:[^:]*]]: tensor<1x10xf32>
// CHECK: scf.forall
// CHECK: linalg.generic {{.*}} ins(%{{.*}}, %[[MEAN]] : tensor<{{.*}}x10xf32>, tensor<1x10xf32>)
// CHECK: scf.forall.in_parallel
// CHECK: linalg.reduce
func.func @variance(%x: tensor<65536x10xf32>, %mean: tensor<1x10xf32>, %start: tensor<10xf32>) -> tensor<10xf32> {
  %r = linalg.generic {
    indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, affine_map<(d0, d1) -> (0, d0)>, affine_map<(d0, d1) -> (d0)>],
    iterator_types = ["parallel", "reduction"]
  } ins(%x, %mean : tensor<65536x10xf32>, tensor<1x10xf32>) outs(%start : tensor<10xf32>) {
  ^bb0(%in: f32, %m: f32, %sum: f32):
    %d = arith.subf %in, %m : f32
    %s = arith.mulf %d, %d : f32
    %t = arith.addf %sum, %s : f32
    linalg.yield %t : f32
  } -> tensor<10xf32>
  return %r : tensor<10xf32>
}

// -----

// A scalar product, too.
// CHECK-LABEL: func.func @dot
// CHECK: scf.forall
// CHECK: linalg.dot
// CHECK: scf.forall.in_parallel
// CHECK: linalg.reduce
func.func @dot(%a: tensor<200000xf32>, %b: tensor<200000xf32>, %start: tensor<f32>) -> tensor<f32> {
  %r = linalg.dot ins(%a, %b : tensor<200000xf32>, tensor<200000xf32>) outs(%start : tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// Those are left as they are: few elements; results enough for the device; a tile
// that the program has chosen; a combination without a neutral element; sizes that
// are known at run time; an index, which is another one in a part; a result that has
// an element for each round.
// CHECK-NOT: scf.forall
#all = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>
func.func @few(%a: tensor<10000xf32>, %start: tensor<f32>) -> tensor<f32> {
  %r = linalg.reduce {arith.addf} ins(%a : tensor<10000xf32>) outs(%start : tensor<f32>) dimensions = [0]
  return %r : tensor<f32>
}
func.func @many_results(%a: tensor<200x10000xf32>, %start: tensor<200xf32>) -> tensor<200xf32> {
  %r = linalg.reduce {arith.addf} ins(%a : tensor<200x10000xf32>) outs(%start : tensor<200xf32>) dimensions = [1]
  return %r : tensor<200xf32>
}
func.func @chosen(%a: tensor<1000000xf32>, %start: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {gpu_async.tile = array<i64: 0>, indexing_maps = [#all, #none], iterator_types = ["reduction"]} ins(%a : tensor<1000000xf32>) outs(%start : tensor<f32>) {
  ^bb0(%x: f32, %sum: f32):
    %t = arith.addf %x, %sum : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
func.func @no_neutral_element(%a: tensor<1000000xf32>, %start: tensor<f32>) -> tensor<f32> {
  %r = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction"]} ins(%a : tensor<1000000xf32>) outs(%start : tensor<f32>) {
  ^bb0(%x: f32, %sum: f32):
    %half = arith.mulf %sum, %sum : f32
    %t = arith.addf %x, %half : f32
    linalg.yield %t : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}
func.func @open_size(%a: tensor<?xf32>, %start: tensor<f32>) -> tensor<f32> {
  %r = linalg.reduce {arith.addf} ins(%a : tensor<?xf32>) outs(%start : tensor<f32>) dimensions = [0]
  return %r : tensor<f32>
}
func.func @index(%a: tensor<1000000xf32>, %start: tensor<index>) -> tensor<index> {
  %r = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction"]} ins(%a : tensor<1000000xf32>) outs(%start : tensor<index>) {
  ^bb0(%x: f32, %sum: index):
    %i = linalg.index 0 : index
    %t = arith.addi %i, %sum : index
    linalg.yield %t : index
  } -> tensor<index>
  return %r : tensor<index>
}
func.func @each_round(%a: tensor<1000000xf32>, %b: tensor<1000000xf32>, %start: tensor<f32>) -> (tensor<1000000xf32>, tensor<f32>) {
  %r:2 = linalg.generic {indexing_maps = [#all, #all, #none], iterator_types = ["reduction"]} ins(%a : tensor<1000000xf32>) outs(%b, %start : tensor<1000000xf32>, tensor<f32>) {
  ^bb0(%x: f32, %each: f32, %sum: f32):
    %s = arith.addf %x, %each : f32
    %t = arith.addf %x, %sum : f32
    linalg.yield %s, %t : f32, f32
  } -> (tensor<1000000xf32>, tensor<f32>)
  return %r#0, %r#1 : tensor<1000000xf32>, tensor<f32>
}

// -----

// Blocks begin a sum of floats with -0, which leaves -0 as it is.
// CHECK-LABEL: func.func @negative_zeros
// CHECK: %[[ZERO:.*]] = arith.constant -0.000000e+00 : f32
// CHECK: scf.forall
// CHECK: linalg.fill ins(%[[ZERO]]
func.func @negative_zeros(%a: tensor<1000000xf32>, %start: tensor<f32>) -> tensor<f32> {
  %r = linalg.reduce {arith.addf} ins(%a : tensor<1000000xf32>) outs(%start : tensor<f32>) dimensions = [0]
  return %r : tensor<f32>
}

// -----

// The order of these matters: the second sum is of what the first one is so far, a
// body stores, and numbers of the index type have no neutral element upstream.
// CHECK-LABEL: func.func @in_order
// CHECK-NOT: scf.forall
// CHECK: return
#all = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @in_order(%a: tensor<1000000xi32>, %b: tensor<1000000xindex>, %m: memref<i32>, %start: tensor<i32>, %first: tensor<index>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<index>) {
  %r:2 = linalg.generic {indexing_maps = [#all, #none, #none], iterator_types = ["reduction"]} ins(%a : tensor<1000000xi32>) outs(%start, %start : tensor<i32>, tensor<i32>) {
  ^bb0(%x: i32, %o: i32, %p: i32):
    %s = arith.addi %x, %o : i32
    %t = arith.addi %s, %p : i32
    linalg.yield %s, %t : i32, i32
  } -> (tensor<i32>, tensor<i32>)
  %q = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction"]} ins(%a : tensor<1000000xi32>) outs(%start : tensor<i32>) {
  ^bb0(%x: i32, %o: i32):
    memref.store %x, %m[] : memref<i32>
    %s = arith.addi %x, %o : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  %i = linalg.reduce {arith.maxsi} ins(%b : tensor<1000000xindex>) outs(%first : tensor<index>) dimensions = [0]
  return %r#0, %r#1, %q, %i : tensor<i32>, tensor<i32>, tensor<i32>, tensor<index>
}

// -----

// The number of a result is the same in each part; results side by side are one block's on a GPU.
// CHECK-LABEL: func.func @numbers_of_results
// GPU: scf.forall
// GPU: linalg.index 1
// GPU: scf.forall.in_parallel
// GPU: linalg.reduce
// CHECK: return
#row = affine_map<(u, s, c) -> (u)>
#update = affine_map<(u, s, c) -> (u, c)>
#sums = affine_map<(u, s, c) -> (s, c)>
func.func @numbers_of_results(%places: tensor<20000xi32>, %u: tensor<20000x16xf32>, %start: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %none = arith.constant -0.0 : f32
  %r = linalg.generic {indexing_maps = [#row, #update, #sums], iterator_types = ["reduction", "parallel", "parallel"]}
      ins(%places, %u : tensor<20000xi32>, tensor<20000x16xf32>) outs(%start : tensor<16x16xf32>) {
  ^bb0(%p: i32, %v: f32, %sum: f32):
    %s = linalg.index 1 : index
    %at = arith.index_cast %p : i32 to index
    %is = arith.cmpi eq, %s, %at : index
    %own = arith.select %is, %v, %none : f32
    %t = arith.addf %own, %sum : f32
    linalg.yield %t : f32
  } -> tensor<16x16xf32>
  return %r : tensor<16x16xf32>
}

// -----

// The gradient of a convolution's few weights: parts are whole images, of which windows are read. A CPU's products
// have windows of their own.
// CHECK-LABEL: func.func @windows
// CPU-NOT: scf.forall
// GPU: scf.forall (%{{.*}}) in (64)
// GPU: tensor.extract_slice %arg0[%{{.*}}, 0, 0, 0] [1, 30, 30, 1]
// GPU: linalg.reduce
// CHECK: return
#image = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d2 + d3, d4 + d5, d6)>
#result = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d5, d1)>
#weights = affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d2, d4, d6, d1)>
func.func @windows(%x: tensor<64x30x30x1xf32>, %y: tensor<64x28x28x32xf32>, %start: tensor<3x3x1x32xf32>) -> tensor<3x3x1x32xf32> {
  %r = linalg.generic {indexing_maps = [#image, #result, #weights], iterator_types = ["reduction", "parallel", "parallel", "reduction", "parallel", "reduction", "parallel"]}
      ins(%x, %y : tensor<64x30x30x1xf32>, tensor<64x28x28x32xf32>) outs(%start : tensor<3x3x1x32xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %m : f32
    linalg.yield %s : f32
  } -> tensor<3x3x1x32xf32>
  return %r : tensor<3x3x1x32xf32>
}

// RUN: gpu-opt %s -split-input-file -gpu-async-split-reductions=device=gpu --remarks-filter=gpu-async-split-reductions --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] SplitReduction | Category:gpu-async-split-reductions | Function=all | split-reductions=1{{$}}
