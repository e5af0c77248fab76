// RUN: gpu-opt %s -gpu-async-reduce-dependencies --verify-roundtrip | FileCheck %s
// RUN: gpu-opt %s -gpu-async-reduce-dependencies -gpu-async-reduce-dependencies | FileCheck %s
//
// Dependencies that others of the same op imply (D11). That no order is lost is checked by
// Pipelines/check-order.test.

// The token of the reads comes before that of the write, in each iteration and in front of the
// first one. Behind the loop one of the three is enough, too.
// CHECK-LABEL: func.func @chain(
// CHECK: %[[A:.*]] = gpu_async.memset async %
// CHECK: %[[B:.*]] = gpu_async.memset async [%[[A]]]
// CHECK: %[[L:.*]]:3 = scf.for {{.*}} iter_args(%[[X:.*]] = %[[B]], %[[Y:.*]] = %[[A]], %[[Z:.*]] = %{{.*}})
// CHECK: %[[C:.*]] = gpu_async.memset async [%[[X]]]
// CHECK: %[[D:.*]] = gpu_async.memset async [%[[C]]]
// CHECK: scf.yield %[[D]], %[[C]], %[[C]]
// CHECK: gpu_async.wait [%[[L]]#0]
func.func @chain(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async [%a] %y, %v : memref<8xf32>, f32
  %ready = gpu_async.wait async
  %r:3 = scf.for %i = %c0 to %n step %c1 iter_args(%ta = %b, %tb = %a, %tc = %ready)
      -> (!gpu_async.token, !gpu_async.token, !gpu_async.token) {
    %c = gpu_async.memset async [%ta, %tb, %tc] %x, %v : memref<8xf32>, f32
    %d = gpu_async.memset async [%c, %tb] %y, %v : memref<8xf32>, f32
    scf.yield %d, %c, %c : !gpu_async.token, !gpu_async.token, !gpu_async.token
  }
  gpu_async.wait [%r#0, %r#1, %r#2]
  return
}

// In the first iteration only the second token orders the work behind %b.
// CHECK-LABEL: func.func @first_iteration(
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
// CHECK: gpu_async.memset async [%[[X]], %[[Y]]]
// CHECK: gpu_async.wait [%{{.*}}#0, %{{.*}}#1]
func.func @first_iteration(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async %y, %v : memref<8xf32>, f32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%ta = %a, %tb = %b)
      -> (!gpu_async.token, !gpu_async.token) {
    %c = gpu_async.memset async [%ta, %tb] %x, %v : memref<8xf32>, f32
    %d = gpu_async.memset async [%c] %y, %v : memref<8xf32>, f32
    scf.yield %d, %c : !gpu_async.token, !gpu_async.token
  }
  gpu_async.wait [%r#0, %r#1]
  return
}

// From the second iteration on, only the second token orders the work behind %d.
// CHECK-LABEL: func.func @later_iterations(
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
// CHECK: gpu_async.memset async [%[[X]], %[[Y]]]
func.func @later_iterations(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async [%a] %y, %v : memref<8xf32>, f32
  scf.for %i = %c0 to %n step %c1 iter_args(%ta = %b, %tb = %a)
      -> (!gpu_async.token, !gpu_async.token) {
    %c = gpu_async.memset async [%ta, %tb] %x, %v : memref<8xf32>, f32
    %d = gpu_async.memset async [%tb] %y, %v : memref<8xf32>, f32
    scf.yield %c, %d : !gpu_async.token, !gpu_async.token
  }
  return
}

// It fails one iteration later: %tb is before %ta at first, and then it is what %tc was.
// CHECK-LABEL: func.func @rotated(
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}, %[[Z:.*]] = %{{.*}})
// CHECK: gpu_async.memset async [%[[X]], %[[Y]]]
func.func @rotated(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
  %e = gpu_async.memset async %y, %v : memref<8xf32>, f32
  scf.for %i = %c0 to %n step %c1 iter_args(%ta = %b, %tb = %a, %tc = %e)
      -> (!gpu_async.token, !gpu_async.token, !gpu_async.token) {
    %c = gpu_async.memset async [%ta, %tb] %x, %v : memref<8xf32>, f32
    scf.yield %ta, %tc, %tb : !gpu_async.token, !gpu_async.token, !gpu_async.token
  }
  return
}

