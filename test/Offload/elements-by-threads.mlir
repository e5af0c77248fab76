// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A thread loads several elements before it computes and stores any: up to eight, as
// many as its share, four where the share is not known.
// RUN: gpu-opt %s -split-input-file -gpu-async-launch-tiles=device=gpu -canonicalize -cse | FileCheck %s

#map = affine_map<(i) -> (i)>
// CHECK-LABEL: func @whole(
// CHECK: gpu.launch blocks({{.*}}) threads(%[[T:[^,]*]],
// CHECK: scf.for %{{.*}} = %[[T]] to %c2048 step %c1024
// CHECK-COUNT-4: memref.load
// CHECK-COUNT-4: math.sqrt
// CHECK-NOT: memref.load
// CHECK-COUNT-4: memref.store
// CHECK-NOT: scf.for
// CHECK: gpu.terminator
func.func @whole(%a: memref<4x2048xf32>, %b: memref<4x2048xf32>) {
  scf.forall (%i) in (4) {
    %x = memref.subview %a[%i, 0] [1, 2048] [1, 1] : memref<4x2048xf32> to memref<2048xf32, strided<[1], offset: ?>>
    %y = memref.subview %b[%i, 0] [1, 2048] [1, 1] : memref<4x2048xf32> to memref<2048xf32, strided<[1], offset: ?>>
    // 18 operations, of which four times as many are worth their code.
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : memref<2048xf32, strided<[1], offset: ?>>) outs(%y : memref<2048xf32, strided<[1], offset: ?>>) {
    ^bb0(%e: f32, %o: f32):
      %0 = math.sqrt %e : f32
      %1 = arith.addf %0, %e : f32
      %2 = arith.mulf %1, %e : f32
      %3 = arith.addf %2, %e : f32
      %4 = arith.mulf %3, %e : f32
      %5 = arith.addf %4, %e : f32
      %6 = arith.mulf %5, %e : f32
      %7 = arith.addf %6, %e : f32
      %8 = arith.mulf %7, %e : f32
      %9 = arith.addf %8, %e : f32
      %10 = arith.mulf %9, %e : f32
      %11 = arith.addf %10, %e : f32
      %12 = arith.mulf %11, %e : f32
      %13 = arith.addf %12, %e : f32
      %14 = arith.mulf %13, %e : f32
      %15 = arith.addf %14, %e : f32
      %16 = arith.mulf %15, %e : f32
      linalg.yield %16 : f32
    }
  }
  return
}

// -----

