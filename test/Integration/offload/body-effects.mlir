// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of a linalg op, or the region of a tensor.generate or tensor.pad, that touches
// memory runs where the program has it, once for each iteration, whether its result is
// used or not.
// DEFINE: %{cpu} = gpu-runner --device=cpu --check --offload=error %s
// DEFINE: %{gpu} = gpu-runner --device=cpu --check %t.gpu.mlir
// RUN: gpu-opt %s --gpu-async-offload="device=gpu offload=error" -o %t.gpu.mlir
//
// DEFINE: %{args} = -e readsBeforeFill --input=8xi32=1,2,3,4,5,6,7,8 --input=8xi32=10 --expect=result0=8xi32=11,24,39,56,75,96,119,144
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e unusedStore --input=8xi32=1,2,3,4,5,6,7,8 --input=8xi32=10 --expect=result0=8xi32=2,4,6,8,10,12,14,16 --expect=arg1=8xi32=1,2,3,4,5,6,7,8
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e storesAConstant --input=2x3xi32=1 --input=2x3xi32=0 --expect=result0=2x3xi32=2 --expect=arg1=2x3xi32=7
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e countsOnce --input=300xi32=1 --input=1xi32=0 --expect=result0=300xi32=2 --expect=result1=300xi32=3 --expect=arg1=1xi32=300
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e named --input=8xi32=1,2,3,4,5,6,7,8 --input=i32=0 --expect=result0=8xi32=2,4,6,8,10,12,14,16 --expect=arg1=i32=44
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e ofOneNumber --input=5 --input=i32=1 --expect=result0=i32=5 --expect=arg1=i32=12
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e generates --input=4xi32=1,2,3,4 --expect=result0=4xi32=2 --expect=arg0=4xi32=1,9,3,4
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e pads --input=2xi32=1,2 --input=1xi32=7 --expect=result0=4xi32=7,1,2,7 --expect=arg1=1xi32=0
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e sumsAsItStores --input=3x50xi32=2 --input=3xi32=0 --expect=result0=3xi32=100 --expect=arg1=3xi32=100
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e readsItsSum --input=4xi32=1,2,3,4 --input=1xi32=0 --expect=arg1=1xi32=26
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e multiplies --input=4x20xi32=1 --input=20x5xi32=2 --input=1xi32=0 --expect=result0=4x5xi32=40 --expect=arg2=1xi32=400
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e callsInATile --input=300xi32=0 --input=1xi32=0 --input=true --expect=arg0=300xi32=1 --expect=arg1=1xi32=1
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e chosenInAKernel --input=4xi32=9 --input=4xi32=9 --input=false --expect=arg0=4xi32=9 --expect=arg1=4xi32=0,1,2,3
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e putAfterAFill --input=4xi32=1,2,3,4 --input=4xi32=9 --expect=result0=4xi32=2,4,6,8 --expect=arg1=4xi32=2,4,6,8
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e turnedInPlace --input=4xi32=1,2,3,4 --expect=arg0=4xi32=4,3,2,1
// RUN: %{cpu} %{args}
// RUN: %{gpu} %{args}
// REDEFINE: %{args} = -e asserts --input=4xi32=1,2,3,9
// RUN: not %{cpu} %{args} 2>&1 | FileCheck %s --check-prefix=ASSERTS
// RUN: not %{gpu} %{args} 2>&1 | FileCheck %s --check-prefix=ASSERTS
// ASSERTS: assertion failed in kernel {{.*}}: too large

#map = affine_map<(i) -> (i)>

func.func @readsBeforeFill(%x: tensor<8xi32>, %m: memref<8xi32>) -> tensor<8xi32> {
  %zero = arith.constant 0 : i32
  %e = tensor.empty() : tensor<8xi32>
  %a = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<8xi32>) outs(%e : tensor<8xi32>) {
  ^bb0(%p: i32, %o: i32):
    %i = linalg.index 0 : index
    %v = memref.load %m[%i] : memref<8xi32>
    %s = arith.addi %v, %p : i32
    linalg.yield %s : i32
  } -> tensor<8xi32>
  linalg.fill ins(%zero : i32) outs(%m : memref<8xi32>)
  %r = arith.muli %a, %x : tensor<8xi32>
  return %r : tensor<8xi32>
}

func.func @unusedStore(%x: tensor<8xi32>, %m: memref<8xi32>) -> tensor<8xi32> {
  %e = tensor.empty() : tensor<8xi32>
  %a = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<8xi32>) outs(%e : tensor<8xi32>) {
  ^bb0(%p: i32, %o: i32):
    %i = linalg.index 0 : index
    memref.store %p, %m[%i] : memref<8xi32>
    linalg.yield %p : i32
  } -> tensor<8xi32>
  %r = arith.addi %x, %x : tensor<8xi32>
  return %r : tensor<8xi32>
}

