// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What MLIR 22.1 makes wrong code of, by its own passes: docs/reference/Upstream.md. A line
// that fails here says that MLIR is mended: the guard in lib/Upstream, or the
// expansion that is named, can go.
// REQUIRES: mlir-opt
// RUN: split-file %s %t
// RUN: mlir-opt %t/canonicalize.mlir -canonicalize | FileCheck %t/canonicalize.mlir
// RUN: mlir-opt %t/unreached.mlir -canonicalize="max-iterations=1 max-num-rewrites=20 region-simplify=disabled" | FileCheck %t/unreached.mlir
// RUN: not mlir-opt %t/insert.mlir -canonicalize 2>&1 | FileCheck %t/insert.mlir
// RUN: mlir-opt %t/switch.mlir -convert-scf-to-cf | FileCheck %t/switch.mlir
// RUN: not --crash mlir-opt %t/subview.mlir -expand-strided-metadata 2>&1 | FileCheck %t/subview.mlir
// RUN: mlir-opt %t/affine.mlir -lower-affine -canonicalize | FileCheck %t/affine.mlir
// RUN: mlir-opt %t/index.mlir -convert-index-to-llvm | FileCheck %t/index.mlir
// RUN: mlir-opt %t/arith.mlir -arith-expand | FileCheck %t/arith.mlir
// RUN: mlir-opt %t/math.mlir -math-expand-ops | FileCheck %t/math.mlir
// RUN: mlir-opt %t/complex.mlir -convert-complex-to-standard | FileCheck %t/complex.mlir
// RUN: mlir-opt %t/nvvm.mlir -convert-gpu-to-nvvm | FileCheck %t/nvvm.mlir

//--- canonicalize.mlir
// LoadOfToBuffer: what was stored in between is not seen.
// CHECK-LABEL: func.func @load_of_to_buffer
// CHECK: memref.store
// CHECK: %[[OLD:.*]] = tensor.extract
// CHECK: return %[[OLD]]
func.func @load_of_to_buffer(%t: tensor<3xf32>, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %m = bufferization.to_buffer %t : tensor<3xf32> to memref<3xf32>
  memref.store %x, %m[%c0] : memref<3xf32>
  %v = memref.load %m[%c0] : memref<3xf32>
  return %v : f32
}

// WhileMoveIfDown: the second value that the body gets is that of the last round,
// 100.
// CHECK-LABEL: func.func @while
// CHECK: do {
// CHECK: scf.yield %c100_i64
func.func @while(%n: i64) -> i64 {
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
    scf.yield %b : i64
  }
  return %r#2 : i64
}

// TruncFSIToFPToSIToFP, TruncFUIToFPToUIToFP: of 0x20200001 the program makes
// 0x1.00p29, this 0x1.02p29.
// CHECK-LABEL: func.func @rounds_twice
// CHECK: arith.sitofp %{{.*}} : i32 to bf16
// CHECK: arith.uitofp %{{.*}} : i32 to bf16
func.func @rounds_twice(%x: i32) -> (bf16, bf16) {
  %a = arith.sitofp %x : i32 to f32
  %b = arith.truncf %a : f32 to bf16
  %c = arith.uitofp %x : i32 to f32
  %d = arith.truncf %c : f32 to bf16
  return %b, %d : bf16, bf16
}

// ForOpTensorCastFolder: the loop's tensor gets the size of the first one, and
// a slice of all of that changes nothing.
// CHECK-LABEL: func.func @changes_size
// CHECK-NOT: scf.for
// CHECK: return
func.func @changes_size(%x: tensor<7xi32>, %n: index, %k: index) -> tensor<?xi32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c = tensor.cast %x : tensor<7xi32> to tensor<?xi32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %c) -> tensor<?xi32> {
    %u = tensor.extract_slice %t[0] [%k] [1] : tensor<?xi32> to tensor<?xi32>
    scf.yield %u : tensor<?xi32>
  }
  return %r : tensor<?xi32>
}

