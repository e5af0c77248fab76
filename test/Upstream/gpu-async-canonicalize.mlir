// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Canonicalisation applies patterns of MLIR's where they are right, and only
// there. test/Upstream/upstream-faults.mlir shows what MLIR's own pass makes.
// RUN: gpu-opt %s -gpu-async-canonicalize | FileCheck %s

// A value twice in scf.condition: both arguments of the body are what the
// scf.if yields there.
// CHECK-LABEL: func.func @twice
// CHECK: scf.while
// CHECK: do
// CHECK: ^bb0(%[[S:.*]]: i64):
// CHECK: %[[T:.*]] = arith.addi %[[S]], %c2_i64
// CHECK: %[[X:.*]] = arith.xori %[[T]], %[[S]]
// CHECK: %[[Y:.*]] = arith.addi %[[X]], %[[T]]
// CHECK: scf.yield %[[Y]]
func.func @twice(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %big = arith.constant 100 : i64
  %r:3 = scf.while (%s = %zero) : (i64) -> (i64, i64, i64) {
    %go = arith.cmpi slt, %s, %n : i64
    %v = scf.if %go -> i64 {
      %t = arith.addi %s, %two : i64
      scf.yield %t : i64
    } else {
      scf.yield %big : i64
    }
    scf.condition(%go) %v, %v, %s : i64, i64, i64
  } do {
  ^bb0(%a: i64, %b: i64, %c: i64):
    %d = arith.xori %a, %c : i64
    %e = arith.addi %d, %b : i64
    scf.yield %e : i64
  }
  return %r#2 : i64
}

// Once: it moves into the body.
// CHECK-LABEL: func.func @once
// CHECK: scf.while
// CHECK-NOT: scf.if
// CHECK: return
func.func @once(%n: i64) -> i64 {
  %zero = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %big = arith.constant 100 : i64
  %r:2 = scf.while (%s = %zero) : (i64) -> (i64, i64) {
    %go = arith.cmpi slt, %s, %n : i64
    %v = scf.if %go -> i64 {
      %t = arith.addi %s, %two : i64
      scf.yield %t : i64
    } else {
      scf.yield %big : i64
    }
    scf.condition(%go) %v, %s : i64, i64
  } do {
  ^bb0(%a: i64, %c: i64):
    scf.yield %a : i64
  }
  return %r#1 : i64
}

// 32 bits do not fit into 24, and rounding twice is not rounding once; 16 do.
// CHECK-LABEL: func.func @rounds_twice
// CHECK: arith.sitofp %{{.*}} : i32 to f32
// CHECK: arith.truncf
// CHECK: arith.uitofp %{{.*}} : i32 to f32
// CHECK: arith.truncf
// CHECK: arith.sitofp %{{.*}} : i16 to bf16
// CHECK-NOT: arith.truncf
func.func @rounds_twice(%x: i32, %y: i16) -> (bf16, bf16, bf16) {
  %a = arith.sitofp %x : i32 to f32
  %b = arith.truncf %a : f32 to bf16
  %c = arith.uitofp %x : i32 to f32
  %d = arith.truncf %c : f32 to bf16
  %e = arith.sitofp %y : i16 to f32
  %f = arith.truncf %e : f32 to bf16
  return %b, %d, %f : bf16, bf16, bf16
}

// What the mask leaves out has no part in a reduction.
// CHECK-LABEL: func.func @masked
// CHECK: vector.mask %{{.*}} { vector.multi_reduction
// CHECK: vector.mask %{{.*}} { vector.reduction
// CHECK-LABEL: func.func @not_masked
// CHECK-NOT: reduction
func.func @masked(%m: vector<1x4xi1>, %a: vector<1x4xi32>, %b: vector<4xi32>,
                  %n: vector<1xi1>, %c: vector<1xi32>) -> (vector<4xi32>, i32) {
  %0 = vector.mask %m { vector.multi_reduction <add>, %a, %b [0] : vector<1x4xi32> to vector<4xi32> } : vector<1x4xi1> -> vector<4xi32>
  %1 = vector.mask %n { vector.reduction <add>, %c : vector<1xi32> into i32 } : vector<1xi1> -> i32
  return %0, %1 : vector<4xi32>, i32
}
func.func @not_masked(%a: vector<1x4xi32>, %b: vector<4xi32>, %c: vector<1xi32>) -> (vector<4xi32>, i32) {
  %0 = vector.multi_reduction <add>, %a, %b [0] : vector<1x4xi32> to vector<4xi32>
  %1 = vector.reduction <add>, %c : vector<1xi32> into i32
  return %0, %1 : vector<4xi32>, i32
}

