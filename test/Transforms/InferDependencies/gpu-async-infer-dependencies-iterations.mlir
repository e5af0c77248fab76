// RUN: gpu-opt %s -split-input-file -gpu-async-infer-dependencies | FileCheck %s
//
// A view that is made in a loop is other memory in each iteration: what tells two
// windows of it apart holds within an iteration, not between two.

// Halves of a window that moves: unordered in an iteration, which comes after all of
// the last one.
// CHECK-LABEL: func.func @cast
func.func @cast(%x: memref<64xf32> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %{{.*}}) -> (!gpu_async.token)
  scf.for %i = %c0 to %n step %c1 {
    %o = arith.muli %i, %c4 : index
    %w = memref.reinterpret_cast %x to offset: [%o], sizes: [8], strides: [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
    %a = memref.subview %w[0][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %b = memref.subview %w[4][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // CHECK: %[[A:.*]] = gpu_async.memset async [%[[LAST]]]
    // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[LAST]]]
    // CHECK-NEXT: %[[ALL:.*]] = gpu_async.wait async [%[[A]], %[[B]]]
    // CHECK-NEXT: scf.yield %[[ALL]] :
    gpu_async.memset %a, %v : memref<4xf32, strided<[1], offset: ?>>, f32
    gpu_async.memset %b, %v : memref<4xf32, strided<[1], offset: ?>>, f32
  }
  return
}

// -----

// The same by expand_shape, by view, and by a choice.
// CHECK-LABEL: func.func @expand
func.func @expand(%x: memref<16xf32> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %{{.*}}) -> (!gpu_async.token)
  scf.for %i = %c0 to %n step %c1 {
    %r = memref.subview %x[%i][8][1] : memref<16xf32> to memref<8xf32, strided<[1], offset: ?>>
    %e = memref.expand_shape %r [[0, 1]] output_shape [2, 4] : memref<8xf32, strided<[1], offset: ?>> into memref<2x4xf32, strided<[4, 1], offset: ?>>
    %a = memref.subview %e[0, 0][1, 4][1, 1] : memref<2x4xf32, strided<[4, 1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %b = memref.subview %e[1, 0][1, 4][1, 1] : memref<2x4xf32, strided<[4, 1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // CHECK: gpu_async.memset async [%[[LAST]]]
    // CHECK-NEXT: gpu_async.memset async [%[[LAST]]]
    gpu_async.memset %a, %v : memref<4xf32, strided<[1], offset: ?>>, f32
    gpu_async.memset %b, %v : memref<4xf32, strided<[1], offset: ?>>, f32
  }
  return
}
// CHECK-LABEL: func.func @view
func.func @view(%x: memref<64xi8> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %{{.*}}) -> (!gpu_async.token)
  scf.for %i = %c0 to %n step %c1 {
    %w = memref.view %x[%i][] : memref<64xi8> to memref<8xf32>
    %a = memref.subview %w[0][4][1] : memref<8xf32> to memref<4xf32, strided<[1]>>
    %b = memref.subview %w[4][4][1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
    // CHECK: gpu_async.memset async [%[[LAST]]]
    // CHECK-NEXT: gpu_async.memset async [%[[LAST]]]
    gpu_async.memset %a, %v : memref<4xf32, strided<[1]>>, f32
    gpu_async.memset %b, %v : memref<4xf32, strided<[1], offset: 4>>, f32
  }
  return
}
// CHECK-LABEL: func.func @select
func.func @select(%x: memref<16xf32> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %l = memref.subview %x[0][8][1] : memref<16xf32> to memref<8xf32, strided<[1]>>
  %h = memref.subview %x[4][8][1] : memref<16xf32> to memref<8xf32, strided<[1], offset: 4>>
  %lc = memref.cast %l : memref<8xf32, strided<[1]>> to memref<8xf32, strided<[1], offset: ?>>
  %hc = memref.cast %h : memref<8xf32, strided<[1], offset: 4>> to memref<8xf32, strided<[1], offset: ?>>
  // CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %{{.*}}) -> (!gpu_async.token)
  scf.for %i = %c0 to %n step %c1 {
    %is = arith.cmpi eq, %i, %c1 : index
    %w = arith.select %is, %lc, %hc : memref<8xf32, strided<[1], offset: ?>>
    %a = memref.subview %w[0][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %b = memref.subview %w[4][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // CHECK: gpu_async.memset async [%[[LAST]]]
    // CHECK-NEXT: gpu_async.memset async [%[[LAST]]]
    gpu_async.memset %a, %v : memref<4xf32, strided<[1], offset: ?>>, f32
    gpu_async.memset %b, %v : memref<4xf32, strided<[1], offset: ?>>, f32
  }
  return
}

// -----

// Distinct in each iteration, and exchanged by the next. So is what one reads and the
// other writes.
// CHECK-LABEL: func.func @exchanged
func.func @exchanged(%p: memref<16xf32>, %q: memref<16xf32>, %out: memref<16xf32> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%[[WRITES:.*]] = %{{.*}}, %[[READS:.*]] = %{{.*}}) -> (!gpu_async.token, !gpu_async.token)
  scf.for %i = %c0 to %n step %c1 {
    %is = arith.cmpi eq, %i, %c1 : index
    %x = arith.select %is, %p, %q : memref<16xf32>
    %y = arith.select %is, %q, %p : memref<16xf32>
    %a, %b = memref.distinct_objects %x, %y : memref<16xf32>, memref<16xf32>
    // CHECK: %[[A:.*]] = gpu_async.memset async [%[[WRITES]], %[[READS]]]
    // CHECK-NEXT: %[[B:.*]] = gpu_async.memcpy async [%[[READS]], %[[WRITES]]]
    // CHECK-NEXT: scf.yield %[[A]], %[[B]]
    gpu_async.memset %a, %v : memref<16xf32>, f32
    gpu_async.memcpy %out, %b : memref<16xf32>, memref<16xf32>
  }
  return
}

// -----

// Made by the outer loop, the window is one and the same in all iterations of the
// inner one; halves of it keep apart there, also through a branch.
// CHECK-LABEL: func.func @nested
func.func @nested(%x: memref<64xf32> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %{{.*}}) -> (!gpu_async.token)
  scf.for %i = %c0 to %n step %c1 {
    %w = memref.reinterpret_cast %x to offset: [%i], sizes: [8], strides: [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
    %a = memref.subview %w[0][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %b = memref.subview %w[4][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // CHECK: %[[INNER:.*]]:2 = scf.for {{.*}} iter_args(%[[A0:.*]] = %{{.*}}, %[[B0:.*]] = %{{.*}}) ->
    scf.for %j = %c0 to %n step %c1 {
      // CHECK-NEXT: %[[A1:.*]] = gpu_async.memset async [%[[LAST]], %[[A0]]]
      // CHECK-NEXT: %[[IS:.*]] = arith.cmpi
      // CHECK-NEXT: %[[B2:.*]] = scf.if
      // CHECK-NEXT: %[[B1:.*]] = gpu_async.memset async [%[[LAST]], %[[B0]]]
      // CHECK-NEXT: scf.yield %[[B1]]
      // CHECK-NEXT: } else {
      // CHECK-NEXT: scf.yield %[[B0]]
      // CHECK-NEXT: }
      // CHECK-NEXT: scf.yield %[[A1]], %[[B2]]
      gpu_async.memset %a, %v : memref<4xf32, strided<[1], offset: ?>>, f32
      %is = arith.cmpi eq, %j, %c1 : index
      scf.if %is {
        gpu_async.memset %b, %v : memref<4xf32, strided<[1], offset: ?>>, f32
      }
    }
    // CHECK: %[[ALL:.*]] = gpu_async.wait async [%[[LAST]], %[[INNER]]#0, %[[INNER]]#1]
    // CHECK-NEXT: scf.yield %[[ALL]]
  }
  return
}

// -----

// Made by a branch in the loop.
// CHECK-LABEL: func.func @inBranch
func.func @inBranch(%x: memref<64xf32> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for {{.*}} iter_args(%[[LAST:.*]] = %{{.*}}) -> (!gpu_async.token)
  scf.for %i = %c0 to %n step %c1 {
    %is = arith.cmpi eq, %i, %c1 : index
    // CHECK: %[[R:.*]]:2 = scf.if
    scf.if %is {
      %w = memref.reinterpret_cast %x to offset: [%i], sizes: [8], strides: [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
      %a = memref.subview %w[0][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
      %b = memref.subview %w[4][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
      // CHECK: gpu_async.memset async [%[[LAST]]]
      // CHECK-NEXT: gpu_async.memset async [%[[LAST]]]
      gpu_async.memset %a, %v : memref<4xf32, strided<[1], offset: ?>>, f32
      gpu_async.memset %b, %v : memref<4xf32, strided<[1], offset: ?>>, f32
    }
    // CHECK: %[[ALL:.*]] = gpu_async.wait async [%[[LAST]], %[[R]]#0, %[[R]]#1]
    // CHECK-NEXT: scf.yield %[[ALL]]
  }
  return
}

// -----

// What the condition of a loop makes, it makes once more than the body runs.
// CHECK-LABEL: func.func @condition
func.func @condition(%x: memref<64xf32> {llvm.noalias}, %n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[R:.*]]:2 = scf.while (%{{.*}}, %[[LAST:.*]] = %{{.*}})
  %end = scf.while (%i = %c0) : (index) -> index {
    %w = memref.reinterpret_cast %x to offset: [%i], sizes: [8], strides: [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
    %a = memref.subview %w[0][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %b = memref.subview %w[4][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // CHECK: %[[A:.*]] = gpu_async.memset async [%[[LAST]]]
    // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[LAST]]]
    // CHECK: %[[ALL:.*]] = gpu_async.wait async [%[[A]], %[[B]]]
    // CHECK-NEXT: scf.condition(%{{.*}}) %{{.*}}, %[[ALL]]
    gpu_async.memset %a, %v : memref<4xf32, strided<[1], offset: ?>>, f32
    gpu_async.memset %b, %v : memref<4xf32, strided<[1], offset: ?>>, f32
    %less = arith.cmpi ult, %i, %n : index
    scf.condition(%less) %i : index
  } do {
  ^bb0(%i: index):
    // CHECK: ^bb0(%{{.*}}, %[[PASSED:.*]]: !gpu_async.token):
    // CHECK: scf.yield %{{.*}}, %[[PASSED]]
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  // CHECK: gpu_async.memset async [%[[R]]#1]
  gpu_async.memset %x, %v : memref<64xf32>, f32
  return
}

// -----

// The host reads what the last iteration copies to; what this one copies to, it does
// not touch.
// CHECK-LABEL: func.func @host
func.func @host(%d: memref<4xf32> {llvm.noalias}, %h: memref<64xf32> {llvm.noalias}, %n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[LAST:.*]] = %{{.*}}) -> (f32, !gpu_async.token)
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero) -> f32 {
    %o = arith.muli %i, %c4 : index
    %w = memref.reinterpret_cast %h to offset: [%o], sizes: [8], strides: [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
    %a = memref.subview %w[0][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    %b = memref.subview %w[4][4][1] : memref<8xf32, strided<[1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // CHECK: %[[B:.*]] = gpu_async.memcpy async [%[[LAST]]]
    // CHECK-NEXT: gpu_async.wait [%[[LAST]]]
    // CHECK-NEXT: memref.load
    gpu_async.memcpy %b, %d : memref<4xf32, strided<[1], offset: ?>>, memref<4xf32>
    %v = memref.load %a[%c0] : memref<4xf32, strided<[1], offset: ?>>
    %t = arith.addf %s, %v : f32
    scf.yield %t : f32
  }
  return %r : f32
}

// -----

// Memory of an iteration's own is not ordered with the next one's.
// CHECK-LABEL: func.func @own
func.func @own(%n: index, %v: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %{{.*}} {
  // CHECK-NEXT: %[[M:.*]], %[[A:.*]] = gpu_async.alloc async()
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[A]]] %[[M]]
  // CHECK-NEXT: gpu_async.dealloc async [%[[B]]] %[[M]]
  scf.for %i = %c0 to %n step %c1 {
    %m = gpu_async.alloc () : memref<8xf32>
    gpu_async.memset %m, %v : memref<8xf32>, f32
    gpu_async.dealloc %m : memref<8xf32>
  }
  return
}

// Memory of the stack is left with the function, not with an scf.while that makes it:
// copies to it are done by then, even if the function's token covers them.
// CHECK-LABEL: func.func @stack
func.func @stack(%d: memref<8xf32> {llvm.noalias}, %n: index, %v: f32) -> !gpu_async.token {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CHECK: %[[R:.*]]:3 = scf.while
  %end = scf.while (%i = %c0) : (index) -> index {
    %less = arith.cmpi ult, %i, %n : index
    scf.condition(%less) %i : index
  } do {
  ^bb0(%i: index):
    %m = memref.alloca() : memref<8xf32>
    gpu_async.memcpy %m, %d : memref<8xf32>, memref<8xf32>
    %next = arith.addi %i, %c1 : index
    scf.yield %next : index
  }
  // CHECK: %[[T:.*]] = gpu_async.memset async [%[[R]]#{{[12]}}]
  // CHECK-NEXT: gpu_async.wait [%[[R]]#{{[12]}}]
  // CHECK-NEXT: return %[[T]]
  %t = gpu_async.memset async %d, %v : memref<8xf32>, f32
  return %t : !gpu_async.token
}

// -----

// A memref that may be either of two is anywhere: what reads it comes after all that
// writes, and before what writes.
// CHECK-LABEL: func.func @branch
func.func @branch(%x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias},
                  %d: memref<16xf32> {llvm.noalias}, %c: i1, %v: f32) {
  %s = scf.if %c -> memref<16xf32> {
    scf.yield %x : memref<16xf32>
  } else {
    scf.yield %y : memref<16xf32>
  }
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memcpy async [%[[A]]]
  // CHECK-NEXT: gpu_async.memset async [%[[A]], %[[B]]]
  gpu_async.memset %x, %v : memref<16xf32>, f32
  gpu_async.memcpy %d, %s : memref<16xf32>, memref<16xf32>
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}
// CHECK-LABEL: func.func @hostBranch
func.func @hostBranch(%x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias},
                      %d: memref<16xf32> {llvm.noalias}, %c: i1, %v: f32) {
  %c0 = arith.constant 0 : index
  %s = scf.if %c -> memref<16xf32> {
    scf.yield %x : memref<16xf32>
  } else {
    scf.yield %y : memref<16xf32>
  }
  // CHECK: %[[A:.*]] = gpu_async.memcpy async %
  // CHECK-NEXT: gpu_async.wait [%[[A]]]
  // CHECK-NEXT: memref.store
  gpu_async.memcpy %d, %s : memref<16xf32>, memref<16xf32>
  memref.store %v, %x[%c0] : memref<16xf32>
  return
}

// -----

// The same choice over and over again has two ends, not two to the power of its
// length.
// CHECK-LABEL: func.func @choices
func.func @choices(%x: memref<16xf32> {llvm.noalias}, %y: memref<16xf32> {llvm.noalias}, %z: memref<16xf32> {llvm.noalias}, %c: i1, %v: f32) {
  %a1 = arith.select %c, %x, %y : memref<16xf32>
  %b1 = arith.select %c, %y, %x : memref<16xf32>
  %a2 = arith.select %c, %a1, %b1 : memref<16xf32>
  %b2 = arith.select %c, %b1, %a1 : memref<16xf32>
  %a3 = arith.select %c, %a2, %b2 : memref<16xf32>
  %b3 = arith.select %c, %b2, %a2 : memref<16xf32>
  %a4 = arith.select %c, %a3, %b3 : memref<16xf32>
  %b4 = arith.select %c, %b3, %a3 : memref<16xf32>
  %a5 = arith.select %c, %a4, %b4 : memref<16xf32>
  %b5 = arith.select %c, %b4, %a4 : memref<16xf32>
  %a6 = arith.select %c, %a5, %b5 : memref<16xf32>
  %b6 = arith.select %c, %b5, %a5 : memref<16xf32>
  %a7 = arith.select %c, %a6, %b6 : memref<16xf32>
  %b7 = arith.select %c, %b6, %a6 : memref<16xf32>
  %a8 = arith.select %c, %a7, %b7 : memref<16xf32>
  // CHECK: %[[A:.*]] = gpu_async.memset async %
  // CHECK-NEXT: gpu_async.memset async %
  // CHECK-NEXT: gpu_async.memset async [%[[A]]] %
  gpu_async.memset %a8, %v : memref<16xf32>, f32
  gpu_async.memset %z, %v : memref<16xf32>, f32
  gpu_async.memset %x, %v : memref<16xf32>, f32
  return
}
