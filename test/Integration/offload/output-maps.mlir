// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Elements of an output that no iteration writes keep what the output held. What several
// iterations write is as if these came one after the other.
// DEFINE: %{cpu} = gpu-runner --device=cpu --check --offload=error %s
// DEFINE: %{gpu} = gpu-runner --device=cpu --check %t.gpu.mlir
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
//
// DEFINE: %{args} = -e diagonal --input=3xi32=1,2,3 --expect=result0=3x3xi32=1,5,5,5,2,5,5,5,3
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e row --input=4xi32=1,2,3,4 --input=3x4xi32=9 --expect=result0=3x4xi32=9,9,9,9,1,2,3,4,9,9,9,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e everyOther --input=3xi32=1,2,3 --input=6xi32=9 --expect=result0=6xi32=1,9,2,9,3,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e backwards --input=4xi32=1,2,3,4 --input=5xi32=9 --expect=result0=5xi32=13,12,11,10,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e backwardsInMemory --input=4xi32=1,2,3,4 --input=5xi32=9 --expect=arg1=5xi32=13,12,11,10,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e sumsOnADiagonal --input=2x300xi32=1 --input=2x2xi32=9 --expect=result0=2x2xi32=309,9,9,309
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e addsToOne --input=300x6xi32=1 --input=300xi32=9 --expect=result0=300xi32=15
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e antidiagonals --input=2x3xi32=1,2,3,4,5,6 --input=5xi32=9 --expect=result0=5xi32=1,4,5,6,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e remainders --input=7xi32=1,2,3,4,5,6,7 --input=4xi32=9 --expect=result0=4xi32=7,5,6,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e lastOfEach --input=3x2xi32=1,2,3,4,5,6 --input=3xi32=7,8,9 --expect=result0=3xi32=2,4,6
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e lastOfEach --input=3x0xi32 --input=3xi32=7,8,9 --expect=result0=3xi32=7,8,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e lastOfNone --input=3x0xi32 --input=3xi32=7,8,9 --expect=result0=3xi32=7,8,9
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e boundedRows --input=4x16x1000xf32=1 --input=4x16xf32=7 --input=0 --expect=arg1=4x16xf32=7
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e inATile --input=2x2xi32=1,2,3,4 --input=2x2x2xi32=9 --expect=result0=2x2x2xi32=2,18,18,4,6,18,18,8
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}

#map = affine_map<(i) -> (i)>
#both = affine_map<(i, j) -> (i, j)>

