// RUN: gpu-opt %s -gpu-async-make-forks-explicit | FileCheck %s
// RUN: gpu-opt %s -gpu-async-make-forks-explicit -gpu-async-make-forks-explicit | FileCheck %s
// RUN: gpu-opt %s -gpu-async-make-forks-explicit -gpu-async-verify-form=form=linear -o /dev/null
//
// Every token is consumed exactly once (D01, D02, D09, D10).

// CHECK-LABEL: func.func @fork
func.func @fork(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[F:.*]]:3 = gpu_async.fork %[[A]] : 3
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[F]]#0]
  // CHECK-NEXT: %[[C:.*]] = gpu_async.memset async [%[[F]]#1]
  // CHECK-NEXT: gpu_async.wait [%[[B]], %[[C]], %[[F]]#2]
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
  %c = gpu_async.memset async [%a] %y, %v : memref<8xf32>, f32
  gpu_async.wait [%b, %c, %a]
  return
}

// CHECK-LABEL: func.func @release
func.func @release(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: gpu_async.release %[[A]]
  // CHECK-NEXT: return
  %r = gpu_async.wait async
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  return
}

// CHECK-LABEL: func.func @duplicates
func.func @duplicates(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[A]]]
  // CHECK-NEXT: gpu_async.wait [%[[B]]]
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async [%a, %a] %x, %v : memref<8xf32>, f32
  gpu_async.wait [%b, %b]
  return
}

// CHECK-LABEL: func.func @double_wait
func.func @double_wait(%x: memref<8xf32>, %v: f32) {
  // CHECK: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[F:.*]]:2 = gpu_async.fork %[[A]] : 2
  // CHECK-NEXT: gpu_async.wait [%[[F]]#0]
  // CHECK-NEXT: gpu_async.wait [%[[F]]#1]
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  gpu_async.wait [%a]
  gpu_async.wait [%a]
  return
}

// CHECK-LABEL: func.func private @callee(!gpu_async.token) -> !gpu_async.token
func.func private @callee(!gpu_async.token) -> !gpu_async.token

// CHECK-LABEL: func.func @signature
// CHECK-SAME: (%[[T:.*]]: !gpu_async.token, %[[U:.*]]: !gpu_async.token)
func.func @signature(%t: !gpu_async.token, %u: !gpu_async.token) -> (!gpu_async.token, !gpu_async.token) {
  // CHECK-NEXT: %[[F:.*]]:2 = gpu_async.fork %[[T]] : 2
  // CHECK-NEXT: gpu_async.release %[[U]]
  // CHECK-NEXT: %[[C:.*]] = call @callee(%[[F]]#0)
  // CHECK-NEXT: gpu_async.release %[[C]]
  // CHECK-NEXT: %[[D:.*]] = call @callee(%[[F]]#1)
  // CHECK-NEXT: %[[G:.*]]:2 = gpu_async.fork %[[D]] : 2
  // CHECK-NEXT: return %[[G]]#0, %[[G]]#1
  %c = call @callee(%t) : (!gpu_async.token) -> !gpu_async.token
  %d = call @callee(%t) : (!gpu_async.token) -> !gpu_async.token
  return %d, %d : !gpu_async.token, !gpu_async.token
}

// CHECK-LABEL: func.func @in_regions
func.func @in_regions(%x: memref<8xf32>, %v: f32, %n: index) {
  // CHECK: scf.for
  // CHECK-NEXT: %[[A:.*]] = gpu_async.memset async %{{.*}}
  // CHECK-NEXT: %[[F:.*]]:2 = gpu_async.fork %[[A]] : 2
  // CHECK-NEXT: %[[B:.*]] = gpu_async.memset async [%[[F]]#0]
  // CHECK-NEXT: gpu_async.wait [%[[F]]#1, %[[B]]]
  scf.for %i = %n to %n step %n {
    %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
    %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
    gpu_async.wait [%a, %b]
  }
  return
}

// RUN: gpu-opt %s -gpu-async-make-forks-explicit --remarks-filter=gpu-async-make-forks-explicit --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: remark: [Passed] Forks | Category:gpu-async-make-forks-explicit | forks=5, releases=3{{$}}
