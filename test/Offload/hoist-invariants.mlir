// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loop invariants are computed in front of the loop.
// RUN: gpu-opt %s -split-input-file -pass-pipeline="builtin.module(func.func(gpu-async-hoist-invariants))" | FileCheck %s

#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
#first = affine_map<(i, j) -> (i)>

// A sum of arrays, out of both loops; its destination stays for the other op.
// CHECK-LABEL: func.func @nested
// CHECK: %[[SUM:.*]] = linalg.add
// CHECK: scf.for
// CHECK-NOT: linalg.add
// CHECK: scf.for
// CHECK: tensor.empty
// CHECK: linalg.mul ins(%[[SUM]],
func.func @nested(%a: tensor<8x8xf32>, %x: tensor<8x8xf32>, %n: index) -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<8x8xf32> {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%z = %y) -> tensor<8x8xf32> {
      %e = tensor.empty() : tensor<8x8xf32>
      %w = linalg.add ins(%a, %a : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
      %q = linalg.mul ins(%w, %z : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
      scf.yield %q : tensor<8x8xf32>
    }
    scf.yield %s : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// -----
// A while loop has two regions; a reduction moves with what it begins with.
#id = affine_map<(i, j) -> (i, j)>
#first = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func.func @turns
// CHECK: linalg.fill
// CHECK: %[[NORM:.*]] = linalg.reduce
// CHECK: scf.while
// CHECK-NOT: linalg.reduce
// CHECK: } do {
// CHECK-NOT: linalg.reduce
// CHECK: linalg.add ins(%[[NORM]],
func.func @turns(%a: tensor<8x8xf32>, %x: tensor<8xf32>, %n: i32) -> tensor<8xf32> {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant 0.0 : f32
  %r:2 = scf.while (%i = %c0, %y = %x) : (i32, tensor<8xf32>) -> (i32, tensor<8xf32>) {
    %t = arith.cmpi slt, %i, %n : i32
    scf.condition(%t) %i, %y : i32, tensor<8xf32>
  } do {
  ^bb0(%i: i32, %y: tensor<8xf32>):
    %e = tensor.empty() : tensor<8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %s = linalg.reduce { arith.addf } ins(%a : tensor<8x8xf32>) outs(%f : tensor<8xf32>) dimensions = [1]
    %q = linalg.add ins(%s, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %k = arith.addi %i, %c1 : i32
    scf.yield %k, %q : i32, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}

// -----
// A broadcast is larger than what it reads, and so is what is computed of it: both stay.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
// CHECK-LABEL: func.func @broadcasts
// CHECK: scf.for
// CHECK: linalg.generic
// CHECK: linalg.exp
// CHECK: linalg.add
func.func @broadcasts(%v: tensor<8xf32>, %x: tensor<8x8xf32>, %n: index) -> tensor<8x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> tensor<8x8xf32> {
    %e = tensor.empty() : tensor<8x8xf32>
    %b = linalg.generic {indexing_maps = [#row, #id], iterator_types = ["parallel", "parallel"]} ins(%v : tensor<8xf32>) outs(%e : tensor<8x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<8x8xf32>
    %p = linalg.exp ins(%b : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    %q = linalg.add ins(%p, %y : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    scf.yield %q : tensor<8x8xf32>
  }
  return %r : tensor<8x8xf32>
}

// -----
// Elements at an index and slices at an offset are right if there is a round: they move only where
// the loop has one for sure. A division by an element stays.
#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @elements
// CHECK: tensor.extract_slice
// CHECK: %[[SUM:.*]] = linalg.reduce
// CHECK: %[[TURNED:.*]] = linalg.generic
// CHECK: linalg.index
// CHECK: tensor.extract
// CHECK: scf.for
// CHECK-NOT: tensor.extract
// CHECK: arith.divsi
// CHECK: linalg.add ins(%[[TURNED]],
func.func @elements(%a: tensor<8xi32>, %x: tensor<8xi32>, %k: index, %s0: tensor<i32>) -> (tensor<8xi32>, tensor<i32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%y = %x, %sum = %s0) -> (tensor<8xi32>, tensor<i32>) {
    %e = tensor.empty() : tensor<8xi32>
    %o = tensor.extract_slice %a[%k] [4] [1] : tensor<8xi32> to tensor<4xi32>
    %w = linalg.reduce { arith.addi } ins(%o : tensor<4xi32>) outs(%s0 : tensor<i32>) dimensions = [0]
    %t = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<8xi32>) {
    ^bb0(%out: i32):
      %p = linalg.index 0 : index
      %l = arith.subi %c7, %p : index
      %v = tensor.extract %a[%l] : tensor<8xi32>
      linalg.yield %v : i32
    } -> tensor<8xi32>
    %d = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%a : tensor<8xi32>) outs(%e : tensor<8xi32>) {
    ^bb0(%in: i32, %out: i32):
      %one = arith.constant 100 : i32
      %s = arith.divsi %one, %in : i32
      linalg.yield %s : i32
    } -> tensor<8xi32>
    %q = linalg.add ins(%t, %d : tensor<8xi32>, tensor<8xi32>) outs(%y : tensor<8xi32>) -> tensor<8xi32>
    scf.yield %q, %w : tensor<8xi32>, tensor<i32>
  }
  return %r#0, %r#1 : tensor<8xi32>, tensor<i32>
}

// -----
#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func.func @guarded
// CHECK: scf.for
// CHECK: tensor.extract_slice
// CHECK: linalg.reduce
// CHECK: linalg.dot
// CHECK: tensor.extract
func.func @guarded(%a: tensor<8xi32>, %u: tensor<?xi32>, %v: tensor<?xi32>, %k: index, %n: index, %s0: tensor<i32>) -> tensor<i32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %s0) -> tensor<i32> {
    %o = tensor.extract_slice %a[%k] [4] [1] : tensor<8xi32> to tensor<4xi32>
    %w = linalg.reduce { arith.addi } ins(%o : tensor<4xi32>) outs(%s0 : tensor<i32>) dimensions = [0]
    %p = linalg.dot ins(%u, %v : tensor<?xi32>, tensor<?xi32>) outs(%s0 : tensor<i32>) -> tensor<i32>
    %t = linalg.generic {indexing_maps = [#id, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%a : tensor<8xi32>) outs(%s0 : tensor<i32>) {
    ^bb0(%in: i32, %out: i32):
      %g = tensor.extract %a[%k] : tensor<8xi32>
      %h = arith.addi %g, %out : i32
      linalg.yield %h : i32
    } -> tensor<i32>
    %x = linalg.add ins(%w, %p : tensor<i32>, tensor<i32>) outs(%sum : tensor<i32>) -> tensor<i32>
    %z = linalg.add ins(%x, %t : tensor<i32>, tensor<i32>) outs(%sum : tensor<i32>) -> tensor<i32>
    scf.yield %z : tensor<i32>
  }
  return %r : tensor<i32>
}

// -----
// An assertion in front guards what comes behind it.
// CHECK-LABEL: func.func @asserted
// CHECK: scf.for
// CHECK: cf.assert
// CHECK: tensor.extract_slice
// CHECK: linalg.reduce
func.func @asserted(%a: tensor<8xi32>, %k: index, %fits: i1, %s0: tensor<i32>) -> tensor<i32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%sum = %s0) -> tensor<i32> {
    cf.assert %fits, "the slice lies in the array"
    %o = tensor.extract_slice %a[%k] [4] [1] : tensor<8xi32> to tensor<4xi32>
    %w = linalg.reduce { arith.addi } ins(%o : tensor<4xi32>) outs(%s0 : tensor<i32>) dimensions = [0]
    %x = linalg.add ins(%w, %sum : tensor<i32>, tensor<i32>) outs(%sum : tensor<i32>) -> tensor<i32>
    scf.yield %x : tensor<i32>
  }
  return %r : tensor<i32>
}

// RUN: gpu-opt %s -split-input-file -pass-pipeline="builtin.module(func.func(gpu-async-hoist-invariants))" --remarks-filter=gpu-async-hoist-invariants --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Hoisted | Category:gpu-async-hoist-invariants | Function=nested | hoisted-ops=1{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Hoisted | Category:gpu-async-hoist-invariants | Function=elements | hoisted-ops=2{{$}}
