// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which conditions are asserted and which are known, and where an assert comes. What
// the asserts say, and that they hold when they are to: Integration/offload/sizes.mlir.
// RUN: gpu-opt %s --gpu-async-check-sizes --verify-roundtrip | FileCheck %s

// Known sizes cost nothing, and neither do those that follow.
// CHECK-LABEL: func.func @known(
// CHECK-NOT:     cf.assert
func.func @known(%x: tensor<4xf32>, %a: tensor<?xf32>, %m: memref<4xf32>) -> (tensor<4xf32>, tensor<?xf32>) {
  %c0 = arith.constant 0 : index
  %y = arith.addf %x, %x : tensor<4xf32>
  %n = tensor.dim %a, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %b = math.tanh %a : tensor<?xf32>
  %c = linalg.add ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  %d = tensor.extract_slice %c[0] [%n] [1] : tensor<?xf32> to tensor<?xf32>
  %f = arith.mulf %d, %a : tensor<?xf32>
  %g = tensor.expand_shape %f [[0, 1]] output_shape [1, %n] : tensor<?xf32> into tensor<1x?xf32>
  %h = tensor.collapse_shape %g [[0, 1]] : tensor<1x?xf32> into tensor<?xf32>
  %i = tensor.cast %x : tensor<4xf32> to tensor<?xf32>
  %j = tensor.cast %i : tensor<?xf32> to tensor<4xf32>
  %k = arith.subf %h, %a : tensor<?xf32>
  %l = memref.cast %m : memref<4xf32> to memref<?xf32>
  return %j, %k : tensor<4xf32>, tensor<?xf32>
}

// Each fact is asserted once, in the order of the ops, in front of all of them.
// CHECK-LABEL: func.func @once(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?xf32>, %[[Y:[a-z0-9]+]]: tensor<?xf32>, %[[Z:[a-z0-9]+]]: tensor<?xf32>)
// CHECK-DAG:     %[[M:.*]] = tensor.dim %[[X]], %{{.*}}
// CHECK-DAG:     %[[N:.*]] = tensor.dim %[[Y]], %{{.*}}
// CHECK:         %[[SAME:.*]] = arith.cmpi eq, %[[M]], %[[N]] : index
// CHECK-NEXT:    cf.assert %[[SAME]], "arith.addf: operands differ in the size of dimension 0"
// CHECK:         tensor.dim %[[Z]]
// CHECK:         cf.assert %{{.*}}, "arith.mulf: operands differ in the size of dimension 0"
// CHECK-NEXT:    arith.addf
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @once(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
  %a = arith.addf %x, %y : tensor<?xf32>
  %b = arith.mulf %a, %z : tensor<?xf32>
  %c = arith.subf %z, %y : tensor<?xf32>
  %d = arith.divf %b, %c : tensor<?xf32>
  return %d : tensor<?xf32>
}

// What a loop carries keeps its sizes, if each round keeps them. The assert is in
// front of the loops, and says nothing if none of them has a round.
// CHECK-LABEL: func.func @loops(
// CHECK-SAME:    %{{[a-z0-9]+}}: tensor<?xf32>, %{{[a-z0-9]+}}: tensor<?xf32>, %[[N:[a-z0-9]+]]: index)
// CHECK:         %[[SAME:.*]] = arith.cmpi eq
// CHECK:         %[[NONE:.*]] = arith.cmpi sle, %[[N]], %{{.*}} : index
// CHECK:         %[[OUTER:.*]] = arith.cmpi sle, %[[N]], %{{.*}} : index
// CHECK:         %[[ANY:.*]] = arith.ori %[[NONE]], %[[OUTER]] : i1
// CHECK:         %[[HOLDS:.*]] = arith.ori %[[ANY]], %[[SAME]] : i1
// CHECK-NEXT:    cf.assert %[[HOLDS]], "arith.addf: operands differ in the size of dimension 0"
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @loops(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %s = scf.for %j = %c0 to %n step %c1 iter_args(%b = %a) -> tensor<?xf32> {
      %t = arith.addf %b, %y : tensor<?xf32>
      scf.yield %t : tensor<?xf32>
    }
    scf.yield %s : tensor<?xf32>
  }
  %u = arith.mulf %r, %x : tensor<?xf32>
  return %u : tensor<?xf32>
}

