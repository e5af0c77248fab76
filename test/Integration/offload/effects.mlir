// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the body of a linalg op allocates and stores is of one element, and its thread
// does it. What a tile does besides linalg ops is done once, not by each thread.
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --check --offload=error -e allocates %s --input=600xf32=3 | FileCheck %s --check-prefix=ALLOCATES
// RUN: gpu-runner --device=cpu --check -e allocates %t.gpu.mlir --input=600xf32=3 | FileCheck %s --check-prefix=ALLOCATES
// RUN: gpu-runner --device=cpu --check --offload=error -e stores %s --input=600xindex --input=600xindex --output= --output=- | FileCheck %s --check-prefix=STORES
// RUN: gpu-runner --device=cpu --check -e stores %t.gpu.mlir --input=600xindex --input=600xindex --output= --output=- | FileCheck %s --check-prefix=STORES
// RUN: gpu-runner --device=cpu --check --offload=error -e tiles %s --input=2x300xi32 --input=1xi32=5 --input=2x2xi32 --output= --output=- --output=- | FileCheck %s --check-prefix=TILES
// RUN: gpu-runner --device=cpu --check -e tiles %t.gpu.mlir --input=2x300xi32 --input=1xi32=5 --input=2x2xi32 --output= --output=- --output=- | FileCheck %s --check-prefix=TILES
// RUN: gpu-runner --device=cpu --check -e before %t.gpu.mlir --input=300xi32 --input=1xi32=5 --output=- --output=- | FileCheck %s --check-prefix=BEFORE
// RUN: gpu-runner --device=cpu --check --offload=error -e most %s --input=600xi32=7 --input=1xi32 --output= --output=- | FileCheck %s --check-prefix=MOST
// RUN: gpu-runner --device=cpu --check -e most %t.gpu.mlir --input=600xi32=7 --input=1xi32 --output= --output=- | FileCheck %s --check-prefix=MOST
// RUN: gpu-runner --device=cpu --check --offload=error -e counts %s --input=601xf32=4 --input=601xf32 --input=f32=0 --input=2xi32 --output= --output= --output=- --output=- | FileCheck %s --check-prefix=COUNTS
// RUN: gpu-runner --device=cpu --check -e counts %t.gpu.mlir --input=601xf32=4 --input=601xf32 --input=f32=0 --input=2xi32 --output= --output= --output=- --output=- | FileCheck %s --check-prefix=COUNTS

#map = affine_map<(i) -> (i)>
#none = affine_map<(i) -> ()>

// ALLOCATES: 600xf32=9 8 7 6 9 8 7 6 9
func.func @allocates(%x: tensor<600xf32>) -> tensor<600xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %numbers = arith.constant dense<[0.0, 1.0, 2.0, 3.0]> : tensor<4xf32>
  %e = tensor.empty() : tensor<600xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<600xf32>) outs(%e : tensor<600xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 0 : index
    %place = arith.remui %i, %c4 : index
    %t = tensor.insert %a into %numbers[%place] : tensor<4xf32>
    %s = scf.for %q = %c0 to %c4 step %c1 iter_args(%sum = %zero) -> f32 {
      %y = tensor.extract %t[%q] : tensor<4xf32>
      %n = arith.addf %sum, %y : f32
      scf.yield %n : f32
    }
    linalg.yield %s : f32
  } -> tensor<600xf32>
  return %r : tensor<600xf32>
}

// STORES: 600xi64=599 598 597
func.func @stores(%x: memref<600xindex>, %back: memref<600xindex>) {
  %last = arith.constant 599 : index
  linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%x : memref<600xindex>) {
  ^bb0(%o: index):
    %i = linalg.index 0 : index
    %place = arith.subi %last, %i : index
    memref.store %i, %back[%place] : memref<600xindex>
    linalg.yield %i : index
  }
  return
}

// TILES: arg[1]: 1xi32=7
// TILES: arg[2]: 2x2xi32=[1 2][1 2]
func.func @tiles(%x: memref<2x300xi32>, %count: memref<1xi32>, %v: memref<2x2xi32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %numbers = arith.constant dense<[1, 2]> : vector<2xi32>
  scf.forall (%i) in (2) {
    %row = memref.subview %x[%i, 0] [1, 300] [1, 1] : memref<2x300xi32> to memref<300xi32, strided<[1], offset: ?>>
    linalg.fill ins(%one : i32) outs(%row : memref<300xi32, strided<[1], offset: ?>>)
    %0 = memref.atomic_rmw addi %one, %count[%c0] : (i32, memref<1xi32>) -> i32
    %1 = vector.load %v[%i, %c0] : memref<2x2xi32>, vector<2xi32>
    %2 = arith.addi %1, %numbers : vector<2xi32>
    vector.store %2, %v[%i, %c0] : memref<2x2xi32>, vector<2xi32>
  }
  return
}

// All threads have what was there before.
// BEFORE: arg[0]: 300xi32=6 6 6
// BEFORE: arg[1]: 1xi32=7
func.func @before(%x: memref<300xi32>, %count: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %one = arith.constant 1 : i32
  scf.forall (%i) in (1) {
    scf.for %round = %c0 to %c2 step %c1 {
      %number = memref.atomic_rmw addi %one, %count[%c0] : (i32, memref<1xi32>) -> i32
      linalg.fill ins(%number : i32) outs(%x : memref<300xi32>)
    }
  }
  return
}

// An atomic with a body of its own, in one of an op and in a parallel loop.
// MOST: 1xi32=11
func.func @most(%x: memref<600xi32>, %most: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%x : memref<600xi32>) {
  ^bb0(%o: i32):
    %0 = memref.generic_atomic_rmw %most[%c0] : memref<1xi32> {
    ^bb0(%old: i32):
      %now = arith.maxsi %old, %o : i32
      memref.atomic_yield %now : i32
    }
    linalg.yield %o : i32
  }
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %0 = memref.generic_atomic_rmw %most[%c0] : memref<1xi32> {
    ^bb0(%old: i32):
      %now = arith.addi %old, %one : i32
      memref.atomic_yield %now : i32
    }
  }
  return
}

// Each element once, also where threads load several at a time.
// COUNTS: arg[2]: f32=2404
// COUNTS: arg[3]: 2xi32=601 601
func.func @counts(%x: memref<601xf32>, %y: memref<601xf32>, %sum: memref<f32>, %count: memref<2xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : memref<601xf32>) outs(%y : memref<601xf32>) {
  ^bb0(%e: f32, %o: f32):
    %0 = memref.atomic_rmw addi %one, %count[%c0] : (i32, memref<2xi32>) -> i32
    linalg.yield %e : f32
  }
  linalg.generic {indexing_maps = [#map, #none], iterator_types = ["reduction"]} ins(%x : memref<601xf32>) outs(%sum : memref<f32>) {
  ^bb0(%e: f32, %o: f32):
    %0 = memref.atomic_rmw addi %one, %count[%c1] : (i32, memref<2xi32>) -> i32
    %1 = arith.addf %o, %e : f32
    linalg.yield %1 : f32
  }
  return
}
