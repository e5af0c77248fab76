// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-launch-tiles=device=cpu -canonicalize -cse -verify-diagnostics | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: gpu-opt %s -split-input-file -gpu-async-launch-tiles=device=gpu -canonicalize -cse -verify-diagnostics | FileCheck %s --check-prefixes=CHECK,GPU

// A block for each iteration. Its threads share what is done, with a barrier
// before the next op; what it allocates is its own.
// CHECK-LABEL: func.func @tiles
// CHECK: gpu.launch blocks(%[[B:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c10,
// CPU-SAME: in (%{{.*}} = %c1, %{{.*}} = %c1, %{{.*}} = %c1) {
// GPU-SAME: threads(%[[T:.*]], %{{.*}}, %{{.*}}) in (%{{.*}} = %c256,
// GPU-SAME: workgroup(%[[W:.*]] : memref<8xf32, #gpu.address_space<workgroup>>)
// CPU: memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CPU: scf.for %{{.*}} = %c0 to %c8 step %c1
// GPU: scf.for %{{.*}} = %[[T]] to %c8 step %c256
// CHECK: math.exp
// GPU: memref.store %{{.*}}, %[[W]]
// GPU: gpu.barrier
// CPU-NOT: gpu.barrier
// CHECK: arith.addf
// GPU-NOT: gpu.barrier
// CHECK: gpu.terminator
#map = affine_map<(i) -> (i)>
func.func @tiles(%a: memref<10x8xf32>) {
  scf.forall (%i) in (10) {
    %row = memref.subview %a[%i, 0] [1, 8] [1, 1] : memref<10x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    %t = memref.alloc() : memref<8xf32>
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%row : memref<8xf32, strided<[1], offset: ?>>) outs(%t : memref<8xf32>) {
    ^bb0(%x: f32, %o: f32):
      %y = math.exp %x : f32
      linalg.yield %y : f32
    }
    linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%t : memref<8xf32>) outs(%row : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%x: f32, %o: f32):
      %y = arith.addf %x, %o : f32
      linalg.yield %y : f32
    }
    memref.dealloc %t : memref<8xf32>
  }
  return
}

// -----

// A thread for each iteration, of any bounds and steps.
// CHECK-LABEL: func.func @elements
// CHECK: %[[D:.*]] = arith.subi %arg2, %arg1
// CHECK: %[[N:.*]] = arith.maxsi %[[D]], %c0
// CHECK: %[[C:.*]] = arith.ceildivui %[[N]], %arg3
// CHECK: gpu.launch
// CHECK: %[[LIN:.*]] = arith.addi
// CHECK: arith.cmpi ult, %[[LIN]]
// CHECK: scf.if
// CHECK: memref.store
func.func @elements(%a: memref<?x?xf32>, %from: index, %to: index, %step: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i, %j) = (%from, %c0) to (%to, %c3) step (%step, %c1) {
    memref.store %v, %a[%i, %j] : memref<?x?xf32>
    scf.reduce
  }
  return
}

// -----

// The results of a reduction loop are the host's.
// CHECK-LABEL: func.func @reduces
// CHECK-NOT: gpu.launch
func.func @reduces(%a: memref<8xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %r = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%zero) -> f32 {
    %v = memref.load %a[%i] : memref<8xf32>
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}

// -----

func.func @unbounded(%a: memref<?x?xf32>, %n: index, %v: f32) {
  scf.forall (%i) in (10) {
    // expected-error @below {{a kernel cannot allocate memory whose size has no bound that is known before the program runs}}
    %t = memref.alloc(%n) : memref<?xf32>
    linalg.fill ins(%v : f32) outs(%t : memref<?xf32>)
    memref.dealloc %t : memref<?xf32>
  }
  return
}

// -----

// Parallel loops in a block: tiles one after the other, elements for the threads
// in turn, with a barrier between them.
// CHECK-LABEL: func.func @inner
// CHECK: gpu.launch
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1
// GPU: scf.for %{{.*}} = %[[T:.*]] to %c4 step %c256
// GPU: gpu.barrier
// GPU: scf.for %{{.*}} = %[[T]] to %c8 step %c256
// CPU: scf.for %{{.*}} = %c0 to %c8 step %c1
// CHECK: arith.mulf
// GPU: gpu.barrier
// CHECK: gpu.terminator
func.func @inner(%a: memref<6x8xf32>, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  scf.forall (%i) in (6) {
    scf.forall (%j) in (2) {
      %at = arith.muli %j, %c4 : index
      %tile = memref.subview %a[%i, %at] [1, 4] [1, 1] : memref<6x8xf32> to memref<4xf32, strided<[1], offset: ?>>
      linalg.fill ins(%v : f32) outs(%tile : memref<4xf32, strided<[1], offset: ?>>)
    }
    scf.parallel (%j) = (%c0) to (%c8) step (%c1) {
      %x = memref.load %a[%i, %j] : memref<6x8xf32>
      %y = arith.mulf %x, %x : f32
      memref.store %y, %a[%i, %j] : memref<6x8xf32>
      scf.reduce
    }
  }
  return
}