func.func @diagonal(%x: tensor<3xi32>) -> tensor<3x3xi32> {
  %five = arith.constant 5 : i32
  %e = tensor.empty() : tensor<3x3xi32>
  %f = linalg.fill ins(%five : i32) outs(%e : tensor<3x3xi32>) -> tensor<3x3xi32>
  %r = linalg.generic {indexing_maps = [#map, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]} ins(%x : tensor<3xi32>) outs(%f : tensor<3x3xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<3x3xi32>
  return %r : tensor<3x3xi32>
}

// The argument stays as it is.
func.func @row(%x: tensor<4xi32>, %z: tensor<3x4xi32>) -> tensor<3x4xi32> {
  %r = linalg.generic {indexing_maps = [#map, affine_map<(i) -> (1, i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%z : tensor<3x4xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<3x4xi32>
  return %r : tensor<3x4xi32>
}

func.func @everyOther(%x: tensor<3xi32>, %z: tensor<6xi32>) -> tensor<6xi32> {
  %r = linalg.generic {indexing_maps = [#map, affine_map<(i) -> (i * 2)>], iterator_types = ["parallel"]} ins(%x : tensor<3xi32>) outs(%z : tensor<6xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<6xi32>
  return %r : tensor<6xi32>
}

func.func @backwards(%x: tensor<4xi32>, %z: tensor<5xi32>) -> tensor<5xi32> {
  %r = linalg.generic {indexing_maps = [#map, affine_map<(i) -> (3 - i)>], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%z : tensor<5xi32>) {
  ^bb0(%p: i32, %o: i32):
    %s = arith.addi %p, %o : i32
    linalg.yield %s : i32
  } -> tensor<5xi32>
  return %r : tensor<5xi32>
}

func.func @backwardsInMemory(%x: memref<4xi32>, %z: memref<5xi32>) {
  linalg.generic {indexing_maps = [#map, affine_map<(i) -> (3 - i)>], iterator_types = ["parallel"]} ins(%x : memref<4xi32>) outs(%z : memref<5xi32>) {
  ^bb0(%p: i32, %o: i32):
    %s = arith.addi %p, %o : i32
    linalg.yield %s : i32
  }
  return
}

func.func @sumsOnADiagonal(%x: tensor<2x300xi32>, %z: tensor<2x2xi32>) -> tensor<2x2xi32> {
  %r = linalg.generic {indexing_maps = [#both, affine_map<(i, j) -> (i, i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<2x300xi32>) outs(%z : tensor<2x2xi32>) {
  ^bb0(%p: i32, %o: i32):
    %s = arith.addi %p, %o : i32
    linalg.yield %s : i32
  } -> tensor<2x2xi32>
  return %r : tensor<2x2xi32>
}

// The loop j is no reduction, though all of its iterations add to one element.
func.func @addsToOne(%x: tensor<300x6xi32>, %z: tensor<300xi32>) -> tensor<300xi32> {
  %r = linalg.generic {indexing_maps = [#both, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<300x6xi32>) outs(%z : tensor<300xi32>) {
  ^bb0(%p: i32, %o: i32):
    %s = arith.addi %p, %o : i32
    linalg.yield %s : i32
  } -> tensor<300xi32>
  return %r : tensor<300xi32>
}

func.func @antidiagonals(%x: tensor<2x3xi32>, %z: tensor<5xi32>) -> tensor<5xi32> {
  %r = linalg.generic {indexing_maps = [#both, affine_map<(i, j) -> (i + j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<2x3xi32>) outs(%z : tensor<5xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<5xi32>
  return %r : tensor<5xi32>
}

func.func @remainders(%x: tensor<7xi32>, %z: tensor<4xi32>) -> tensor<4xi32> {
  %r = linalg.generic {indexing_maps = [#map, affine_map<(i) -> (i mod 3)>], iterator_types = ["parallel"]} ins(%x : tensor<7xi32>) outs(%z : tensor<4xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<4xi32>
  return %r : tensor<4xi32>
}

// Where there are no elements, it is what there was.
func.func @lastOfEach(%x: tensor<3x?xi32>, %z: tensor<3xi32>) -> tensor<3xi32> {
  %r = linalg.generic {indexing_maps = [#both, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x?xi32>) outs(%z : tensor<3xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<3xi32>
  return %r : tensor<3xi32>
}

func.func @lastOfNone(%x: tensor<3x0xi32>, %z: tensor<3xi32>) -> tensor<3xi32> {
  %r = linalg.generic {indexing_maps = [#both, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x0xi32>) outs(%z : tensor<3xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// A tile that has no row.
func.func @boundedRows(%x: memref<4x16x1000xf32>, %y: memref<4x16xf32>, %n: index) {
  scf.forall (%i) in (1) {
    %k = affine.min affine_map<(n) -> (16, n)>(%n)
    %s = memref.subview %x[0, 0, 0] [4, %k, 1000] [1, 1, 1] : memref<4x16x1000xf32> to memref<4x?x1000xf32, strided<[16000, 1000, 1]>>
    %t = memref.subview %y[0, 0] [4, %k] [1, 1] : memref<4x16xf32> to memref<4x?xf32, strided<[16, 1]>>
    linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (i, j)>], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%s : memref<4x?x1000xf32, strided<[16000, 1000, 1]>>) outs(%t : memref<4x?xf32, strided<[16, 1]>>) {
    ^bb0(%a: f32, %o: f32):
      %z = arith.addf %a, %o : f32
      linalg.yield %z : f32
    }
  }
  return
}

func.func @inATile(%x: tensor<2x2xi32>, %z: tensor<2x2x2xi32>) -> tensor<2x2x2xi32> {
  %r = scf.forall (%i) in (2) shared_outs(%o = %z) -> (tensor<2x2x2xi32>) {
    %s = tensor.extract_slice %x[%i, 0] [1, 2] [1, 1] : tensor<2x2xi32> to tensor<2xi32>
    %t = tensor.extract_slice %o[%i, 0, 0] [1, 2, 2] [1, 1, 1] : tensor<2x2x2xi32> to tensor<2x2xi32>
    %d = linalg.generic {indexing_maps = [#map, affine_map<(i) -> (i, i)>], iterator_types = ["parallel"]} ins(%s : tensor<2xi32>) outs(%t : tensor<2x2xi32>) {
    ^bb0(%p: i32, %q: i32):
      linalg.yield %p : i32
    } -> tensor<2x2xi32>
    %e = linalg.add ins(%d, %d : tensor<2x2xi32>, tensor<2x2xi32>) outs(%t : tensor<2x2xi32>) -> tensor<2x2xi32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %e into %o[%i, 0, 0] [1, 2, 2] [1, 1, 1] : tensor<2x2xi32> into tensor<2x2x2xi32>
    }
  }
  return %r : tensor<2x2x2xi32>
}