// A round that changes them is looked at each time.
// CHECK-LABEL: func.func @changes(
// CHECK:         scf.for
// CHECK:           cf.assert %{{.*}}, "arith.addf: operands differ in the size of dimension 0"
// CHECK:           arith.addf
func.func @changes(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<?xf32> {
    %t = arith.addf %a, %y : tensor<?xf32>
    %m = tensor.dim %t, %c0 : tensor<?xf32>
    %k = arith.divui %m, %n : index
    %s = tensor.extract_slice %t[0] [%k] [1] : tensor<?xf32> to tensor<?xf32>
    scf.yield %s : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}

// CHECK-LABEL: func.func @while(
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @while(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r:2 = scf.while (%a = %x, %i = %c0) : (tensor<?xf32>, index) -> (tensor<?xf32>, index) {
    %c = arith.cmpi ult, %i, %n : index
    scf.condition(%c) %a, %i : tensor<?xf32>, index
  } do {
  ^bb0(%b: tensor<?xf32>, %j: index):
    %t = arith.addf %b, %x : tensor<?xf32>
    %k = arith.addi %j, %c1 : index
    scf.yield %t, %k : tensor<?xf32>, index
  }
  %u = arith.mulf %r#0, %x : tensor<?xf32>
  return %u : tensor<?xf32>
}

// Facts of a branch are the branch's.
// CHECK-LABEL: func.func @branches(
// CHECK:         scf.if
// CHECK:           cf.assert
// CHECK:         } else {
// CHECK:           cf.assert
// CHECK:         }
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @branches(%x: tensor<?xf32>, %y: tensor<?xf32>, %c: i1) -> tensor<?xf32> {
  %r = scf.if %c -> tensor<?xf32> {
    %a = arith.addf %x, %y : tensor<?xf32>
    scf.yield %a : tensor<?xf32>
  } else {
    %b = arith.subf %x, %y : tensor<?xf32>
    scf.yield %b : tensor<?xf32>
  }
  %s = arith.mulf %r, %x : tensor<?xf32>
  return %s : tensor<?xf32>
}

// Places that arithmetic shows to be inside: a counter, one that is clamped, chunks.
// CHECK-LABEL: func.func @places(
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @places(%x: tensor<64x4xf32>, %d: tensor<?xf32>, %k: i32) -> (tensor<4xf32>, f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0 : i32
  %last = arith.constant 63 : i32
  %f = arith.constant 0.0 : f32
  %e = arith.constant dense<0.0> : tensor<4xf32>
  %low = arith.maxsi %k, %zero : i32
  %high = arith.minsi %low, %last : i32
  %at = arith.index_cast %high : i32 to index
  %s = tensor.extract_slice %x[%at, 0] [1, 4] [1, 1] : tensor<64x4xf32> to tensor<4xf32>
  %r = scf.for %i = %c0 to %c64 step %c16 iter_args(%a = %e) -> tensor<4xf32> {
    %t = tensor.extract_slice %x[%i, 0] [16, 4] [1, 1] : tensor<64x4xf32> to tensor<16x4xf32>
    %u = tensor.extract_slice %t[15, 0] [1, 4] [1, 1] : tensor<16x4xf32> to tensor<4xf32>
    %v = arith.addf %a, %u : tensor<4xf32>
    scf.yield %v : tensor<4xf32>
  }
  %n = tensor.dim %d, %c0 : tensor<?xf32>
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%a = %f) -> f32 {
    %v = tensor.extract %d[%i] : tensor<?xf32>
    %b = arith.addf %a, %v : f32
    scf.yield %b : f32
  }
  %w = arith.addf %r, %s : tensor<4xf32>
  return %w, %sum : tensor<4xf32>, f32
}

