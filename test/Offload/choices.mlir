// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An arg max chooses a value and an index together. Threads and blocks take parts of it that
// follow each other, and choose from what the parts come to, in their order.
// RUN: gpu-opt %s -split-input-file -gpu-async-split-reductions=device=gpu -canonicalize -cse | FileCheck %s --check-prefix=PARTS
// RUN: gpu-opt %s -split-input-file -gpu-async-offload=device=gpu -canonicalize -cse | FileCheck %s --check-prefix=THREADS

// PARTS-LABEL: func.func @argmax
// PARTS-SAME: (%[[X:.*]]: tensor<50257xf32>, %[[V:.*]]: tensor<f32>, %[[I:.*]]: tensor<i32>)
// PARTS: %[[PARTS:.*]]:2 = scf.forall (%{{.*}}) in (12) shared_outs
// Each begins with what the outputs hold.
// PARTS: %[[V0:.*]] = linalg.copy ins(%[[V]]
// PARTS: %[[I0:.*]] = linalg.copy ins(%[[I]]
// PARTS: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%{{.*}} : tensor<?xf32>) outs(%[[V0]], %[[I0]]
// PARTS: linalg.index 0
// PARTS: affine.apply
// PARTS: tensor.parallel_insert_slice
// PARTS: linalg.generic {{.*}}ins(%[[PARTS]]#0, %[[PARTS]]#1 : tensor<12xf32>, tensor<12xi32>) outs(%[[V]], %[[I]]
// PARTS-NEXT: ^bb0(%[[LATER:.*]]: f32, %[[LATERI:.*]]: i32, %[[NOW:.*]]: f32, %[[NOWI:.*]]: i32):
// PARTS: arith.cmpf ogt, %[[NOW]], %[[LATER]] : f32
// PARTS: arith.cmpi slt, %[[NOWI]], %[[LATERI]] : i32
// PARTS-NOT: linalg.index
// PARTS: return

// A thread goes through elements that follow each other; behind the last one it has the
// last one again, which changes nothing. Slots of lanes that follow each other are combined.
// THREADS-LABEL: func.func @argmax
// THREADS: gpu.launch
// THREADS-SAME: workgroup(%[[VALUES:.*]] : memref<256xf32, {{.*}}>, %[[PLACES:.*]] : memref<256xi32,
// THREADS: %[[OWN:.*]] = arith.ceildivui %{{.*}}, %c256
// THREADS: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[OWN]]
// THREADS: %[[END:.*]] = arith.addi %[[FIRST]], %[[OWN]]
// THREADS: arith.minui %[[END]],
// THREADS: scf.for %{{.*}} = %[[FIRST]] to
// THREADS: memref.store %{{.*}}, %[[VALUES]]
// THREADS: memref.store %{{.*}}, %[[PLACES]]
// THREADS: gpu.barrier
// THREADS: arith.muli %{{.*}}, %c16
// THREADS: memref.load %[[VALUES]]
func.func @argmax(%x: tensor<50257xf32>, %v: tensor<f32>, %i: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  %r:2 = linalg.generic {
    indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>, affine_map<(d) -> ()>],
    iterator_types = ["reduction"]
  } ins(%x : tensor<50257xf32>) outs(%v, %i : tensor<f32>, tensor<i32>) {
  ^bb0(%in: f32, %out: f32, %place: i32):
    %d = linalg.index 0 : index
    %at = arith.index_cast %d : index to i32
    %more = arith.cmpf ogt, %out, %in : f32
    %none = arith.cmpf une, %out, %out : f32
    %stays = arith.ori %more, %none : i1
    %equal = arith.cmpf oeq, %out, %in : f32
    %before = arith.cmpi slt, %place, %at : i32
    %both = arith.andi %equal, %before : i1
    %first = arith.ori %stays, %both : i1
    %value = arith.select %stays, %out, %in : f32
    %index = arith.select %first, %place, %at : i32
    linalg.yield %value, %index : f32, i32
  } -> (tensor<f32>, tensor<i32>)
  return %r#0, %r#1 : tensor<f32>, tensor<i32>
}

// -----