// Two tokens that stand for the same: one stays.
// CHECK-LABEL: func.func @equal(
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
// CHECK: gpu_async.memset async [%[[X]]]
func.func @equal(%x: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  scf.for %i = %c0 to %n step %c1 iter_args(%ta = %a, %tb = %a)
      -> (!gpu_async.token, !gpu_async.token) {
    %c = gpu_async.memset async [%ta, %tb] %x, %v : memref<8xf32>, f32
    scf.yield %c, %c : !gpu_async.token, !gpu_async.token
  }
  return
}

// A join is what it joins.
// CHECK-LABEL: func.func @joins(
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
// CHECK: gpu_async.memset async [%[[X]]]
func.func @joins(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async %y, %v : memref<8xf32>, f32
  %e = gpu_async.memset async [%a, %b] %x, %v : memref<8xf32>, f32
  %ab = gpu_async.wait async [%a, %b]
  scf.for %i = %c0 to %n step %c1 iter_args(%ta = %e, %tb = %ab)
      -> (!gpu_async.token, !gpu_async.token) {
    %c = gpu_async.memset async [%ta, %tb] %x, %v : memref<8xf32>, f32
    %d = gpu_async.memset async [%ta] %y, %v : memref<8xf32>, f32
    %f = gpu_async.memset async [%c, %d] %x, %v : memref<8xf32>, f32
    %cd = gpu_async.wait async [%c, %d]
    scf.yield %f, %cd : !gpu_async.token, !gpu_async.token
  }
  return
}

// Results of a branch are compared region by region. %p#1 is before %p#0 in both, %p#2 in one.
// CHECK-LABEL: func.func @branch(
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}, %[[Z:.*]] = %{{.*}})
// CHECK: scf.if
// CHECK-NEXT: gpu_async.memset async [%[[X]], %[[Z]]]
func.func @branch(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index, %k: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  scf.for %i = %c0 to %n step %c1 iter_args(%ta = %a, %tb = %a, %tc = %a)
      -> (!gpu_async.token, !gpu_async.token, !gpu_async.token) {
    %p:3 = scf.if %k -> (!gpu_async.token, !gpu_async.token, !gpu_async.token) {
      %c = gpu_async.memset async [%ta, %tb, %tc] %x, %v : memref<8xf32>, f32
      %d = gpu_async.memset async [%c] %x, %v : memref<8xf32>, f32
      %e = gpu_async.memset async %y, %v : memref<8xf32>, f32
      scf.yield %d, %c, %e : !gpu_async.token, !gpu_async.token, !gpu_async.token
    } else {
      scf.yield %ta, %ta, %ta : !gpu_async.token, !gpu_async.token, !gpu_async.token
    }
    scf.yield %p#0, %p#1, %p#2 : !gpu_async.token, !gpu_async.token, !gpu_async.token
  }
  return
}

// What is before a result in one region only is not before it.
// CHECK-LABEL: func.func @paths(
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}}, %[[Z:.*]] = %{{.*}})
// CHECK: %[[P:.*]] = scf.if
// CHECK: gpu_async.memset async [%[[P]], %[[Y]], %[[Z]]]
func.func @paths(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index, %k: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async %y, %v : memref<8xf32>, f32
  %e = gpu_async.memset async %y, %v : memref<8xf32>, f32
  scf.for %i = %c0 to %n step %c1 iter_args(%ta = %a, %tb = %b, %tc = %e)
      -> (!gpu_async.token, !gpu_async.token, !gpu_async.token) {
    %p = scf.if %k -> (!gpu_async.token) {
      %c = gpu_async.memset async [%ta, %tb] %x, %v : memref<8xf32>, f32
      scf.yield %c : !gpu_async.token
    } else {
      %c = gpu_async.memset async [%ta, %tc] %x, %v : memref<8xf32>, f32
      scf.yield %c : !gpu_async.token
    }
    %d = gpu_async.memset async [%p, %tb, %tc, %ta] %x, %v : memref<8xf32>, f32
    scf.yield %d, %tb, %tc : !gpu_async.token, !gpu_async.token, !gpu_async.token
  }
  return
}