// -----

// Rows that are reduced and computed with: each thread reads its elements once,
// and what the ops hand on is in registers, not in memory of the block.
// CHECK-LABEL: func.func @rows
// A row's two subgroups write what they have, and all of its threads read both.
// GPU: gpu.launch {{.*}} workgroup(%{{.*}} : memref<8xf32, {{.*}}>) {
// GPU-COUNT-2: memref.load %{{.*}} : memref<4x100xf32,
// GPU-NOT: memref<4x100xf32,
// GPU: arith.select
// GPU: gpu.subgroup_reduce add %{{.*}} uniform cluster(size = 32) : (f32) -> f32
// GPU: scf.if
// GPU-NEXT: arith.divui
// GPU-NEXT: arith.addi
// GPU-NEXT: memref.store %{{.*}} : memref<8xf32
// GPU: gpu.barrier
// GPU-COUNT-2: memref.load %{{.*}} : memref<8xf32
// GPU-NOT: gpu.barrier
// GPU: arith.divf
// GPU: scf.if
// GPU-NEXT: memref.store %{{.*}} : memref<4x100xf32,
// GPU-NOT: memref.load
// GPU: gpu.terminator
// CPU-COUNT-2: scf.for
// CPU: arith.addf
func.func @rows(%x: memref<8x100xf32>, %y: memref<8x100xf32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%i) = (0) to (8) step (4) {
    %from = memref.subview %x[%i, 0] [4, 100] [1, 1] : memref<8x100xf32> to memref<4x100xf32, strided<[100, 1], offset: ?>>
    %to = memref.subview %y[%i, 0] [4, 100] [1, 1] : memref<8x100xf32> to memref<4x100xf32, strided<[100, 1], offset: ?>>
    %e = memref.alloc() : memref<4x100xf32>
    %s = memref.alloc() : memref<4xf32>
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%from : memref<4x100xf32, strided<[100, 1], offset: ?>>) outs(%e : memref<4x100xf32>) {
    ^bb0(%in: f32, %out: f32):
      %v = math.exp %in : f32
      linalg.yield %v : f32
    }
    linalg.fill ins(%zero : f32) outs(%s : memref<4xf32>)
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
        ins(%e : memref<4x100xf32>) outs(%s : memref<4xf32>) {
    ^bb0(%in: f32, %out: f32):
      %v = arith.addf %out, %in : f32
      linalg.yield %v : f32
    }
    linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%e, %s : memref<4x100xf32>, memref<4xf32>) outs(%to : memref<4x100xf32, strided<[100, 1], offset: ?>>) {
    ^bb0(%in: f32, %sum: f32, %out: f32):
      %v = arith.divf %in, %sum : f32
      linalg.yield %v : f32
    }
    memref.dealloc %e : memref<4x100xf32>
    memref.dealloc %s : memref<4xf32>
  }
  return
}

// -----

// Memory that is there for its size alone takes none of the block's.
// CHECK-LABEL: func.func @unread
// CHECK-SAME: %[[N:[^:]*]]: index
// CHECK: gpu.launch
// CHECK-NOT: alloc
// CHECK: scf.for %{{.*}} = %c0 to %[[N]] step %c1
// CHECK: gpu.terminator
func.func @unread(%n: index, %a: memref<i64>) {
  scf.forall (%i) in (1) {
    %t = memref.alloc(%n) : memref<?xi8>
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]} ins(%t : memref<?xi8>) outs(%a : memref<i64>) {
    ^bb0(%x: i8, %o: i64):
      %k = linalg.index 0 : index
      %j = arith.index_cast %k : index to i64
      %s = arith.xori %o, %j : i64
      %r = arith.subi %s, %j : i64
      linalg.yield %r : i64
    }
    memref.dealloc %t : memref<?xi8>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}

// -----