#map = affine_map<(i) -> (i)>
// Nine of a thread are five and four; in place of those behind the last one, of which
// nothing is stored, it loads its first again.
// CHECK-LABEL: func @rest(
// CHECK: gpu.launch blocks({{.*}}) threads(%[[T:[^,]*]],
// CHECK: scf.for %[[FIRST:.*]] = %[[T]] to %c2200 step %c1280
// CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c256
// CHECK: %[[IS_THERE:.*]] = arith.cmpi ult, %[[SECOND]], %c2200
// CHECK: memref.load %{{.*}}[%[[FIRST]]]
// CHECK: %[[OTHER:.*]] = arith.select %[[IS_THERE]], %[[SECOND]], %[[FIRST]]
// CHECK: memref.load %{{.*}}[%[[OTHER]]]
// CHECK-COUNT-3: memref.load
// CHECK-COUNT-5: math.sqrt
// CHECK: memref.store %{{.*}}[%[[FIRST]]]
// CHECK: scf.if %[[IS_THERE]] {
// CHECK-NEXT: memref.store %{{.*}}[%[[OTHER]]]
// CHECK-COUNT-3: memref.store
// CHECK-NOT: memref.store
// CHECK: gpu.terminator
func.func @rest(%a: memref<4x2200xf32>, %b: memref<4x2200xf32>) {
  scf.forall (%i) in (4) {
    %x = memref.subview %a[%i, 0] [1, 2200] [1, 1] : memref<4x2200xf32> to memref<2200xf32, strided<[1], offset: ?>>
    %y = memref.subview %b[%i, 0] [1, 2200] [1, 1] : memref<4x2200xf32> to memref<2200xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : memref<2200xf32, strided<[1], offset: ?>>) outs(%y : memref<2200xf32, strided<[1], offset: ?>>) {
    ^bb0(%e: f32, %o: f32):
      %0 = math.sqrt %e : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

#map = affine_map<(i) -> (i)>
// CHECK-LABEL: func @dynamic(
// CHECK-SAME: %[[N:[^:]*]]: index
// CHECK: gpu.launch blocks({{.*}}) threads(%[[T:[^,]*]],
// CHECK: scf.for %{{.*}} = %[[T]] to %[[N]] step %c1024
// CHECK-COUNT-4: memref.load
// CHECK-COUNT-4: math.sqrt
// CHECK-COUNT-4: memref.store
// CHECK-NOT: memref.store
// CHECK: gpu.terminator
func.func @dynamic(%n: index, %a: memref<4x?xf32>, %b: memref<4x?xf32>) {
  scf.forall (%i) in (4) {
    %x = memref.subview %a[%i, 0] [1, %n] [1, 1] : memref<4x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    %y = memref.subview %b[%i, 0] [1, %n] [1, 1] : memref<4x?xf32> to memref<?xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : memref<?xf32, strided<[1], offset: ?>>) outs(%y : memref<?xf32, strided<[1], offset: ?>>) {
    ^bb0(%e: f32, %o: f32):
      %0 = math.sqrt %e : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

#across = affine_map<(i, j) -> (j, i)>
#along = affine_map<(i, j) -> (i, j)>
// A patch of 8 columns and 4 rows for each subgroup, since rows of the input are
// columns of the output. The tiles at the edge are as large as others for a number's
// digits, which are constants so; a thread some of whose elements are not there
// takes another one of its own, and none does nothing.
// CHECK-LABEL: func @across(
// CHECK: gpu.launch blocks({{.*}}) threads(%[[T:[^,]*]],
// CHECK: %[[ROWS:.*]] = affine.min {{.*}}
// CHECK: scf.for %[[N:.*]] = %[[T]] to %{{.*}} step %c1024
// CHECK: %[[COLUMN:.*]] = arith.remui %[[N]], %c8
// CHECK: %[[PATCH:.*]] = arith.divui %[[N]], %c8
// CHECK: arith.remui %[[PATCH]], %c4
// CHECK: arith.divui %[[PATCH]], %c4
// CHECK: %[[IS_ROW:.*]] = arith.cmpi ult, %{{.*}}, %[[ROWS]]
// CHECK: %[[IS_ANY:.*]] = arith.ori
// CHECK: scf.if %{{.*}} {
// CHECK-COUNT-4: memref.load
// CHECK-NOT: memref.load
// CHECK: math.sqrt
// CHECK: scf.if
// CHECK-NEXT: memref.store
func.func @across(%a: memref<100x100xf32>, %b: memref<100x100xf32>) {
  scf.forall (%i) = (0) to (100) step (32) {
    %n = affine.min affine_map<(i) -> (32, 100 - i)>(%i)
    %x = memref.subview %a[0, %i] [32, %n] [1, 1] : memref<100x100xf32> to memref<32x?xf32, strided<[100, 1], offset: ?>>
    %y = memref.subview %b[%i, 0] [%n, 32] [1, 1] : memref<100x100xf32> to memref<?x32xf32, strided<[100, 1], offset: ?>>
    linalg.generic {indexing_maps = [#across, #along], iterator_types = ["parallel", "parallel"]} ins(%x : memref<32x?xf32, strided<[100, 1], offset: ?>>) outs(%y : memref<?x32xf32, strided<[100, 1], offset: ?>>) {
    ^bb0(%e: f32, %o: f32):
      %0 = math.sqrt %e : f32
      linalg.yield %0 : f32
    }
  }
  return
}

// -----

#map = affine_map<(i) -> (i)>
// Nothing is gained where nothing is loaded from far away.
// CHECK-LABEL: func @fill(
// CHECK: gpu.launch
// CHECK: scf.for
// CHECK: memref.store
// CHECK-NOT: memref.store
// CHECK: gpu.terminator
func.func @fill(%a: memref<4x2048xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) in (4) {
    %x = memref.subview %a[%i, 0] [1, 2048] [1, 1] : memref<4x2048xf32> to memref<2048xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%x : memref<2048xf32, strided<[1], offset: ?>>)
  }
  return
}

// -----

#map = affine_map<(i, j) -> (i, j)>
// Nothing is left over of several dimensions, and a loop of one round is none of the
// block's indices.
// CHECK-LABEL: func @dimensions(
// CHECK: gpu.launch blocks(%[[B:[^,]*]], {{.*}} threads(%[[T:[^,]*]],
// CHECK: memref.subview %{{.*}}[%[[B]], 0, 0]
// CHECK: scf.for %{{.*}} = %[[T]] to %c2048 step %c2048
// CHECK-NOT: scf.for
// CHECK: gpu.terminator
func.func @dimensions(%a: memref<4x2x1024xf32>, %b: memref<4x2x1024xf32>) {
  scf.forall (%one, %i) in (1, 4) {
    %x = memref.subview %a[%i, 0, 0] [1, 2, 1024] [1, 1, 1] : memref<4x2x1024xf32> to memref<2x1024xf32, strided<[1024, 1], offset: ?>>
    %y = memref.subview %b[%i, 0, 0] [1, 2, 1024] [1, 1, 1] : memref<4x2x1024xf32> to memref<2x1024xf32, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]} ins(%x : memref<2x1024xf32, strided<[1024, 1], offset: ?>>) outs(%y : memref<2x1024xf32, strided<[1024, 1], offset: ?>>) {
    ^bb0(%e: f32, %o: f32):
      %0 = math.sqrt %e : f32
      linalg.yield %0 : f32
    }
  }
  return
}