// The constant alone says how long the loops are.
func.func @storesAConstant(%x: tensor<2x3xi32>, %m: memref<2x3xi32>) -> tensor<2x3xi32> {
  %sevens = arith.constant dense<7> : tensor<2x3xi32>
  %z = arith.constant dense<0> : tensor<i32>
  %a = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%sevens : tensor<2x3xi32>) outs(%z : tensor<i32>) {
  ^bb0(%p: i32, %o: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    memref.store %p, %m[%i, %j] : memref<2x3xi32>
    %s = arith.addi %p, %o : i32
    linalg.yield %s : i32
  } -> tensor<i32>
  %r = arith.addi %x, %x : tensor<2x3xi32>
  return %r : tensor<2x3xi32>
}

// Two ops use it: it is part of neither.
func.func @countsOnce(%x: tensor<300xi32>, %count: memref<1xi32>) -> (tensor<300xi32>, tensor<300xi32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %e = tensor.empty() : tensor<300xi32>
  %a = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<300xi32>) outs(%e : tensor<300xi32>) {
  ^bb0(%p: i32, %o: i32):
    %0 = memref.atomic_rmw addi %one, %count[%c0] : (i32, memref<1xi32>) -> i32
    linalg.yield %p : i32
  } -> tensor<300xi32>
  %r = arith.addi %a, %x : tensor<300xi32>
  %s = arith.addi %a, %r : tensor<300xi32>
  return %r, %s : tensor<300xi32>, tensor<300xi32>
}

// Nobody uses what these two give.
func.func @named(%x: tensor<8xi32>, %count: memref<i32>) -> tensor<8xi32> {
  %one = arith.constant 1 : i32
  %z = arith.constant dense<0> : tensor<i32>
  %e = tensor.empty() : tensor<8xi32>
  %a = linalg.map ins(%x : tensor<8xi32>) outs(%e : tensor<8xi32>) (%p: i32, %o: i32) {
    %0 = memref.atomic_rmw addi %one, %count[] : (i32, memref<i32>) -> i32
    linalg.yield %p : i32
  }
  %b = linalg.reduce ins(%a : tensor<8xi32>) outs(%z : tensor<i32>) dimensions = [0] (%p: i32, %o: i32) {
    %0 = memref.atomic_rmw addi %p, %count[] : (i32, memref<i32>) -> i32
    %s = arith.addi %p, %o : i32
    linalg.yield %s : i32
  }
  %r = arith.addi %x, %x : tensor<8xi32>
  return %r : tensor<8xi32>
}

// A number that the host has, but memory that the device has.
func.func @ofOneNumber(%x: i32, %count: memref<i32>) -> tensor<i32> {
  %t = tensor.from_elements %x : tensor<i32>
  %e = tensor.empty() : tensor<i32>
  %a = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%t : tensor<i32>) outs(%e : tensor<i32>) {
  ^bb0(%p: i32, %o: i32):
    %0 = memref.atomic_rmw addi %p, %count[] : (i32, memref<i32>) -> i32
    linalg.yield %p : i32
  } -> tensor<i32>
  linalg.generic {indexing_maps = [affine_map<() -> ()>], iterator_types = []} outs(%count : memref<i32>) {
  ^bb0(%o: i32):
    %s = arith.addi %o, %o : i32
    linalg.yield %s : i32
  }
  return %a : tensor<i32>
}

// Upstream would compute the element where it is extracted.
func.func @generates(%m: memref<4xi32>) -> tensor<4xi32> {
  %c1 = arith.constant 1 : index
  %nine = arith.constant 9 : i32
  %g = tensor.generate {
  ^bb0(%i: index):
    %v = memref.load %m[%i] : memref<4xi32>
    tensor.yield %v : i32
  } : tensor<4xi32>
  memref.store %nine, %m[%c1] : memref<4xi32>
  %x = tensor.extract %g[%c1] : tensor<4xi32>
  %r = tensor.splat %x : tensor<4xi32>
  return %r : tensor<4xi32>
}

func.func @pads(%x: tensor<2xi32>, %m: memref<1xi32>) -> tensor<4xi32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0 : i32
  %p = tensor.pad %x low[1] high[1] {
  ^bb0(%i: index):
    %v = memref.load %m[%c0] : memref<1xi32>
    tensor.yield %v : i32
  } : tensor<2xi32> to tensor<4xi32>
  memref.store %zero, %m[%c0] : memref<1xi32>
  return %p : tensor<4xi32>
}