// Sizes that are constants are made static, but not where that would have to say
// which dimensions the source lacks.
// CHECK-LABEL: func.func @insert_expanding
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0, 0, 0] [1, %{{.*}}, 1, %{{.*}}]
// CHECK-LABEL: func.func @insert
// CHECK: tensor.insert_slice %{{.*}} into %{{.*}}[0, 0] [2, 2]
func.func @insert_expanding(%x: tensor<1x?x?xf32>, %y: tensor<1x?x1x?xf32>) -> tensor<1x?x1x?xf32> {
  %c2 = arith.constant 2 : index
  %i = tensor.insert_slice %x into %y[0, 0, 0, 0] [1, %c2, 1, %c2] [1, 1, 1, 1] : tensor<1x?x?xf32> into tensor<1x?x1x?xf32>
  return %i : tensor<1x?x1x?xf32>
}
func.func @insert(%x: tensor<?x?xf32>, %y: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %c2 = arith.constant 2 : index
  %i = tensor.insert_slice %x into %y[0, 0] [%c2, %c2] [1, 1] : tensor<?x?xf32> into tensor<?x?xf32>
  return %i : tensor<?x?xf32>
}

// 32 bits are not all of an index, 64 are.
// CHECK-LABEL: func.func @casts
// CHECK-SAME: (%[[X:.*]]: index)
// CHECK: arith.index_cast %[[X]] : index to i32
// CHECK: arith.index_castui %[[X]] : index to i32
// CHECK: return %{{.*}}, %{{.*}}, %[[X]]
func.func @casts(%x: index) -> (index, index, index) {
  %a = arith.index_cast %x : index to i32
  %b = arith.index_cast %a : i32 to index
  %c = arith.index_castui %x : index to i32
  %d = arith.index_castui %c : i32 to index
  %e = arith.index_cast %x : index to i64
  %f = arith.index_cast %e : i64 to index
  return %b, %d, %f : index, index, index
}

// One sum of two, but where both do not wrap around.
// CHECK-LABEL: func.func @flags
// CHECK: %[[A:.*]] = arith.addi %{{.*}}, %c100_i8 overflow<nsw>
// CHECK: arith.addi %[[A]], %c100_i8 overflow<nsw>
// CHECK: arith.addi %{{.*}}, %c-56_i8 : i8
func.func @flags(%x: i8) -> (i8, i8) {
  %c100 = arith.constant 100 : i8
  %a = arith.addi %x, %c100 overflow<nsw> : i8
  %b = arith.addi %a, %c100 overflow<nsw> : i8
  %c = arith.addi %x, %c100 : i8
  %d = arith.addi %c, %c100 overflow<nsw> : i8
  return %b, %d : i8, i8
}

// The load reads what was stored.
// CHECK-LABEL: func.func @load_of_to_buffer
// CHECK: memref.store
// CHECK: %[[NEW:.*]] = memref.load
// CHECK: return %[[NEW]]
func.func @load_of_to_buffer(%t: tensor<3xf32>, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %m = bufferization.to_buffer %t : tensor<3xf32> to memref<3xf32>
  memref.store %x, %m[%c0] : memref<3xf32>
  %v = memref.load %m[%c0] : memref<3xf32>
  return %v : f32
}

// A loop that nothing reaches goes away; no op of it comes to use itself.
// CHECK-LABEL: func.func @unreached
// CHECK-NEXT: return
func.func @unreached(%m: memref<?xindex>) {
  %false = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.cond_br %false, ^loop(%c0 : index), ^end
^loop(%i: index):
  %isLess = arith.cmpi slt, %i, %c1 : index
  cf.cond_br %isLess, ^body, ^end
^body:
  %next = arith.addi %i, %c1 : index
  memref.store %next, %m[%c0] : memref<?xindex>
  cf.cond_br %false, ^end, ^loop(%next : index)
^end:
  return
}

// One iteration, and a cast output: inserts in another order than the outputs.
// CHECK-LABEL: func.func @forall_order
// CHECK: scf.forall
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[SECOND:.*]][
// CHECK: return
func.func @forall_order(%x: tensor<3xf32>, %y: tensor<3xf32>, %p: tensor<1xf32>, %q: tensor<1xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %f:2 = scf.forall (%i) in (1) shared_outs(%o = %x, %u = %y) -> (tensor<3xf32>, tensor<3xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %u[1] [1] [1] : tensor<1xf32> into tensor<3xf32>
      tensor.parallel_insert_slice %q into %o[1] [1] [1] : tensor<1xf32> into tensor<3xf32>
    }
  }
  return %f#0, %f#1 : tensor<3xf32>, tensor<3xf32>
}

// CHECK-LABEL: func.func @forall_cast
// CHECK: %[[CAST:.*]] = tensor.cast
// CHECK: scf.forall {{.*}} shared_outs(%[[O:.*]] = %[[CAST]], %[[U:.*]] = %{{.*}})
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[U]][
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[O]][
func.func @forall_cast(%x: tensor<4xf32>, %y: tensor<4xf32>, %p: tensor<1xf32>, %q: tensor<1xf32>) -> (tensor<?xf32>, tensor<4xf32>) {
  %d = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %f:2 = scf.forall (%i) in (4) shared_outs(%o = %d, %u = %y) -> (tensor<?xf32>, tensor<4xf32>) {
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %p into %u[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
      tensor.parallel_insert_slice %q into %o[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>
    }
  }
  return %f#0, %f#1 : tensor<?xf32>, tensor<4xf32>
}