// A token from outside that all iterations take, as a loop would carry it.
// CHECK-LABEL: func.func @outside(
// CHECK: %[[A:.*]] = gpu_async.memset async %
// CHECK: %[[B:.*]] = gpu_async.memset async %
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}})
// CHECK: gpu_async.memset async [%[[X]], %[[B]]]
func.func @outside(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async %y, %v : memref<8xf32>, f32
  %e = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
  scf.for %i = %c0 to %n step %c1 iter_args(%ta = %e) -> (!gpu_async.token) {
    %c = gpu_async.memset async [%ta, %a, %b] %x, %v : memref<8xf32>, f32
    scf.yield %c : !gpu_async.token
  }
  return
}

// CHECK-LABEL: func.func @nested(
// CHECK: scf.for {{.*}} iter_args(%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
// CHECK: %[[IN:.*]]:2 = scf.for {{.*}} iter_args(%[[U:.*]] = %[[X]], %[[V:.*]] = %[[Y]])
// CHECK: gpu_async.memset async [%[[U]]]
// CHECK: scf.yield
// CHECK: gpu_async.memset async [%[[IN]]#0]
func.func @nested(%x: memref<8xf32>, %v: f32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
  scf.for %i = %c0 to %n step %c1 iter_args(%ta = %b, %tb = %a)
      -> (!gpu_async.token, !gpu_async.token) {
    %r:2 = scf.for %j = %c0 to %n step %c1 iter_args(%tc = %ta, %td = %tb)
        -> (!gpu_async.token, !gpu_async.token) {
      %c = gpu_async.memset async [%tc, %td] %x, %v : memref<8xf32>, f32
      %d = gpu_async.memset async [%c] %x, %v : memref<8xf32>, f32
      scf.yield %d, %c : !gpu_async.token, !gpu_async.token
    }
    %e = gpu_async.memset async [%r#0, %r#1] %x, %v : memref<8xf32>, f32
    scf.yield %e, %r#1 : !gpu_async.token, !gpu_async.token
  }
  return
}

// The values of an scf.while are other ones in its second region, and behind it.
// CHECK-LABEL: func.func @while(
// CHECK: %[[L:.*]]:2 = scf.while (%[[X:.*]] = %{{.*}}, %[[Y:.*]] = %{{.*}})
// CHECK: %[[C:.*]] = gpu_async.memset async [%[[X]]]
// CHECK: scf.condition(%{{.*}}) %[[X]], %[[C]]
// CHECK: ^bb0(%[[U:.*]]: !gpu_async.token, %[[V:.*]]: !gpu_async.token):
// CHECK: %[[D:.*]] = gpu_async.memset async [%[[V]]]
// CHECK: gpu_async.wait [%[[L]]#1]
func.func @while(%x: memref<8xf32>, %v: f32, %k: i1) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
  %r:2 = scf.while (%ta = %b, %tb = %a)
      : (!gpu_async.token, !gpu_async.token) -> (!gpu_async.token, !gpu_async.token) {
    %c = gpu_async.memset async [%ta, %tb] %x, %v : memref<8xf32>, f32
    scf.condition(%k) %ta, %c : !gpu_async.token, !gpu_async.token
  } do {
  ^bb0(%tc: !gpu_async.token, %td: !gpu_async.token):
    %d = gpu_async.memset async [%tc, %td] %x, %v : memref<8xf32>, f32
    scf.yield %d, %td : !gpu_async.token, !gpu_async.token
  }
  gpu_async.wait [%r#0, %r#1]
  return
}

// The condition makes the token: the loop begins with none.
// CHECK-LABEL: func.func @made_by_the_condition(
// CHECK: %[[R:.*]] = scf.while : () -> !gpu_async.token
// CHECK: %[[A:.*]] = gpu_async.memset async %
// CHECK: scf.condition(%{{.*}}) %[[A]]
// CHECK: ^bb0(%[[T:.*]]: !gpu_async.token):
// CHECK: gpu_async.memset async [%[[T]]]
// CHECK: gpu_async.wait [%[[R]]]
func.func @made_by_the_condition(%x: memref<8xf32>, %v: f32, %k: i1) {
  %r = scf.while : () -> !gpu_async.token {
    %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
    scf.condition(%k) %a : !gpu_async.token
  } do {
  ^bb0(%t: !gpu_async.token):
    %b = gpu_async.memset async [%t] %x, %v : memref<8xf32>, f32
    gpu_async.wait [%b]
    scf.yield
  }
  gpu_async.wait [%r]
  return
}