// Without a number in between, 1, NaN and 2 give 2; NaN and 2 give NaN, and 1 and that 1.
// PARTS-LABEL: func.func @orderCounts
// PARTS-NOT: scf.forall
// PARTS: return
// THREADS-LABEL: func.func @orderCounts
// THREADS: gpu.launch
// THREADS-NOT: workgroup
// THREADS: return
func.func @orderCounts(%x: tensor<50257xf32>, %v: tensor<f32>, %i: tensor<i32>) -> (tensor<f32>, tensor<i32>) {
  %r:2 = linalg.generic {
    indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>, affine_map<(d) -> ()>],
    iterator_types = ["reduction"]
  } ins(%x : tensor<50257xf32>) outs(%v, %i : tensor<f32>, tensor<i32>) {
  ^bb0(%in: f32, %out: f32, %place: i32):
    %d = linalg.index 0 : index
    %at = arith.index_cast %d : index to i32
    %more = arith.cmpf ogt, %in, %out : f32
    %value = arith.select %more, %in, %out : f32
    %index = arith.select %more, %at, %place : i32
    linalg.yield %value, %index : f32, i32
  } -> (tensor<f32>, tensor<i32>)
  return %r#0, %r#1 : tensor<f32>, tensor<i32>
}

// -----

// The same of integers has no such numbers.
// PARTS-LABEL: func.func @integers
// PARTS: scf.forall
// PARTS: return
func.func @integers(%x: tensor<50257xi32>, %v: tensor<i32>, %i: tensor<i64>) -> (tensor<i32>, tensor<i64>) {
  %r:2 = linalg.generic {
    indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>, affine_map<(d) -> ()>],
    iterator_types = ["reduction"]
  } ins(%x : tensor<50257xi32>) outs(%v, %i : tensor<i32>, tensor<i64>) {
  ^bb0(%in: i32, %out: i32, %place: i64):
    %d = linalg.index 0 : index
    %at = arith.index_cast %d : index to i64
    %more = arith.cmpi ugt, %in, %out : i32
    %value = arith.select %more, %in, %out : i32
    %index = arith.select %more, %at, %place : i64
    linalg.yield %value, %index : i32, i64
  } -> (tensor<i32>, tensor<i64>)
  return %r#0, %r#1 : tensor<i32>, tensor<i64>
}

// -----

// How often the most is there is no choice; nor is a comparison with a constant, which
// other numbers than those that were tried may be told apart by; nor one both with and
// without signs.
// PARTS-LABEL: func.func @others
// PARTS-NOT: scf.forall
// PARTS: return
func.func @others(%x: tensor<50257xi32>, %v: tensor<i32>, %n: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) {
  %r:2 = linalg.generic {
    indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>, affine_map<(d) -> ()>],
    iterator_types = ["reduction"]
  } ins(%x : tensor<50257xi32>) outs(%v, %n : tensor<i32>, tensor<i32>) {
  ^bb0(%in: i32, %out: i32, %count: i32):
    %one = arith.constant 1 : i32
    %more = arith.cmpi sgt, %in, %out : i32
    %equal = arith.cmpi eq, %in, %out : i32
    %next = arith.addi %count, %one : i32
    %again = arith.select %equal, %next, %count : i32
    %value = arith.select %more, %in, %out : i32
    %number = arith.select %more, %one, %again : i32
    linalg.yield %value, %number : i32, i32
  } -> (tensor<i32>, tensor<i32>)
  %s = linalg.generic {
    indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>],
    iterator_types = ["reduction"]
  } ins(%x : tensor<50257xi32>) outs(%v : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %limit = arith.constant 100 : i32
    %isMore = arith.cmpi sgt, %in, %out : i32
    %isOver = arith.cmpi sgt, %out, %limit : i32
    %takes = arith.ori %isMore, %isOver : i1
    %value = arith.select %takes, %in, %out : i32
    linalg.yield %value : i32
  } -> tensor<i32>
  %t = linalg.generic {
    indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>],
    iterator_types = ["reduction"]
  } ins(%x : tensor<50257xi32>) outs(%v : tensor<i32>) {
  ^bb0(%in: i32, %out: i32):
    %isMore = arith.cmpi sgt, %in, %out : i32
    %isOver = arith.cmpi ugt, %in, %out : i32
    %takes = arith.andi %isMore, %isOver : i1
    %value = arith.select %takes, %in, %out : i32
    linalg.yield %value : i32
  } -> tensor<i32>
  return %r#0, %r#1, %s, %t : tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>
}