// ConvertTrivialIfToSelect, CombineNestedIfs, SimplifyCondBranchIdenticalSuccessors:
// selects of whole tensors. convert-elementwise-to-linalg makes loops of the first
// one's size of them.
// CHECK-LABEL: func.func @chosen
// CHECK: arith.select %{{.*}} : tensor<?xf32>
func.func @chosen(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: i1) -> tensor<?xf32> {
  %r = scf.if %p -> tensor<?xf32> {
    scf.yield %x : tensor<?xf32>
  } else {
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func @chosen_by_two
// CHECK: arith.select %{{.*}} : tensor<?xf32>
func.func @chosen_by_two(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: i1, %q: i1) -> tensor<?xf32> {
  %r = scf.if %p -> tensor<?xf32> {
    %s = scf.if %q -> tensor<?xf32> {
      scf.yield %x : tensor<?xf32>
    } else {
      scf.yield %y : tensor<?xf32>
    }
    scf.yield %s : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
// CHECK-LABEL: func.func @one_successor
// CHECK: arith.select %{{.*}} : tensor<?xf32>
func.func @one_successor(%x: tensor<?xf32>, %y: tensor<?xf32>, %p: i1) -> tensor<?xf32> {
  cf.cond_br %p, ^end(%x : tensor<?xf32>), ^end(%y : tensor<?xf32>)
^end(%r: tensor<?xf32>):
  return %r : tensor<?xf32>
}

// ElideUnitDimsInMultiDimReduction: lanes that are left out are the source.
// CHECK-LABEL: func.func @masked
// CHECK: %[[SOURCE:.*]] = vector.shape_cast %{{.*}} : vector<1x4xi32> to vector<4xi32>
// CHECK: arith.select %{{.*}}, %{{.*}}, %[[SOURCE]]
func.func @masked(%m: vector<1x4xi1>, %a: vector<1x4xi32>, %b: vector<4xi32>) -> vector<4xi32> {
  %0 = vector.mask %m { vector.multi_reduction <add>, %a, %b [0] : vector<1x4xi32> to vector<4xi32> } : vector<1x4xi1> -> vector<4xi32>
  return %0 : vector<4xi32>
}

// ElideSingleElementReduction: the mask is gone.
// CHECK-LABEL: func.func @masked_alone
// CHECK-NOT: vector.mask
// CHECK-NOT: arith.select
// CHECK: return
func.func @masked_alone(%m: vector<1xi1>, %a: vector<1xi32>) -> i32 {
  %0 = vector.mask %m { vector.reduction <add>, %a : vector<1xi32> into i32 } : vector<1xi1> -> i32
  return %0 : i32
}

// index::CmpOp: x - 2 may wrap around.
// CHECK-LABEL: func.func @compare
// CHECK: index.cmp ule(%{{.*}}, %idx2)
func.func @compare(%x: index) -> i1 {
  %two = index.constant 2
  %n = index.sub %x, %two
  %z = index.constant 0
  %r = index.cmp ule(%n, %z)
  return %r : i1
}

// index::CeilDivSOp: -2 ** 63 / 2 is negative.
// CHECK-LABEL: func.func @ceildivs
// CHECK: index.constant 4611686018427387904
func.func @ceildivs() -> index {
  %m = index.constant -9223372036854775808
  %two = index.constant 2
  %r = index.ceildivs %m, %two
  return %r : index
}

// TransferWriteOp: what is written differs from what was read, where the mask is
// not set.
// CHECK-LABEL: func.func @transfers
// CHECK-NEXT: return %arg0
func.func @transfers(%t: tensor<4xf32>, %m: vector<4xi1>, %p: f32) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %r = vector.transfer_read %t[%c0], %p, %m {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
  %w = vector.transfer_write %r, %t[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  return %w : tensor<4xf32>
}

// TruncIOp: of 256 the program makes 0, this poison.
// CHECK-LABEL: func.func @truncate
// CHECK: arith.trunci %arg0 overflow<nsw> : i64 to i1
func.func @truncate(%x: i64) -> i1 {
  %a = arith.trunci %x : i64 to i8
  %b = arith.trunci %a overflow<nsw> : i8 to i1
  return %b : i1
}

// IndexCastOfIndexCast, IndexCastUIOfIndexCastUI: bits that the first one drops
// are back.
// CHECK-LABEL: func.func @casts
// CHECK-NEXT: return %arg0, %arg0
func.func @casts(%x: index) -> (index, index) {
  %a = arith.index_cast %x : index to i32
  %b = arith.index_cast %a : i32 to index
  %c = arith.index_castui %x : index to i32
  %d = arith.index_castui %c : i32 to index
  return %b, %d : index, index
}

// AddIAddConstant and its like: -100 + 100 + 100 does not wrap around in i8,
// -100 - 56 does.
// CHECK-LABEL: func.func @flags
// CHECK: arith.addi %arg0, %c-56_i8 overflow<nsw>
func.func @flags(%x: i8) -> i8 {
  %c100 = arith.constant 100 : i8
  %a = arith.addi %x, %c100 overflow<nsw> : i8
  %b = arith.addi %a, %c100 overflow<nsw> : i8
  return %b : i8
}

//--- switch.mlir
// Of 2 ** 32 it takes the case of 0.
// CHECK: %[[LOW:.*]] = arith.index_cast %arg0 : index to i32
// CHECK: cf.switch %[[LOW]]
func.func @switch(%x: index) -> i32 {
  %r = scf.index_switch %x -> i32
  case 0 {
    %a = arith.constant 1 : i32
    scf.yield %a : i32
  }
  default {
    %b = arith.constant 2 : i32
    scf.yield %b : i32
  }
  return %r : i32
}

//--- subview.mlir
// SubViewOp::getDroppedDims compares strides of the result with those of the source.
// CHECK: getDroppedDims
func.func @drop(%m: memref<8x8xf32>) -> memref<1xf32, strided<[24]>> {
  %v = memref.subview %m[0, 0] [1, 1] [3, 2] : memref<8x8xf32> to memref<1xf32, strided<[24]>>
  return %v : memref<1xf32, strided<[24]>>
}

//--- insert.mlir
// InsertSliceOpConstantArgumentFolder takes the slice for one in the last three
// dimensions.
// CHECK: 'tensor.cast' op operand type 'tensor<1x?x?xf32>' and result type 'tensor<2x1x2xf32>' are cast incompatible
func.func @insert(%x: tensor<1x?x?xf32>, %y: tensor<1x?x1x?xf32>) -> tensor<1x?x1x?xf32> {
  %c2 = arith.constant 2 : index
  %i = tensor.insert_slice %x into %y[0, 0, 0, 0] [1, %c2, 1, %c2] [1, 1, 1, 1] : tensor<1x?x?xf32> into tensor<1x?x1x?xf32>
  return %i : tensor<1x?x1x?xf32>
}

//--- affine.mlir
// The negated dividend.
// CHECK: arith.subi %c0, %arg0
func.func @ceildiv(%x: index) -> index {
  %a = affine.apply affine_map<(d0) -> (d0 ceildiv 7)>(%x)
  return %a : index
}

//--- index.mlir
// (n + 1) / m of the largest n and m = -1 ends the program, though it is not the
// result.
// CHECK-LABEL: llvm.func @ceildivs
// CHECK-COUNT-2: llvm.sdiv
llvm.func @ceildivs(%a: i64, %b: i64) -> i64 {
  %x = builtin.unrealized_conversion_cast %a : i64 to index
  %y = builtin.unrealized_conversion_cast %b : i64 to index
  %q = index.ceildivs %x, %y
  %r = builtin.unrealized_conversion_cast %q : index to i64
  llvm.return %r : i64
}

//--- arith.mlir
// Of two zeros the second one.
// CHECK: %[[GREATER:.*]] = arith.cmpf ugt, %arg0, %arg1
// CHECK: arith.select %[[GREATER]], %arg0, %arg1
func.func @maximum(%a: f32, %b: f32) -> f32 {
  %0 = arith.maximumf %a, %b : f32
  return %0 : f32
}

//--- math.mlir
// The bounds are exchanged.
// CHECK-LABEL: func.func @clamp
// CHECK: %[[LEAST:.*]] = arith.minimumf %arg0, %arg1
// CHECK: arith.maximumf %[[LEAST]], %arg2
func.func @clamp(%x: f32, %low: f32, %high: f32) -> f32 {
  %0 = math.clampf %x to [%low, %high] : f32
  return %0 : f32
}

//--- complex.mlir
// The NaN of 0 / 0 is taken for that of two infinities, so log1p(-1) is 0.
// CHECK: %[[LEAST:.*]] = arith.minimumf
// CHECK: %[[NAN:.*]] = arith.cmpf uno, %[[SUM:.*]], %[[SUM]]
// CHECK-NEXT: %[[LENGTH:.*]] = arith.select %[[NAN]], %[[LEAST]], %[[SUM]]
// CHECK-NEXT: math.atan2
// CHECK-NEXT: complex.create %[[LENGTH]],
func.func @log1p(%z: complex<f32>) -> complex<f32> {
  %0 = complex.log1p %z : complex<f32>
  return %0 : complex<f32>
}

// The root is taken by its angle: cos(pi / 2) is not 0.
// CHECK-LABEL: func.func @sqrt
// CHECK: %[[HALF:.*]] = arith.mulf %{{.*}}, %cst
// CHECK-NEXT: math.cos %[[HALF]]
func.func @sqrt(%z: complex<f32>) -> complex<f32> {
  %0 = complex.sqrt %z : complex<f32>
  return %0 : complex<f32>
}

// The logarithm of |z|, which may overflow, and is rounded near 1.
// CHECK-LABEL: func.func @log
// CHECK: %[[ROOT:.*]] = math.sqrt
// CHECK: arith.mulf %{{.*}}, %[[ROOT]]
// CHECK: %[[LENGTH:.*]] = arith.select
// CHECK-NEXT: math.log %[[LENGTH]]
func.func @log(%z: complex<f32>) -> complex<f32> {
  %0 = complex.log %z : complex<f32>
  return %0 : complex<f32>
}

//--- nvvm.mlir
// The sum is rounded to single precision first.
// CHECK: llvm.fpext
// CHECK: llvm.call @__nv_fmaf
// CHECK: llvm.fptrunc
gpu.module @k {
  func.func @fma(%x: f16, %y: f16, %z: f16) -> f16 {
    %0 = math.fma %x, %y, %z : f16
    return %0 : f16
  }
}

//--- unreached.mlir
// Blocks of a loop that nothing reaches are merged, and an op uses itself. Without the
// bound the pass does not end: of x + 1 it makes x + 2, at last x + 0, which is x.
// CHECK-LABEL: func.func @unreached
// CHECK: %[[X:.*]] = arith.addi %[[X]], %c
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