// The rounds of a reduction that only asserts go to all threads.
// CHECK-LABEL: func.func @asserts
// CHECK: gpu.launch
// GPU-SAME: threads(%[[THREAD:[^,]*]],
// GPU-NEXT: scf.for %{{.*}} = %[[THREAD]] to %c1000 step %c256
// GPU-NOT: scf.for
// CPU-NEXT: scf.for %{{.*}} = %c0 to %c20 step %c1
// CPU-NEXT: scf.for %{{.*}} = %c0 to %c50 step %c1
// CHECK: cf.assert
// CHECK-NOT: gpu.barrier
// CHECK: gpu.terminator
func.func @asserts(%x: memref<20x50xi32>, %most: i32) {
  scf.forall (%i) in (1) {
    linalg.generic {indexing_maps = [affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "reduction"]} ins(%x : memref<20x50xi32>) {
    ^bb0(%e: i32):
      %fits = arith.cmpi ult, %e, %most : i32
      cf.assert %fits, "too large"
      linalg.yield
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}

// -----

// One thread takes the rounds in turn if they store.
// CHECK-LABEL: func.func @stores_last
// CHECK: gpu.launch
// GPU-SAME: threads(%[[THREAD:[^,]*]],
// GPU: scf.for %{{.*}} = %[[THREAD]] to %c1 step %c256
// CHECK: scf.for %{{.*}} = %c0 to %c20 step %c1
// CHECK: memref.store
// CHECK: gpu.terminator
func.func @stores_last(%x: memref<20xi32>, %last: memref<i32>) {
  scf.forall (%i) in (1) {
    linalg.generic {indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["reduction"]} ins(%x : memref<20xi32>) {
    ^bb0(%e: i32):
      memref.store %e, %last[] : memref<i32>
      linalg.yield
    }
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}

// -----

// What is more than a block may keep lies in memory that is allocated before
// the launch, a part for each block. Smaller allocations are its own.
// CHECK-LABEL: func.func @spilled
// CHECK: %[[ALL:.*]] = memref.alloc() : memref<3x6000128xi8>
// CHECK: %[[BYTES:.*]] = memref.collapse_shape %[[ALL]] {{\[\[}}0, 1]] : memref<3x6000128xi8> into memref<18000384xi8>
// CHECK: gpu.launch blocks(%[[BLOCK:[^,]*]],
// CPU: memref.alloca() {alignment = 64 : i64} : memref<8xf32>
// CHECK: %[[PLACE:.*]] = arith.muli %[[BLOCK]], %{{.*}}
// CHECK: memref.view %[[BYTES]][%[[PLACE]]][] : memref<18000384xi8> to memref<1500000xf32>
// CHECK: gpu.terminator
// CHECK: memref.dealloc %[[ALL]]
// CHECK: return
func.func @spilled(%x: memref<1500000xf32>, %o: memref<3xf32>) {
  scf.forall (%i) in (3) {
    %large = memref.alloc() : memref<1500000xf32>
    %small = memref.alloc() : memref<8xf32>
    %c0 = arith.constant 0 : index
    linalg.add ins(%x, %x : memref<1500000xf32>, memref<1500000xf32>) outs(%large : memref<1500000xf32>)
    %s = memref.subview %large[0] [8] [1] : memref<1500000xf32> to memref<8xf32, strided<[1]>>
    linalg.add ins(%s, %s : memref<8xf32, strided<[1]>>, memref<8xf32, strided<[1]>>) outs(%small : memref<8xf32>)
    %v = memref.load %small[%c0] : memref<8xf32>
    memref.store %v, %o[%i] : memref<3xf32>
    memref.dealloc %small : memref<8xf32>
    memref.dealloc %large : memref<1500000xf32>
  } {mapping = [#gpu.block<linear_dim_0>]}
  return
}

// -----

// So is what each iteration of a loop over elements has on the stack.
// CHECK-LABEL: func.func @spilled_by_threads
// CHECK: %[[ALL:.*]] = memref.alloc(%{{.*}}) : memref<?x4800000xi8>
// CHECK: %[[BYTES:.*]] = memref.collapse_shape %[[ALL]]
// CHECK: gpu.launch
// CHECK-NOT: alloca
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[THREADS:.*]] : index
// CHECK: %[[NUMBER:.*]] = arith.addi %[[FIRST]], %{{.*}}
// CHECK: %[[PLACE:.*]] = arith.muli %[[NUMBER]], %{{.*}}
// CHECK: memref.view %[[BYTES]][%[[PLACE]]][] : memref<?xi8> to memref<600000xf64>
// CHECK: gpu.terminator
// CHECK: memref.dealloc %[[ALL]]
func.func @spilled_by_threads(%o: memref<?xf64>, %n: index, %at: index) {
  scf.forall (%i) in (%n) {
    %own = memref.alloca() : memref<600000xf64>
    %v = memref.load %o[%i] : memref<?xf64>
    memref.store %v, %own[%at] : memref<600000xf64>
    %w = memref.load %own[%i] : memref<600000xf64>
    memref.store %w, %o[%i] : memref<?xf64>
  }
  return
}

// -----

func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{computes tensors, and launches are made of loops on memrefs: bufferize it first}}
  %r = scf.forall (%i) in (4) shared_outs(%o = %x) -> (tensor<4xf32>) {
    %s = tensor.extract_slice %o[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %s into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %r : tensor<4xf32>
}

// RUN: not gpu-opt %s -split-input-file -gpu-async-launch-tiles=device=cpu --remarks-filter=gpu-async-launch-tiles --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] Launch | Category:gpu-async-launch-tiles | Function=tiles | launches=1{{$}}
