// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise -canonicalize -cse | FileCheck %s

// The loops that it makes are of dialects that nothing else here loads.
// RUN: gpu-opt %S/../Integration/offload/output-maps.mlir -gpu-async-fuse-elementwise | FileCheck --check-prefix=LOOPS %s
// LOOPS: mapping = [#gpu.block<

// What is elementwise becomes one op, whatever it was written as.
// CHECK-LABEL: func.func @chain
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK-NEXT: math.exp
// CHECK-NEXT: arith.negf
// CHECK-NEXT: linalg.yield
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @chain(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %x = math.exp %s : tensor<?xf32>
  %y = linalg.negf ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}

// -----

// An exp would be computed for each column of the product; a change of indices
// costs nothing.
// CHECK-LABEL: func.func @operand
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME: ins(%{{.*}}, %arg1
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @operand(%a: tensor<8x16xf32>, %b: tensor<4x16xf32>) -> tensor<8x4xf32> {
  %zero = arith.constant 0.0 : f32
  %x = math.exp %a : tensor<8x16xf32>
  %bt = tensor.empty() : tensor<16x4xf32>
  %t = linalg.transpose ins(%b : tensor<4x16xf32>) outs(%bt : tensor<16x4xf32>) permutation = [1, 0]
  %e = tensor.empty() : tensor<8x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  %p = linalg.matmul ins(%x, %t : tensor<8x16xf32>, tensor<16x4xf32>) outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %p : tensor<8x4xf32>
}

// -----

// What two ops use is computed once if it is not cheap, a sum of two for each.
// CHECK-LABEL: func.func @twice
// CHECK: linalg.generic
// CHECK: math.tanh
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: linalg.generic
// CHECK: arith.addf
// CHECK: arith.mulf
// CHECK-NOT: math.tanh
// CHECK: return
func.func @twice(%a: tensor<8xf32>, %b: tensor<8xf32>, %z: tensor<f32>) -> (tensor<f32>, tensor<8xf32>) {
  %t = math.tanh %a : tensor<8xf32>
  %s = linalg.reduce ins(%t : tensor<8xf32>) outs(%z : tensor<f32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %m = arith.mulf %in, %out : f32
      linalg.yield %m : f32
    }
  %x = arith.addf %t, %b : tensor<8xf32>
  %y = arith.mulf %t, %x : tensor<8xf32>
  return %s, %y : tensor<f32>, tensor<8xf32>
}

// -----

// Not so what a loop between the two gives on.
// CHECK-LABEL: func.func @givenOnByALoop
// CHECK: linalg.generic
// CHECK: math.atan
// CHECK: scf.for
// CHECK: linalg.generic
// CHECK: arith.addf
func.func @givenOnByALoop(%a: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<8xf32>
  %x = linalg.map { math.atan } ins(%a : tensor<8xf32>) outs(%e : tensor<8xf32>)
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%each = %a) -> (tensor<8xf32>) {
    scf.yield %x : tensor<8xf32>
  }
  %y = linalg.add ins(%l, %x : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
  return %y, %x : tensor<8xf32>, tensor<8xf32>
}

// What is returned together is computed together: a recurrent network's state.
// CHECK-LABEL: func.func @together
// CHECK: %[[R:.*]]:2 = linalg.generic {{.*}} ins(%arg0, %arg1 :
// CHECK: %[[T:.*]] = math.tanh
// CHECK: %[[Y:.*]] = math.exp %[[T]]
// CHECK: linalg.yield %[[T]], %[[Y]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @together(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %x = arith.mulf %a, %b : tensor<8xf32>
  %t = math.tanh %x : tensor<8xf32>
  %y = math.exp %t : tensor<8xf32>
  return %t, %y : tensor<8xf32>, tensor<8xf32>
}

// -----

// What is computed is padded where it is computed: there is a fill before it.
// CHECK-LABEL: func.func @pad
// CHECK-NOT: tensor.pad
// CHECK: %[[F:.*]] = linalg.fill
// CHECK: %[[V:.*]] = linalg.generic
// CHECK: math.tanh
// CHECK: tensor.insert_slice %[[V]] into %[[F]][1, 0]
func.func @pad(%a: tensor<3x4xf32>) -> tensor<5x4xf32> {
  %t = math.tanh %a : tensor<3x4xf32>
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %t low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<3x4xf32> to tensor<5x4xf32>
  return %p : tensor<5x4xf32>
}

// -----