// The last element of each row that is stored is the row's sum.
func.func @sumsAsItStores(%x: tensor<3x50xi32>, %m: memref<3xi32>) -> tensor<3xi32> {
  %z = arith.constant dense<0> : tensor<3xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<3x50xi32>) outs(%z : tensor<3xi32>) {
  ^bb0(%p: i32, %o: i32):
    %i = linalg.index 0 : index
    %s = arith.addi %p, %o : i32
    memref.store %s, %m[%i] : memref<3xi32>
    linalg.yield %s : i32
  } -> tensor<3xi32>
  return %r : tensor<3xi32>
}

// In memory the sum so far is what the body loads: 1, 1 + 2 + 1, 4 + 3 + 4, 11 + 4 + 11.
func.func @readsItsSum(%x: memref<4xi32>, %sum: memref<1xi32>) {
  %c0 = arith.constant 0 : index
  linalg.generic {indexing_maps = [#map, affine_map<(i) -> (0)>], iterator_types = ["reduction"]} ins(%x : memref<4xi32>) outs(%sum : memref<1xi32>) {
  ^bb0(%p: i32, %o: i32):
    %before = memref.load %sum[%c0] : memref<1xi32>
    %a = arith.addi %p, %o : i32
    %b = arith.addi %a, %before : i32
    linalg.yield %b : i32
  }
  return
}

// A product that counts its steps is none for registers: these have more.
func.func @multiplies(%x: tensor<4x20xi32>, %y: tensor<20x5xi32>, %count: memref<1xi32>) -> tensor<4x5xi32> {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %z = arith.constant dense<0> : tensor<4x5xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (k, j)>, affine_map<(i, j, k) -> (i, j)>],
                       iterator_types = ["parallel", "parallel", "reduction"]}
       ins(%x, %y : tensor<4x20xi32>, tensor<20x5xi32>) outs(%z : tensor<4x5xi32>) {
  ^bb0(%p: i32, %q: i32, %o: i32):
    %0 = memref.atomic_rmw addi %one, %count[%c0] : (i32, memref<1xi32>) -> i32
    %t = arith.muli %p, %q : i32
    %s = arith.addi %o, %t : i32
    linalg.yield %s : i32
  } -> tensor<4x5xi32>
  return %r : tensor<4x5xi32>
}

func.func private @increase(%m: memref<1xi32>, %c: i1) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %v = memref.load %m[%c0] : memref<1xi32>
  %w = arith.addi %v, %one : i32
  memref.store %w, %m[%c0] : memref<1xi32>
  cf.br ^bb2
^bb2:
  return
}

func.func @callsInATile(%x: memref<300xi32>, %m: memref<1xi32>, %c: i1) {
  %one = arith.constant 1 : i32
  scf.forall (%i) in (1) {
    linalg.fill ins(%one : i32) outs(%x : memref<300xi32>)
    func.call @increase(%m, %c) : (memref<1xi32>, i1) -> ()
  }
  return
}

func.func @chosenInAKernel(%m: memref<4xi32>, %n: memref<4xi32>, %c: i1) {
  scf.forall (%i) in (4) {
    %p = arith.select %c, %m, %n : memref<4xi32>
    %v = arith.index_cast %i : index to i32
    memref.store %v, %p[%i] : memref<4xi32>
  }
  return
}

// Computed in the memref's place it would be there too early.
func.func @putAfterAFill(%x: tensor<4xi32>, %m: memref<4xi32>) -> tensor<4xi32> {
  %zero = arith.constant 0 : i32
  %r = arith.addi %x, %x : tensor<4xi32>
  linalg.fill ins(%zero : i32) outs(%m : memref<4xi32>)
  bufferization.materialize_in_destination %r in restrict writable %m : (tensor<4xi32>, memref<4xi32>) -> ()
  return %r : tensor<4xi32>
}

func.func @turnedInPlace(%m: memref<4xi32>) {
  %t = bufferization.to_tensor %m restrict : memref<4xi32> to tensor<4xi32>
  %e = tensor.empty() : tensor<4xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (3 - i)>, #map], iterator_types = ["parallel"]} ins(%t : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%p: i32, %o: i32):
    linalg.yield %p : i32
  } -> tensor<4xi32>
  bufferization.materialize_in_destination %r in restrict writable %m : (tensor<4xi32>, memref<4xi32>) -> ()
  return
}

// Nobody uses what it computes.
func.func @asserts(%x: tensor<4xi32>) -> tensor<4xi32> {
  %c5 = arith.constant 5 : i32
  %e = tensor.empty() : tensor<4xi32>
  %u = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%x : tensor<4xi32>) outs(%e : tensor<4xi32>) {
  ^bb0(%p: i32, %o: i32):
    %ok = arith.cmpi slt, %p, %c5 : i32
    cf.assert %ok, "too large"
    linalg.yield %p : i32
  } -> tensor<4xi32>
  %r = arith.addi %x, %x : tensor<4xi32>
  return %r : tensor<4xi32>
}
