// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ops whose operands are not of the sizes that they want fail at their place, before
// they read or write anything; with the right sizes they compute. %n is a size of a
// tensor that the program makes, so that no caller could see what is wrong.
// DEFINE: %{right} = gpu-runner -O0 --device=cpu --offload=error %s --input=8xf32=1,2,3,4,5,6,7,8
// DEFINE: %{wrong} = not gpu-runner -O0 --device=cpu %s --input=8xf32=1,2,3,4,5,6,7,8
// RUN: %{right} -e elementwise --input=8 | FileCheck %s --check-prefix=ELEMENTWISE
// RUN: %{wrong} -e elementwise --input=7 2>&1 | FileCheck %s --check-prefix=NO-ELEMENTWISE
// RUN: %{right} -e select --input=8 | FileCheck %s --check-prefix=SELECT
// RUN: %{wrong} -e select --input=3 2>&1 | FileCheck %s --check-prefix=NO-SELECT
// RUN: %{right} -e generic --input=8 | FileCheck %s --check-prefix=GENERIC
// RUN: %{wrong} -e generic --input=9 2>&1 | FileCheck %s --check-prefix=NO-SLICE
// RUN: %{wrong} -e generic --input=6 2>&1 | FileCheck %s --check-prefix=NO-GENERIC
// RUN: %{right} -e computed --input=3 | FileCheck %s --check-prefix=COMPUTED
// RUN: %{wrong} -e computed --input=4 2>&1 | FileCheck %s --check-prefix=NO-COMPUTED
// RUN: %{right} -e computed --input=0 | FileCheck %s --check-prefix=EMPTY
// RUN: %{right} -e cast --input=5 | FileCheck %s --check-prefix=CAST
// RUN: %{wrong} -e cast --input=4 2>&1 | FileCheck %s --check-prefix=NO-CAST
// RUN: %{right} -e slice --input=6 | FileCheck %s --check-prefix=SLICE
// RUN: %{wrong} -e slice --input=7 2>&1 | FileCheck %s --check-prefix=NO-PLACE
// RUN: %{wrong} -e slice --input=-1 2>&1 | FileCheck %s --check-prefix=NO-PLACE
// RUN: %{wrong} -e slice --input=9223372036854775807 2>&1 | FileCheck %s --check-prefix=NO-PLACE
// RUN: %{right} -e insert --input=7 | FileCheck %s --check-prefix=INSERT
// RUN: %{wrong} -e insert --input=8 2>&1 | FileCheck %s --check-prefix=NO-INSERT
// RUN: %{right} -e insert_slice --input=2 | FileCheck %s --check-prefix=INSERT-SLICE
// RUN: %{wrong} -e insert_slice --input=3 2>&1 | FileCheck %s --check-prefix=NO-INSERT-SLICE
// RUN: %{right} -e expand --input=4 | FileCheck %s --check-prefix=EXPAND
// RUN: %{wrong} -e expand --input=5 2>&1 | FileCheck %s --check-prefix=NO-EXPAND
// RUN: %{right} -e reshape --input=4 | FileCheck %s --check-prefix=RESHAPE
// RUN: %{wrong} -e reshape --input=3 2>&1 | FileCheck %s --check-prefix=NO-RESHAPE
// RUN: gpu-runner --device=cpu %s -e reshape_memory --input=6xf32=1,2,3,4,5,6 --input=2xi64=3,2 | FileCheck %s --check-prefix=MEMORY
// RUN: not gpu-runner --device=cpu %s -e reshape_memory --input=6xf32=1,2,3,4,5,6 --input=2xi64=2,400000 2>&1 | FileCheck %s --check-prefix=NO-MEMORY
// RUN: not gpu-runner --device=cpu %s -e reshape_memory --input=6xf32=1,2,3,4,5,6 --input=2xi64=-3,-2 2>&1 | FileCheck %s --check-prefix=NO-MEMORY
// RUN: not gpu-runner --device=cpu %s -e reshape_memory --input=0xf32 --input=2xi64=4294967296,4294967296 2>&1 | FileCheck %s --check-prefix=NO-MEMORY
// RUN: not gpu-runner --device=cpu %s -e reshape_known --input=6xf32=1,2,3,4,5,6 --input=2xi64=3,2 2>&1 | FileCheck %s --check-prefix=NO-KNOWN
// RUN: %{right} -e remainder --input=4 | FileCheck %s --check-prefix=REMAINDER
// RUN: %{wrong} -e remainder --input=3 2>&1 | FileCheck %s --check-prefix=NO-REMAINDER
// RUN: gpu-runner --device=cpu %s -e remainder --input=3xf32=1,2,3 --input=3 | FileCheck %s --check-prefix=FEW
// RUN: %{right} -e quotient --input=4 | FileCheck %s --check-prefix=QUOTIENT
// RUN: %{wrong} -e quotient --input=3 2>&1 | FileCheck %s --check-prefix=NO-QUOTIENT
// RUN: %{right} -e rounded_up --input=4 | FileCheck %s --check-prefix=ROUNDED-UP
// RUN: %{wrong} -e rounded_up --input=3 2>&1 | FileCheck %s --check-prefix=NO-ROUNDED-UP
// RUN: %{right} -e divided --input=4 | FileCheck %s --check-prefix=DIVIDED
// RUN: %{wrong} -e divided --input=3 2>&1 | FileCheck %s --check-prefix=NO-DIVIDED
// RUN: %{right} -e negated --input=4 | FileCheck %s --check-prefix=NEGATED
// RUN: %{wrong} -e negated --input=3 2>&1 | FileCheck %s --check-prefix=NO-NEGATED
// RUN: %{right} -e batch --input=0 | FileCheck %s --check-prefix=BATCH
// RUN: %{wrong} -e batch --input=2 2>&1 | FileCheck %s --check-prefix=NO-BATCH
// RUN: %{wrong} -e constant --input=2 2>&1 | FileCheck %s --check-prefix=NO-CONSTANT
// RUN: %{wrong} -e difference --input=2 2>&1 | FileCheck %s --check-prefix=NO-DIFFERENCE
// RUN: gpu-runner --device=cpu %s -e no_elements --input=3xf32=1,2,3 --input=3 | FileCheck %s --check-prefix=NO-ELEMENTS
// RUN: %{right} -e concat --input=4 | FileCheck %s --check-prefix=CONCAT
// RUN: %{wrong} -e concat --input=3 2>&1 | FileCheck %s --check-prefix=NO-CONCAT
// RUN: %{right} -e subview --input=5 --output=- | FileCheck %s --check-prefix=SUBVIEW
// RUN: %{wrong} -e subview --input=6 2>&1 | FileCheck %s --check-prefix=NO-SUBVIEW
// RUN: %{wrong} -e subview --input=-1 2>&1 | FileCheck %s --check-prefix=NO-SUBVIEW
// RUN: %{wrong} -e far --input=8 2>&1 | FileCheck %s --check-prefix=NO-FAR
// RUN: %{right} -e far --input=1 | FileCheck %s --check-prefix=FAR
// RUN: %{right} -e concat_cast --input=4 | FileCheck %s --check-prefix=CONCAT-CAST
// RUN: %{wrong} -e concat_cast --input=3 2>&1 | FileCheck %s --check-prefix=NO-CONCAT-CAST
// RUN: %{right} -e gather_cast --input=5 | FileCheck %s --check-prefix=GATHER-CAST
// RUN: %{wrong} -e gather_cast --input=4 2>&1 | FileCheck %s --check-prefix=NO-GATHER-CAST
// RUN: %{right} -e pad --input=2 | FileCheck %s --check-prefix=PAD
// RUN: %{wrong} -e pad --input=1 2>&1 | FileCheck %s --check-prefix=NO-PAD
// RUN: %{right} -e put --input=8 --output=- | FileCheck %s --check-prefix=PUT
// RUN: %{wrong} -e put --input=7 2>&1 | FileCheck %s --check-prefix=NO-PUT
// RUN: %{right} -e negative --input=0 | FileCheck %s --check-prefix=NOTHING
// RUN: %{wrong} -e negative --input=-3 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: %{right} -e loop --input=8 | FileCheck %s --check-prefix=LOOP
// RUN: %{wrong} -e loop --input=5 2>&1 | FileCheck %s --check-prefix=NO-LOOP
// RUN: %{right} -e branch --input=3 | FileCheck %s --check-prefix=BRANCH
// RUN: %{wrong} -e branch --input=5 2>&1 | FileCheck %s --check-prefix=NO-BRANCH
// RUN: %{right} -e pack --input=8 | FileCheck %s --check-prefix=PACK
// RUN: %{wrong} -e pack --input=6 2>&1 | FileCheck %s --check-prefix=NO-PACK
// RUN: gpu-runner --device=cpu %s -e copy --input=8xf32=1,2,3,4,5,6,7,8 --input=8xf32 --input=8 --output= --output=- | FileCheck %s --check-prefix=COPY
// RUN: not gpu-runner --device=cpu %s -e copy --input=8xf32=1,2,3,4,5,6,7,8 --input=8xf32 --input=3 2>&1 | FileCheck %s --check-prefix=NO-COPY