// A pad of an argument reads each element, a softmax is the ops that it is made
// of.
// CHECK-LABEL: func.func @named
// CHECK-NOT: tensor.pad
// CHECK-NOT: linalg.softmax
// CHECK: linalg.generic
// CHECK: linalg.index 0
// CHECK: arith.cmpi ult, %{{.*}}, %c3
// CHECK: arith.cmpi ult, %{{.*}}, %c4
// CHECK: tensor.extract %arg0
// CHECK: arith.select
// CHECK: math.exp
// CHECK: return
func.func @named(%a: tensor<3x4xf32>) -> tensor<5x4xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %a low[1, 0] high[1, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<3x4xf32> to tensor<5x4xf32>
  %e = tensor.empty() : tensor<5x4xf32>
  %s = linalg.softmax dimension(1) ins(%p : tensor<5x4xf32>) outs(%e : tensor<5x4xf32>) -> tensor<5x4xf32>
  return %s : tensor<5x4xf32>
}

// -----

// What runs backwards is no tile of what it is read from: elements are.
// CHECK-LABEL: func.func @backwards
// CHECK: linalg.generic
// CHECK-NOT: ins(%arg0
// CHECK: linalg.index 0
// CHECK: tensor.extract %arg0
// CHECK: return
func.func @backwards(%a: tensor<9xf32>) -> tensor<9xf32> {
  %e = tensor.empty() : tensor<9xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (-i + 8)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%a : tensor<9xf32>) outs(%e : tensor<9xf32>) {
  ^bb0(%x: f32, %o: f32):
    linalg.yield %x : f32
  } -> tensor<9xf32>
  return %r : tensor<9xf32>
}

// -----

// What two layers add to is added up once: it would be again for each layer
// that comes after.
// CHECK-LABEL: func.func @residual
// CHECK: %[[X:.*]] = linalg.generic {{.*}} ins(%arg0, %arg1 :
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} ins(%[[X]] :
// CHECK: linalg.generic {{.*}} ins(%[[X]], %
// CHECK: math.tanh
func.func @residual(%a: tensor<9xf32>, %b: tensor<9xf32>, %z: tensor<f32>) -> tensor<9xf32> {
  %x = arith.addf %a, %b : tensor<9xf32>
  %s = linalg.reduce ins(%x : tensor<9xf32>) outs(%z : tensor<f32>) dimensions = [0]
    (%in: f32, %out: f32) {
      %m = arith.mulf %in, %out : f32
      linalg.yield %m : f32
    }
  %w = linalg.broadcast ins(%s : tensor<f32>) outs(%a : tensor<9xf32>) dimensions = [0]
  %t = math.tanh %w : tensor<9xf32>
  %y = arith.addf %x, %t : tensor<9xf32>
  return %y : tensor<9xf32>
}

// -----

// A number in each element is the number.
// CHECK-LABEL: func.func @splat
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : f32, tensor<?xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @splat(%a: f32, %x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %s = tensor.splat %a[%n] : tensor<?xf32>
  %r = arith.mulf %s, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}

// A checked lookup that went into what uses it leaves nothing behind.
// CHECK-LABEL: func.func @checked_lookup
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: cf.assert
// CHECK-NOT: linalg.generic
// CHECK: tensor.extract
// CHECK: arith.negf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @checked_lookup(%x: tensor<6x5xf32>, %at: tensor<6xi64>) -> tensor<6xf32> {
  %c5 = arith.constant 5 : index
  %e = tensor.empty() : tensor<6xf32>
  %g = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%at : tensor<6xi64>) outs(%e : tensor<6xf32>) {
  ^bb0(%in: i64, %out: f32):
    %row = linalg.index 0 : index
    %column = arith.index_cast %in : i64 to index
    %fits = arith.cmpi ult, %column, %c5 : index
    cf.assert %fits, "index must be smaller than dim size"
    %v = tensor.extract %x[%row, %column] : tensor<6x5xf32>
    linalg.yield %v : f32
  } -> tensor<6xf32>
  %n = arith.negf %g : tensor<6xf32>
  return %n : tensor<6xf32>
}

// -----

// Read at two places of an op, it is there before: y + y^T.
// CHECK-LABEL: func.func @twice
// CHECK: %[[Y:.*]] = linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} ins(%[[Y]], %[[Y]] :
// CHECK: arith.addf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @twice(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %y = math.exp %x : tensor<8x8xf32>
  %t = linalg.transpose ins(%y : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) permutation = [1, 0]
  %r = arith.addf %y, %t : tensor<8x8xf32>
  return %r : tensor<8x8xf32>
}

// -----