// In a parallel loop only what all iterations have alike, in front of it.
// CHECK-LABEL: func.func @parallel(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<?xf32>
// CHECK:         cf.assert %{{.*}}, "arith.addf: operands differ in the size of dimension 0"
// CHECK:         scf.forall
// CHECK-NOT:       cf.assert
// CHECK:         return
func.func @parallel(%x: tensor<?xf32>, %y: tensor<?xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %r = scf.forall (%i) in (8) shared_outs(%s = %o) -> tensor<8xf32> {
    %a = arith.addf %x, %y : tensor<?xf32>
    %b = tensor.extract_slice %a[%i] [1] [1] : tensor<?xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %b into %s[%i] [1] [1] : tensor<1xf32> into tensor<8xf32>
    }
  }
  return %r : tensor<8xf32>
}

// Bodies that become kernels, and kernels, have none.
// CHECK-LABEL: func.func @bodies(
// CHECK-NOT:     cf.assert
// CHECK:         return
func.func @bodies(%x: tensor<?xf32>, %i: tensor<8xindex>, %o: tensor<8xf32>, %m: memref<?xf32>) -> tensor<8xf32> {
  %c1 = arith.constant 1 : index
  %r = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%i : tensor<8xindex>) outs(%o : tensor<8xf32>) {
  ^bb0(%at: index, %old: f32):
    %v = tensor.extract %x[%at] : tensor<?xf32>
    linalg.yield %v : f32
  } -> tensor<8xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nx = %c1, %ny = %c1, %nz = %c1)
             threads(%tx, %ty, %tz) in (%mx = %c1, %my = %c1, %mz = %c1) {
    %c = memref.cast %m : memref<?xf32> to memref<4xf32>
    %v = memref.load %c[%tx] : memref<4xf32>
    memref.store %v, %c[%bx] : memref<4xf32>
    gpu.terminator
  }
  return %r : tensor<8xf32>
}

// A view of an argument is checked once a call, in front of everything. One of
// other memory, or of each round of a loop, is the program's promise.
// CHECK-LABEL: func.func @views
// CHECK-COUNT-1: cf.assert {{.*}}, "memref.subview leaves its source, in dimension 0"
// CHECK: memref.alloc
// CHECK-NOT: cf.assert
// CHECK: return
func.func @views(%m: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %own = memref.alloc(%n) : memref<?xf32>
  scf.for %i = %c0 to %n step %c4 {
    %v = memref.subview %m[%i] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>
    memref.store %zero, %v[%c0] : memref<4xf32, strided<[1], offset: ?>>
  }
  %w = memref.subview %own[%n] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>
  memref.store %zero, %w[%c0] : memref<4xf32, strided<[1], offset: ?>>
  %x = memref.subview %m[%n] [4] [1] : memref<?xf32> to memref<4xf32, strided<[1], offset: ?>>
  memref.store %zero, %x[%c0] : memref<4xf32, strided<[1], offset: ?>>
  memref.dealloc %own : memref<?xf32>
  return
}

// The size of what an op of arith computes is that of its operands: it is compared,
// or shown where a number is a part of it. MLIR's own models know no such size.
// CHECK-LABEL: func.func @elementwise
// CHECK: cf.assert {{.*}}, "tensor.insert_slice writes outside of its destination, in dimension 0"
// CHECK: cf.assert {{.*}}, "tensor.insert_slice writes outside of its destination, in dimension 1"
// CHECK-NOT: cf.assert {{.*}}, "tensor.extract_slice
// CHECK: return
func.func @elementwise(%a: tensor<?x?xi32>, %row: tensor<?xi32>, %n: index) -> (tensor<?x?xi32>, tensor<?xi32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %d = arith.subi %a, %a : tensor<?x?xi32>
  %p = arith.muli %d, %a : tensor<?x?xi32>
  %w = tensor.insert_slice %row into %p[%c2, 0] [1, %n] [1, 1] : tensor<?xi32> into tensor<?x?xi32>
  %size = tensor.dim %p, %c0 : tensor<?x?xi32>
  %size1 = tensor.dim %p, %c1 : tensor<?x?xi32>
  %init = tensor.empty(%size1) : tensor<?xi32>
  %r = scf.for %i = %c0 to %size step %c2 iter_args(%t = %init) -> tensor<?xi32> {
    %s = tensor.extract_slice %p[%i, 0] [1, %size1] [1, 1] : tensor<?x?xi32> to tensor<?xi32>
    scf.yield %s : tensor<?xi32>
  }
  return %w, %r : tensor<?x?xi32>, tensor<?xi32>
}