// ELEMENTWISE: 8xf32=2 4 6 8 10 12 14 16
func.func @elementwise(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %z = math.absf %y : tensor<?xf32>
  // NO-ELEMENTWISE: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: arith.addf: operands differ in the size of dimension 0
  %r = arith.addf %x, %z : tensor<?xf32>
  return %r : tensor<?xf32>
}

// SELECT: 8xf32=1 2 3 4 25 36 49 64
func.func @select(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %four = arith.constant 4.0 : f32
  %t = tensor.splat %four[%n] : tensor<?xf32>
  %m = arith.cmpf ogt, %y, %t : tensor<?xf32>
  %s = arith.mulf %x, %x : tensor<?xf32>
  // NO-SELECT: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: arith.select: operands differ in the size of dimension 0
  %r = arith.select %m, %s, %x : tensor<?xi1>, tensor<?xf32>
  return %r : tensor<?xf32>
}

// GENERIC: 8xf32=2 4 6 8 10 12 14 16
func.func @generic(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  // NO-SLICE: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.extract_slice reads outside of its source, in dimension 0
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  // NO-GENERIC: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: dimension 0 of operand 1 is not of the size of dimension 0 of operand 0
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// Element 2 i + 3 of eight, for i up to n.
// COMPUTED: 3xf32=4 6 8
// EMPTY: 0xf32=
func.func @computed(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %e = tensor.empty(%n) : tensor<?xf32>
  // NO-COMPUTED: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 0
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (2 * i + 3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// CAST: 5xf32=2 4 6 8 10
func.func @cast(%x: tensor<8xf32>, %n: index) -> tensor<5xf32> {
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
  // NO-CAST: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.cast: dimension 0 is not of the size 5
  %z = tensor.cast %y : tensor<?xf32> to tensor<5xf32>
  %r = arith.addf %z, %z : tensor<5xf32>
  return %r : tensor<5xf32>
}

// SLICE: 2xf32=14 16
func.func @slice(%x: tensor<?xf32>, %n: index) -> tensor<2xf32> {
  // NO-PLACE: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.extract_slice reads outside of its source, in dimension 0
  %y = tensor.extract_slice %x[%n] [2] [1] : tensor<?xf32> to tensor<2xf32>
  %r = arith.addf %y, %y : tensor<2xf32>
  return %r : tensor<2xf32>
}

// INSERT: 8xf32=1 2 3 4 5 6 7 9
func.func @insert(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %v = arith.constant 9.0 : f32
  // NO-INSERT: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.insert writes outside of its destination, in dimension 0
  %r = tensor.insert %v into %x[%n] : tensor<?xf32>
  return %r : tensor<?xf32>
}

// INSERT-SLICE: 8xf32=1 2 3 4 5 1 2 8
func.func @insert_slice(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %c2 = arith.constant 2 : index
  // NO-INSERT-SLICE: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.insert_slice: dimension 0 of the source is not of the slice's size
  %r = tensor.insert_slice %y into %x[5] [%c2] [1] : tensor<?xf32> into tensor<?xf32>
  return %r : tensor<?xf32>
}

// EXPAND: 4x2xf32=[2 4][6 8][10 12][14 16]
func.func @expand(%x: tensor<?xf32>, %n: index) -> tensor<?x2xf32> {
  // NO-EXPAND: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.expand_shape: the sizes that dimension 0 becomes do not multiply to its size
  %y = tensor.expand_shape %x [[0, 1]] output_shape [%n, 2] : tensor<?xf32> into tensor<?x2xf32>
  %r = arith.addf %y, %y : tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}

// RESHAPE: 4x2xf32=[2 4][6 8][10 12][14 16]
func.func @reshape(%x: tensor<?xf32>, %n: index) -> tensor<?x2xf32> {
  %c2 = arith.constant 2 : index
  %s = tensor.from_elements %n, %c2 : tensor<2xindex>
  // NO-RESHAPE: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.reshape: the new shape has another number of elements
  %y = tensor.reshape %x(%s) : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x2xf32>
  %r = arith.addf %y, %y : tensor<?x2xf32>
  return %r : tensor<?x2xf32>
}

// CONCAT: 4x4xf32=[1 2 1 2][3 4 3 4][5 6 5 6][7 8 7 8]
func.func @concat(%x: tensor<8xf32>, %n: index) -> tensor<?x4xf32> {
  %a = tensor.expand_shape %x [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  %b = tensor.extract_slice %a[0, 0] [%n, 2] [1, 1] : tensor<4x2xf32> to tensor<?x2xf32>
  %c = tensor.cast %a : tensor<4x2xf32> to tensor<?x2xf32>
  // NO-CONCAT: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.concat: operands differ in the size of dimension 0
  %r = tensor.concat dim(1) %c, %b : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// NOTHING: 0xf32=
func.func @negative(%x: tensor<8xf32>, %n: index) -> tensor<?xf32> {
  %v = arith.constant 9.0 : f32
  // NEGATIVE: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.splat: a size is negative
  %r = tensor.splat %v[%n] : tensor<?xf32>
  return %r : tensor<?xf32>
}

// What each round checks alike is checked in front of the loop, if there is a round.
// LOOP: 8xf32=4 8 12 16 20 24 28 32
func.func @loop(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%h = %x) -> tensor<?xf32> {
    // NO-LOOP: sizes.mlir:[[@LINE+1]]:10: error: assertion failed: arith.addf: operands differ in the size of dimension 0
    %s = arith.addf %h, %y : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  %none = scf.for %i = %c0 to %c0 step %c1 iter_args(%h = %r) -> tensor<?xf32> {
    %e = tensor.extract_slice %h[0] [0] [1] : tensor<?xf32> to tensor<0xf32>
    %f = tensor.cast %e : tensor<0xf32> to tensor<?xf32>
    %s = arith.addf %h, %f : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %none : tensor<?xf32>
}

// Nothing is checked of an op that does not run.
// BRANCH: 8xf32=1 2 3 4 5 6 7 8
func.func @branch(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c3 = arith.constant 3 : index
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %c = arith.cmpi ne, %n, %c3 : index
  %r = scf.if %c -> tensor<?xf32> {
    // NO-BRANCH: sizes.mlir:[[@LINE+1]]:10: error: assertion failed: arith.addf: operands differ in the size of dimension 0
    %s = arith.addf %x, %y : tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  } else {
    scf.yield %x : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// PACK: 2x4xf32=[1 2 3 4][5 6 7 8]
func.func @pack(%x: tensor<8xf32>, %n: index) -> tensor<2x4xf32> {
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<8xf32> to tensor<?xf32>
  %e = tensor.empty() : tensor<2x4xf32>
  // NO-PACK: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.pack: the tiles of dimension 0 do not hold just its elements
  %r = linalg.pack %y inner_dims_pos = [0] inner_tiles = [4] into %e : tensor<?xf32> -> tensor<2x4xf32>
  return %r : tensor<2x4xf32>
}

// COPY: arg[1]: 8xf32=1 2 3 4 5 6 7 8
func.func @copy(%x: memref<?xf32>, %y: memref<?xf32>, %n: index) {
  %z = memref.reinterpret_cast %y to offset: [0], sizes: [%n], strides: [1] : memref<?xf32> to memref<?xf32>
  // NO-COPY: sizes.mlir:[[@LINE+1]]:3: error: assertion failed: memref.copy: source and destination differ in the size of dimension 0
  memref.copy %x, %z : memref<?xf32> to memref<?xf32>
  return
}

// A cast to a constant size is folded into what makes the tensor, which is checked
// before it runs.
// CONCAT-CAST: 12xf32=1 2 3 4 5 6 7 8 1 2 3 4
func.func @concat_cast(%x: tensor<?xf32>, %n: index) -> tensor<12xf32> {
  %y = tensor.extract_slice %x[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %z = tensor.concat dim(0) %x, %y : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  // NO-CONCAT-CAST: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.cast: dimension 0 is not of the size 12
  %r = tensor.cast %z : tensor<?xf32> to tensor<12xf32>
  return %r : tensor<12xf32>
}

// GATHER-CAST: 5xf32=1 2 3 4 5
func.func @gather_cast(%x: tensor<?xf32>, %n: index) -> tensor<5xf32> {
  %p = tensor.generate %n {
  ^bb0(%i: index, %j: index):
    tensor.yield %i : index
  } : tensor<?x1xindex>
  %g = tensor.gather %x[%p] gather_dims([0]) : (tensor<?xf32>, tensor<?x1xindex>) -> tensor<?xf32>
  // NO-GATHER-CAST: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.cast: dimension 0 is not of the size 5
  %r = tensor.cast %g : tensor<?xf32> to tensor<5xf32>
  return %r : tensor<5xf32>
}

// PAD: 11xf32=0 0 1 2 3 4 5 6 7 8 0
func.func @pad(%x: tensor<?xf32>, %n: index) -> tensor<11xf32> {
  %zero = arith.constant 0.0 : f32
  // NO-PAD: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.pad: dimension 0 is not of the size 11
  %r = tensor.pad %x low[%n] high[1] {
  ^bb0(%i: index):
    tensor.yield %zero : f32
  } : tensor<?xf32> to tensor<11xf32>
  return %r : tensor<11xf32>
}

// PUT: arg[0]: 8xf32=2 4 6 8 10 12 14 16
func.func @put(%m: memref<?xf32>, %n: index) {
  %x = bufferization.to_tensor %m restrict : memref<?xf32> to tensor<?xf32>
  %y = arith.addf %x, %x : tensor<?xf32>
  %z = tensor.extract_slice %y[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  // NO-PUT: sizes.mlir:[[@LINE+1]]:3: error: assertion failed: bufferization.materialize_in_destination: source and destination differ in the size of dimension 0
  bufferization.materialize_in_destination %z in writable %m : (tensor<?xf32>, memref<?xf32>) -> ()
  return
}

// A place that wraps around is not inside.
// FAR: 1xf32=1
func.func @far(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %o = tensor.empty(%n) : tensor<?xf32>
  // NO-FAR: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 0
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i * 9223372036854775807)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<?xf32>) outs(%o : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// SUBVIEW: arg[0]: 8xf32=1 2 3 4 5 0 0 0
func.func @subview(%m: memref<?xf32>, %n: index) {
  %zero = arith.constant 0.0 : f32
  // NO-SUBVIEW: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: memref.subview leaves its source, in dimension 0
  %v = memref.subview %m[%n] [3] [1] : memref<?xf32> to memref<3xf32, strided<[1], offset: ?>>
  linalg.fill ins(%zero : f32) outs(%v : memref<3xf32, strided<[1], offset: ?>>)
  return
}

// A shape that lies in memory. A product that wraps around is not the size.
// MEMORY: 3x2xf32=[1 2][3 4][5 6]
func.func @reshape_memory(%x: tensor<?xf32>, %s: tensor<2xi64>) -> tensor<?x?xf32> {
  // NO-MEMORY: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.reshape: the new shape has another number of elements
  %r = tensor.reshape %x(%s) : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

func.func @reshape_known(%x: tensor<?xf32>, %s: tensor<2xi64>) -> tensor<2x?xf32> {
  // NO-KNOWN: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: tensor.reshape: the new shape has another number of elements
  %r = tensor.reshape %x(%s) : (tensor<?xf32>, tensor<2xi64>) -> tensor<2x?xf32>
  return %r : tensor<2x?xf32>
}

// Remainders and quotients of loops. Of 3 elements no index is 3.
func.func @remainder(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : tensor<?xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  // REMAINDER: result[0]: 4xf32=6 8 10 12
  // FEW: result[0]: 3xf32=1 2 3
  // NO-REMAINDER: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 1
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i mod 4)>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%f : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @quotient(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.generate %n {
  ^bb0(%i: index):
    %j = arith.index_cast %i : index to i64
    %v = arith.sitofp %j : i64 to f32
    tensor.yield %v : f32
  } : tensor<?xf32>
  // QUOTIENT: result[0]: 8xf32=1 3 4 5 7 8 9 11
  // NO-QUOTIENT: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 1
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ((i + 2) floordiv 3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @rounded_up(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.generate %n {
  ^bb0(%i: index):
    %j = arith.index_cast %i : index to i64
    %v = arith.sitofp %j : i64 to f32
    tensor.yield %v : f32
  } : tensor<?xf32>
  // ROUNDED-UP: result[0]: 8xf32=1 2 4 5 7 8 10 11
  // NO-ROUNDED-UP: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 1
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ((i - 1) ceildiv 2)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// The quotient loses its part that the divisor divides: i floordiv 3 + 1.
func.func @divided(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.generate %n {
  ^bb0(%i: index):
    %j = arith.index_cast %i : index to i64
    %v = arith.sitofp %j : i64 to f32
    tensor.yield %v : f32
  } : tensor<?xf32>
  // DIVIDED: result[0]: 8xf32=2 3 4 6 7 8 10 11
  // NO-DIVIDED: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 1
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ((i + 3) floordiv 3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @negated(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %y = tensor.generate %n {
  ^bb0(%i: index):
    %j = arith.index_cast %i : index to i64
    %v = arith.sitofp %j : i64 to f32
    tensor.yield %v : f32
  } : tensor<?xf32>
  // NEGATED: result[0]: 8xf32=4 5 6 6 7 8 8 9
  // NO-NEGATED: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 1
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (3 - i floordiv 3)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<?xf32>, tensor<?xf32>) outs(%x : tensor<?xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?xf32>
  return %r : tensor<?xf32>
}
// Constant sizes beside an open one, and constant sizes alone. Without a batch nothing is read.
func.func @batch(%x: tensor<?xf32>, %n: index) -> tensor<?x8xf32> {
  %one = arith.constant 1.0 : f32
  %e = tensor.empty(%n) : tensor<?x6xf32>
  %f = linalg.fill ins(%one : f32) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>
  %k = arith.constant dense<1.0> : tensor<3xf32>
  %o = tensor.empty(%n) : tensor<?x8xf32>
  %p = linalg.fill ins(%one : f32) outs(%o : tensor<?x8xf32>) -> tensor<?x8xf32>
  // BATCH: result[0]: 0x8xf32
  // NO-BATCH: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 1 of operand 0
  %r = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i + j)>, affine_map<(b, i, j) -> (j)>, affine_map<(b, i, j) -> (b, i)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%f, %k : tensor<?x6xf32>, tensor<3xf32>) outs(%p : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    %s = arith.addf %m, %c : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
func.func @constant(%x: tensor<?xf32>, %n: index) -> tensor<1xf32> {
  %e = arith.constant dense<0.0> : tensor<1xf32>
  // NO-CONSTANT: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 1
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (5)>], iterator_types = ["reduction"]}
      ins(%x : tensor<?xf32>) outs(%e : tensor<1xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<1xf32>
  return %r : tensor<1xf32>
}
func.func @difference(%x: tensor<?xf32>, %n: index) -> tensor<4xf32> {
  %e = arith.constant dense<0.0> : tensor<4xf32>
  %y = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<4x4xf32>
  // NO-DIFFERENCE: sizes.mlir:[[@LINE+1]]:8: error: assertion failed: linalg.generic: indices of the op are outside of dimension 0 of operand 1
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i - j + 3)>], iterator_types = ["reduction", "reduction"]}
      ins(%y : tensor<4x4xf32>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// A constant of no elements has no range.
func.func @no_elements(%x: tensor<?xf32>, %n: index) -> (tensor<?xf32>, tensor<0x0xi32>) {
  // NO-ELEMENTS: result[0]: 3xf32=2 4 6
  %none = arith.constant dense<> : tensor<0x0xi32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %r = linalg.add ins(%x, %x : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %r, %none : tensor<?xf32>, tensor<0x0xi32>
}