// A sum over an array that is read backwards still knows how many it adds.
// CHECK-LABEL: func.func @backwards
// CHECK: %[[EXTENT:.*]] = tensor.empty() : tensor<9xi8>
// CHECK: linalg.generic {{.*}} ins(%[[EXTENT]] : tensor<9xi8>)
// CHECK: tensor.extract %arg0
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @backwards(%x: tensor<8x9xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x9xf32>
  %s = tensor.empty() : tensor<8xf32>
  %z = linalg.fill ins(%c0 : f32) outs(%s : tensor<8xf32>) -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (7 - d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<8x9xf32>) outs(%e : tensor<8x9xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8x9xf32>
  %r = linalg.reduce {arith.addf} ins(%b : tensor<8x9xf32>) outs(%z : tensor<8xf32>) dimensions = [1]
  return %r : tensor<8xf32>
}

// How many are in a row only the caller knows.
// CHECK-LABEL: func.func @backwards_dynamic
// CHECK: %[[N:.*]] = tensor.dim %arg0, %c1
// CHECK: %[[EXTENT:.*]] = tensor.empty(%[[N]]) : tensor<?xi8>
// CHECK: linalg.generic {{.*}} ins(%[[EXTENT]] : tensor<?xi8>)
func.func @backwards_dynamic(%x: tensor<8x?xf32>, %z: tensor<8xf32>) -> tensor<8xf32> {
  %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (7 - d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8x?xf32>) outs(%z : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %a = arith.addf %in, %out : f32
    linalg.yield %a : f32
  } -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// A product of rows and columns that are repeated: fusion keeps a result that
// nobody reads for how many there are to add, which an operand tells as well.
// CHECK-LABEL: func.func @repeated
// CHECK: %[[EXTENT:.*]] = tensor.empty() : tensor<9xi8>
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1, %[[EXTENT]] : tensor<8xf32>, tensor<5xf32>, tensor<9xi8>) outs(%arg2 : tensor<8x5xf32>)
// CHECK: linalg.yield %{{[0-9]+}} : f32
// CHECK: return
func.func @repeated(%x: tensor<8xf32>, %y: tensor<5xf32>, %z: tensor<8x5xf32>) -> tensor<8x5xf32> {
  %a = tensor.empty() : tensor<8x9xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0)>, affine_map<(d0, d1, d2) -> (d1)>,
                                          affine_map<(d0, d1, d2) -> (7 - d0, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
                         iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %y : tensor<8xf32>, tensor<5xf32>) outs(%a, %z : tensor<8x9xf32>, tensor<8x5xf32>) {
  ^bb0(%row: f32, %column: f32, %copy: f32, %sum: f32):
    %m = arith.mulf %row, %column : f32
    %s = arith.addf %sum, %m : f32
    linalg.yield %row, %s : f32, f32
  } -> (tensor<8x9xf32>, tensor<8x5xf32>)
  return %r#1 : tensor<8x5xf32>
}

// -----

// What reads its output writes it, too: once, not for each column.
// CHECK-LABEL: func.func @readsOutput
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%{{.*}} : tensor<4xf32>) outs(%arg1 : tensor<4xf32>)
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]}
// CHECK: return
#i = affine_map<(i, j) -> (i)>
#one = affine_map<(i) -> (i)>
#all = affine_map<(i, j) -> (i, j)>
func.func @readsOutput(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4x3xf32> {
  %s = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]} ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) {
  ^bb0(%p: f32, %o: f32):
    %1 = arith.addf %o, %p : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  %e = tensor.empty() : tensor<4x3xf32>
  %z = linalg.generic {indexing_maps = [#i, #all], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<4xf32>) outs(%e : tensor<4x3xf32>) {
  ^bb0(%p: f32, %o: f32):
    %1 = arith.mulf %p, %p : f32
    linalg.yield %1 : f32
  } -> tensor<4x3xf32>
  return %z : tensor<4x3xf32>
}

// -----

// Sums of 16 bits are taken in f32 and rounded once.
// CHECK-LABEL: func.func @wide_sums
// CHECK: linalg.fill ins(%{{.*}} : f32)
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1 : tensor<8x900xbf16>, tensor<900x5xbf16>) outs(%{{.*}} : tensor<8x5xf32>)
// CHECK: arith.extf
// CHECK: arith.extf
// CHECK: arith.mulf {{.*}} : f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf {{.*}} : f32 to bf16
func.func @wide_sums(%x: tensor<8x900xbf16>, %y: tensor<900x5xbf16>) -> tensor<8x5xbf16> {
  %zero = arith.constant 0.0 : bf16
  %e = tensor.empty() : tensor<8x5xbf16>
  %f = linalg.fill ins(%zero : bf16) outs(%e : tensor<8x5xbf16>) -> tensor<8x5xbf16>
  %r = linalg.matmul ins(%x, %y : tensor<8x900xbf16>, tensor<900x5xbf16>) outs(%f : tensor<8x5xbf16>) -> tensor<8x5xbf16>
  return %r : tensor<8x5xbf16>
}
// CHECK-LABEL: func.func @wide_sum
// CHECK: arith.extf %{{.*}} : f16 to f32
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.truncf
func.func @wide_sum(%x: tensor<8x900xf16>, %z: tensor<8xf16>) -> tensor<8xf16> {
  %r = linalg.reduce {arith.addf} ins(%x : tensor<8x900xf16>) outs(%z : tensor<8xf16>) dimensions = [1]
  return %r : tensor<8xf16>
}