// The bounds of an affine.for are maps.
// CHECK-LABEL: func.func @affine_loop
// CHECK: affine.for
// CHECK: cf.assert {{.*}}, "tensor.extract reads outside of its source, in dimension 0"
// CHECK: return
func.func @affine_loop(%t: tensor<4xf32>, %m: memref<4xf32>, %n: index) {
  affine.for %i = 0 to %n {
    %v = tensor.extract %t[%i] : tensor<4xf32>
    affine.store %v, %m[%i] : memref<4xf32>
  }
  return
}

// Constants that are no number, and dimensions that are not there.
// CHECK-LABEL: func.func @odd
// CHECK: return
func.func @odd(%t: tensor<?xi32>, %m: memref<?xi32>) -> (i32, tensor<2xi32>) {
  %p = ub.poison : index
  %v = tensor.extract %t[%p] : tensor<?xi32>
  %c9 = arith.constant 9 : index
  %k = memref.dim %m, %c9 : memref<?xi32>
  %s = tensor.extract_slice %t[%k] [2] [1] : tensor<?xi32> to tensor<2xi32>
  return %v, %s : i32, tensor<2xi32>
}

// Copies of the device's, in upstream's words and in ours. Memory that was
// allocated with a size of the other array needs no check.
// CHECK-LABEL: func @copies(
// CHECK-SAME: %[[H:.*]]: memref<?xf32>, %[[N:.*]]: index, %[[T:.*]]: !gpu_async.token)
// CHECK: %[[D:.*]] = memref.dim %[[H]]
// CHECK: %[[SAME:.*]] = arith.cmpi eq, %[[D]], %[[N]] : index
// CHECK: cf.assert %[[SAME]], "gpu.memcpy: source and destination differ in the size of dimension 0"
// CHECK-NOT: cf.assert
// CHECK: cf.assert %{{.*}}, "gpu_async.memcpy: source and destination differ in the size of dimension 0"
// CHECK-NOT: cf.assert
// CHECK: return
func.func @copies(%h: memref<?xf32>, %n: index, %t: !gpu_async.token) {
  %c0 = arith.constant 0 : index
  %x = gpu.alloc (%n) : memref<?xf32>
  gpu.memcpy %x, %h : memref<?xf32>, memref<?xf32>
  gpu.memcpy %h, %x : memref<?xf32>, memref<?xf32>
  %m = memref.dim %h, %c0 : memref<?xf32>
  %y = gpu.alloc (%m) : memref<?xf32>
  gpu.memcpy %y, %h : memref<?xf32>, memref<?xf32>
  %z = gpu.alloc () : memref<7xf32>
  %done = gpu_async.memcpy async [%t] %z, %h : memref<7xf32>, memref<?xf32>
  gpu_async.wait [%done]
  return
}

// A region is the device's, so the condition comes before it. Where it needs a
// size of the region's inside there is no place for it.
// CHECK-LABEL: func @region(
// CHECK: cf.assert %{{.*}}, "gpu_async.memcpy: source and destination differ in the size of dimension 0"
// CHECK: gpu_async.region {
// CHECK-NOT: cf.assert
// CHECK: return
func.func @region(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  %s = gpu_async.stream.create
  %x = gpu_async.alloc on %s id(0)(%n) : memref<?xf32>
  gpu_async.region {
    gpu_async.memcpy on %s id(1 after [0]) %x, %a : memref<?xf32>, memref<?xf32>
    gpu_async.memcpy on %s id(2 after [1]) %b, %x : memref<?xf32>, memref<?xf32>
    %m = arith.divui %n, %n : index
    %part = memref.subview %b[0] [%m] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
    gpu_async.memcpy on %s id(3 after [2]) %part, %x : memref<?xf32, strided<[1]>>, memref<?xf32>
  }
  gpu_async.stream.synchronize %s
  gpu_async.dealloc on %s id(4 after [3]) %x : memref<?xf32>
  gpu_async.stream.destroy %s
  return
}

// RUN: gpu-opt %s --gpu-async-check-sizes --remarks-filter=gpu-async-check-sizes --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] SizeChecks | Category:gpu-async-check-sizes | Function=once | asserts=2{{$}}