// -----

// What reads or writes memory stays where it is, used or not, and so does an
// assertion that nobody needs.
// CHECK-LABEL: func.func @effects
// CHECK: linalg.generic
// CHECK: memref.load
// CHECK: linalg.generic
// CHECK: memref.store
// CHECK: linalg.generic
// CHECK: cf.assert
// CHECK: linalg.fill
// CHECK: linalg.generic
// CHECK: arith.mulf
#map = affine_map<(d0) -> (d0)>
func.func @effects(%x: tensor<8xf32>, %m: memref<8xf32>, %n: memref<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8xf32>
  %a = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    %v = memref.load %m[%i] : memref<8xf32>
    %s = arith.addf %v, %in : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  %b = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %i = linalg.index 0 : index
    memref.store %in, %n[%i] : memref<8xf32>
    linalg.yield %in : f32
  } -> tensor<8xf32>
  %c = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %ok = arith.cmpf oge, %in, %zero : f32
    cf.assert %ok, "negative"
    linalg.yield %in : f32
  } -> tensor<8xf32>
  linalg.fill ins(%zero : f32) outs(%m : memref<8xf32>)
  %r = arith.mulf %a, %x : tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

// What an op reads of a fill that it overwrites is the fill's value, so that a
// sum of an outer product reads two vectors.
// CHECK-LABEL: func.func @outer_sum
// CHECK: linalg.generic
// CHECK-SAME: iterator_types = ["reduction", "parallel"]
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<100xf32>, tensor<3xf32>) outs(%{{.*}} : tensor<3xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @outer_sum(%v: tensor<100xf32>, %w: tensor<3xf32>) -> tensor<3xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<100x3xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<100x3xf32>) -> tensor<100x3xf32>
  %o = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%v, %w : tensor<100xf32>, tensor<3xf32>) outs(%f : tensor<100x3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %q : f32
  } -> tensor<100x3xf32>
  %e1 = tensor.empty() : tensor<3xf32>
  %f1 = linalg.fill ins(%one : f32) outs(%e1 : tensor<3xf32>) -> tensor<3xf32>
  %r = linalg.reduce { arith.addf } ins(%o : tensor<100x3xf32>) outs(%f1 : tensor<3xf32>) dimensions = [0]
  return %r : tensor<3xf32>
}

// -----

// A result that nobody reads is not written: what was there is an input, as the
// op reads it, transposed. Results that are read stay.
// CHECK: #[[$SWAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @unused_result
// CHECK-SAME: %[[V:.*]]: tensor<100xf32>, %[[START:.*]]: tensor<3x100xf32>
// CHECK: linalg.generic
// CHECK-SAME: #[[$SWAP]]
// CHECK-SAME: ins(%[[V]], %[[START]] : tensor<100xf32>, tensor<3x100xf32>) outs(%{{.*}} : tensor<3xf32>)
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @unused_result(%v: tensor<100xf32>, %start: tensor<3x100xf32>) -> tensor<3xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<3xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<3xf32>) -> tensor<3xf32>
  %r:2 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (j)>], iterator_types = ["reduction", "parallel"]} ins(%v : tensor<100xf32>) outs(%start, %f1 : tensor<3x100xf32>, tensor<3xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %c, %p : f32
    linalg.yield %p, %q : f32, f32
  } -> (tensor<3x100xf32>, tensor<3xf32>)
  return %r#1 : tensor<3xf32>
}

// -----

// The constant that a sum begins with is filled in; a number is passed by value.
// CHECK-LABEL: func.func @sumFromConstant(
// CHECK-SAME: %[[X:.*]]: tensor<64xf32>, %[[N:.*]]: f32)
// CHECK-NOT: tensor.from_elements
// CHECK: %[[F:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<f32>)
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<64xf32>) outs(%[[F]] : tensor<f32>)
// CHECK: arith.mulf %{{.*}}, %[[N]] : f32
func.func @sumFromConstant(%x: tensor<64xf32>, %n: f32) -> tensor<f32> {
  %begin = arith.constant dense<3.0> : tensor<f32>
  %t = tensor.from_elements %n : tensor<f32>
  %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> ()>, affine_map<(d) -> ()>], iterator_types = ["reduction"]} ins(%x, %t : tensor<64xf32>, tensor<f32>) outs(%begin : tensor<f32>) {
  ^bb0(%v: f32, %k: f32, %o: f32):
    %p = arith.mulf %v, %k : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// RUN: gpu-opt %s -split-input-file -gpu-async-fuse-elementwise --remarks-filter=gpu-async-fuse-elementwise --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Fused | Category:gpu-async-fuse-elementwise | Function=chain | ops-after=1, ops-before=3{{$}}
