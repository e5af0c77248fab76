// RUN: gpu-opt %s -convert-gpu-to-gpu-async --verify-roundtrip -verify-diagnostics | FileCheck %s -enable-var-scope
// RUN: gpu-opt %s -convert-gpu-to-gpu-async -gpu-async-verify-form=form=token -gpu-async-make-forks-explicit -gpu-async-verify-form=form=linear -gpu-async-assign-streams -gpu-async-verify-form=form=stream -o /dev/null
//
// Upstream tokens through structured control flow, arith.select and calls
// (D05, D06, D07, D14): no host wait but where the program says so.

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @f(%x: memref<8xf32>) kernel {
    gpu.return
  }
}

// A use of a token inside means its tail at the region op; the tail that the
// branch makes is a result, which the uses behind it mean.
// CHECK-LABEL: func.func @if_retied(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V4:.*]] = gpu_async.memset async [%[[V3]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V5:.*]] = scf.if %[[V2]] -> (!gpu_async.token) {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async [%[[V4]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V7:.*]] = gpu_async.memset async [%[[V6]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V7]] : !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V4]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: %[[V8:.*]] = gpu_async.memset async [%[[V5]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V8]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @if_retied(%x: memref<8xf32>, %v: f32, %c: i1) {
  %t = gpu.wait async
  %0 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  scf.if %c {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  }
  %3 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  gpu.wait [%t]
  return
}

// Work without a token to hang on comes out as a token, too.
// CHECK-LABEL: func.func @if_open(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: memref<8xf32>, %[[V2:.*]]: f32, %[[V3:.*]]: i1) {
// CHECK-NEXT: %[[V4:.*]] = scf.if %[[V3]] -> (!gpu_async.token) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V7:.*]] = gpu_async.wait async [%[[V5]], %[[V6]]]
// CHECK-NEXT: scf.yield %[[V7]] : !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V8:.*]] = gpu_async.wait async
// CHECK-NEXT: scf.yield %[[V8]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V4]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @if_open(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %c: i1) {
  scf.if %c {
    %1 = gpu.memset async %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async %y, %v : memref<8xf32>, f32
  } else {
  }
  gpu.wait
  return
}

// CHECK-LABEL: func.func @if_results(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) -> !gpu_async.token {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V4:.*]]:2 = scf.if %[[V2]] -> (f32, !gpu_async.token) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async [%[[V3]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async [%[[V5]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V1]], %[[V6]] : f32, !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V1]], %[[V3]] : f32, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V4]]#1 : !gpu_async.token
// CHECK-NEXT: }
func.func @if_results(%x: memref<8xf32>, %v: f32, %c: i1) -> !gpu.async.token {
  %t = gpu.memset async %x, %v : memref<8xf32>, f32
  %r:2 = scf.if %c -> (f32, !gpu.async.token) {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%1] %x, %v : memref<8xf32>, f32
    scf.yield %v, %1 : f32, !gpu.async.token
  } else {
    scf.yield %v, %t : f32, !gpu.async.token
  }
  return %r#1 : !gpu.async.token
}

// CHECK-LABEL: func.func @switch(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V4:.*]] = scf.index_switch %[[V2]] -> !gpu_async.token
// CHECK-NEXT: case 2 {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async [%[[V3]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V5]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: default {
// CHECK-NEXT: scf.yield %[[V3]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V4]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @switch(%x: memref<8xf32>, %v: f32, %i: index) {
  %t = gpu.wait async
  scf.index_switch %i
  case 2 {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    scf.yield
  }
  default {
  }
  gpu.wait [%t]
  return
}

// CHECK-LABEL: func.func @execute_region(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32) {
// CHECK-NEXT: %[[V2:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V3:.*]] = scf.execute_region -> !gpu_async.token {
// CHECK-NEXT: %[[V4:.*]] = gpu_async.memset async [%[[V2]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async [%[[V4]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V5]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V3]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @execute_region(%x: memref<8xf32>, %v: f32) {
  %t = gpu.wait async
  %r = scf.execute_region -> !gpu.async.token {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%1] %x, %v : memref<8xf32>, f32
    scf.yield %2 : !gpu.async.token
  }
  gpu.wait [%r]
  return
}

// Iterations follow each other on the token, without a host wait.
// CHECK-LABEL: func.func @for_retied(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V6:.*]] = scf.for %[[V7:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V8:.*]] = %[[V5]]) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V9:.*]] = gpu_async.memset async [%[[V8]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V10:.*]] = gpu_async.memset async [%[[V9]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V10]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V6]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @for_retied(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %t = gpu.wait async
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  }
  gpu.wait [%t]
  return
}

// Iterations are independent; a join of what they leave comes out.
// CHECK-LABEL: func.func @for_open(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: memref<8xf32>, %[[V2:.*]]: f32, %[[V3:.*]]: index, %[[V4:.*]]: index, %[[V5:.*]]: index) {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V7:.*]] = scf.for %[[V8:.*]] = %[[V3]] to %[[V4]] step %[[V5]] iter_args(%[[V9:.*]] = %[[V6]]) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V10:.*]] = gpu_async.memset async %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V11:.*]] = gpu_async.memset async %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V12:.*]] = gpu_async.wait async [%[[V9]], %[[V10]], %[[V11]]]
// CHECK-NEXT: scf.yield %[[V12]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V7]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @for_open(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async %y, %v : memref<8xf32>, f32
  }
  gpu.wait
  return
}

// CHECK-LABEL: func.func @for_carries(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: %[[V5:.*]], %[[V6:.*]] = gpu_async.alloc async() : memref<8xf32>
// CHECK-NEXT: %[[V7:.*]] = scf.for %[[V8:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V9:.*]] = %[[V6]]) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V10:.*]] = gpu_async.memset async [%[[V9]]] %[[V5]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V10]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: %[[V11:.*]] = gpu_async.dealloc async [%[[V7]]] %[[V5]] : memref<8xf32>
// CHECK-NEXT: gpu_async.wait [%[[V11]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @for_carries(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %m, %a = gpu.alloc async () : memref<8xf32>
  %r = scf.for %i = %l to %u step %s iter_args(%t = %a) -> !gpu.async.token {
    %1 = gpu.memset async [%t] %m, %v : memref<8xf32>, f32
    scf.yield %1 : !gpu.async.token
  }
  %d = gpu.dealloc async [%r] %m : memref<8xf32>
  gpu.wait [%d]
  return
}

// The allocation's token goes in where no other says that it is over.
// CHECK-LABEL: func.func @for_allocation(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: %[[V5:.*]], %[[V6:.*]] = gpu_async.alloc async() : memref<8xf32>
// CHECK-NEXT: scf.for %[[V7:.*]] = %[[V2]] to %[[V3]] step %[[V4]] {
// CHECK-NEXT: %[[V8:.*]] = gpu_async.memset async [%[[V6]]] %[[V5]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V9:.*]] = gpu_async.memset async [%[[V8]]] %[[V5]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V9]]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V6]]]
// CHECK-NEXT: %[[V10:.*]] = gpu_async.dealloc async %[[V5]] : memref<8xf32>
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @for_allocation(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %m, %a = gpu.alloc async () : memref<8xf32>
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async %m, %v : memref<8xf32>, f32
    %2 = gpu.memset async [%1] %m, %v : memref<8xf32>, f32
    gpu.wait [%2]
  }
  gpu.dealloc %m : memref<8xf32>
  return
}

// A captured token that is waited for in each iteration.
// CHECK-LABEL: func.func @for_waits(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.for %[[V6:.*]] = %[[V2]] to %[[V3]] step %[[V4]] {
// CHECK-NEXT: %[[V7:.*]] = gpu_async.memset async [%[[V5]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V7]]]
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @for_waits(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %t = gpu.memset async %x, %v : memref<8xf32>, f32
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    gpu.wait [%1]
  }
  return
}

// The host reads what earlier iterations write: it waits for them.
// CHECK-LABEL: func.func @for_host_reads(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) -> f32 {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V6:.*]]:2 = scf.for %[[V7:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V8:.*]] = %[[V1]], %[[V9:.*]] = %[[V5]]) -> (f32, !gpu_async.token) {
// CHECK-NEXT: gpu_async.wait [%[[V9]]]
// CHECK-NEXT: %[[V10:.*]] = memref.load %[[V0]][%[[V7]]] : memref<8xf32>
// CHECK-NEXT: %[[V11:.*]] = arith.addf %[[V8]], %[[V10]] : f32
// CHECK-NEXT: %[[V12:.*]] = gpu_async.memset async %[[V0]], %[[V11]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V11]], %[[V12]] : f32, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V6]]#1]
// CHECK-NEXT: return %[[V6]]#0 : f32
// CHECK-NEXT: }
func.func @for_host_reads(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) -> f32 {
  // expected-note @below {{nobody takes this token}}
  %r = scf.for %i = %l to %u step %s iter_args(%sum = %v) -> f32 {
    %e = memref.load %x[%i] : memref<8xf32>
    %n = arith.addf %sum, %e : f32
    %1 = gpu.memset async %x, %n : memref<8xf32>, f32
    scf.yield %n : f32
  }
  // expected-remark @below {{the host waits here}}
  return %r : f32
}

// CHECK-LABEL: func.func @while(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: memref<8xf32>, %[[V2:.*]]: f32, %[[V3:.*]]: index, %[[V4:.*]]: index, %[[V5:.*]]: index) {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V7:.*]] = gpu_async.memset async %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V8:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V9:.*]]:4 = scf.while (%[[V10:.*]] = %[[V3]], %[[V11:.*]] = %[[V7]], %[[V12:.*]] = %[[V6]], %[[V13:.*]] = %[[V8]]) : (index, !gpu_async.token, !gpu_async.token, !gpu_async.token) -> (index, !gpu_async.token, !gpu_async.token, !gpu_async.token) {
// CHECK-NEXT: %[[V14:.*]] = arith.cmpi slt, %[[V10]], %[[V4]] : index
// CHECK-NEXT: scf.condition(%[[V14]]) %[[V10]], %[[V11]], %[[V12]], %[[V13]] : index, !gpu_async.token, !gpu_async.token, !gpu_async.token
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[V15:.*]]: index, %[[V16:.*]]: !gpu_async.token, %[[V17:.*]]: !gpu_async.token, %[[V18:.*]]: !gpu_async.token):
// CHECK-NEXT: %[[V19:.*]] = gpu_async.memset async [%[[V17]]] %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V20:.*]] = gpu_async.memset async %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V21:.*]] = gpu_async.memset async [%[[V16]]] %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V22:.*]] = arith.addi %[[V15]], %[[V5]] : index
// CHECK-NEXT: %[[V23:.*]] = gpu_async.wait async [%[[V18]], %[[V20]]]
// CHECK-NEXT: scf.yield %[[V22]], %[[V21]], %[[V19]], %[[V23]] : index, !gpu_async.token, !gpu_async.token, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V9]]#1, %[[V9]]#2]
// CHECK-NEXT: gpu_async.wait [%[[V9]]#3]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @while(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %t = gpu.wait async
  %a = gpu.memset async %y, %v : memref<8xf32>, f32
  %r:2 = scf.while (%i = %l, %p = %a) : (index, !gpu.async.token) -> (index, !gpu.async.token) {
    %m = arith.cmpi slt, %i, %u : index
    scf.condition(%m) %i, %p : index, !gpu.async.token
  } do {
  ^bb0(%j: index, %q: !gpu.async.token):
    %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    %2 = gpu.memset async %x, %v : memref<8xf32>, f32
    %n = gpu.memset async [%q] %y, %v : memref<8xf32>, f32
    %k = arith.addi %j, %s : index
    scf.yield %k, %n : index, !gpu.async.token
  }
  gpu.wait [%r#1, %t]
  gpu.wait
  return
}

// CHECK-LABEL: func.func @nested(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index, %[[V5:.*]]: i1) {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V7:.*]] = scf.for %[[V8:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V9:.*]] = %[[V6]]) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V10:.*]] = scf.if %[[V5]] -> (!gpu_async.token) {
// CHECK-NEXT: %[[V11:.*]] = gpu_async.memset async [%[[V9]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V11]] : !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V9]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: %[[V12:.*]] = gpu_async.memset async [%[[V10]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V12]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V7]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @nested(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index, %c: i1) {
  %t = gpu.wait async
  scf.for %i = %l to %u step %s {
    scf.if %c {
      %1 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    }
    %2 = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  }
  gpu.wait [%t]
  return
}

// CHECK-LABEL: func.func @select(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: memref<8xf32>, %[[V2:.*]]: f32, %[[V3:.*]]: i1) -> !gpu_async.token {
// CHECK-NEXT: %[[V4:.*]] = gpu_async.memset async %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async [%[[V4]]] %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V7:.*]] = arith.select %[[V3]], %[[V6]], %[[V5]] : !gpu_async.token
// CHECK-NEXT: %[[V8:.*]] = gpu_async.memset async [%[[V7]]] %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: return %[[V8]] : !gpu_async.token
// CHECK-NEXT: }
func.func @select(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %c: i1) -> !gpu.async.token {
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  %1 = gpu.memset async [%a] %x, %v : memref<8xf32>, f32
  %s = arith.select %c, %a, %b : !gpu.async.token
  %2 = gpu.memset async [%s] %x, %v : memref<8xf32>, f32
  return %s : !gpu.async.token
}

// The token of the select is of this region only; what follows asks no more for it.
// CHECK-LABEL: func.func @select_in_a_region(
// CHECK: %[[X:.*]], %[[A:.*]] = gpu_async.alloc async
// CHECK: scf.if
// CHECK:   %[[S:.*]] = arith.select
// CHECK:   gpu_async.memset async [%[[S]], %[[A]]] %[[X]]
// CHECK: %[[Y:.*]] = gpu_async.memset async %{{.*}}, %{{.*}} : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[Y]]]
// CHECK-NEXT: gpu_async.wait [%[[A]]]
// CHECK-NEXT: gpu_async.dealloc async %[[X]]
func.func @select_in_a_region(%y: memref<8xf32>, %v: f32, %c: i1) {
  %x, %a = gpu.alloc async () : memref<8xf32>
  scf.if %c {
    %b = gpu.memset async %y, %v : memref<8xf32>, f32
    %s = arith.select %c, %a, %b : !gpu.async.token
    %d = gpu.memset async [%s] %x, %v : memref<8xf32>, f32
    gpu.wait [%d]
  }
  gpu.memset %y, %v : memref<8xf32>, f32
  gpu.dealloc %x : memref<8xf32>
  return
}

// CHECK-LABEL: func.func private @callee(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: !gpu_async.token, %[[V3:.*]]: index) -> !gpu_async.token {
// CHECK-NEXT: %[[V4:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V5:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[V6:.*]] = arith.cmpi eq, %[[V3]], %[[V4]] : index
// CHECK-NEXT: %[[V7:.*]]:2 = scf.if %[[V6]] -> (!gpu_async.token, !gpu_async.token) {
// CHECK-NEXT: scf.yield %[[V2]], %[[V2]] : !gpu_async.token, !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V8:.*]] = arith.subi %[[V3]], %[[V5]] : index
// CHECK-NEXT: %[[V9:.*]] = gpu_async.launch async [%[[V2]]] @k::@f blocks in(%[[V5]], %[[V5]], %[[V5]]) threads in(%[[V5]], %[[V5]], %[[V5]]) args(%[[V0]] : memref<8xf32>)
// CHECK-NEXT: %[[V10:.*]] = func.call @callee(%[[V0]], %[[V1]], %[[V9]], %[[V8]]) : (memref<8xf32>, f32, !gpu_async.token, index) -> !gpu_async.token
// CHECK-NEXT: scf.yield %[[V10]], %[[V9]] : !gpu_async.token, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V7]]#0 : !gpu_async.token
// CHECK-NEXT: }
func.func private @callee(%x: memref<8xf32>, %v: f32, %t: !gpu.async.token, %n: index) -> !gpu.async.token {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.cmpi eq, %n, %zero : index
  %r = scf.if %last -> !gpu.async.token {
    scf.yield %t : !gpu.async.token
  } else {
    %less = arith.subi %n, %one : index
    %a = gpu.launch_func async [%t] @k::@f blocks in (%one, %one, %one) threads in (%one, %one, %one) args(%x : memref<8xf32>)
    %d = func.call @callee(%x, %v, %t, %less) : (memref<8xf32>, f32, !gpu.async.token, index) -> !gpu.async.token
    scf.yield %d : !gpu.async.token
  }
  return %r : !gpu.async.token
}

// CHECK-LABEL: func.func @calls_in_loop(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V6:.*]], %[[V7:.*]] = gpu_async.alloc async [%[[V5]]]() : memref<8xf32>
// CHECK-NEXT: %[[V8:.*]] = scf.for %[[V9:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V10:.*]] = %[[V7]]) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V11:.*]] = func.call @callee(%[[V6]], %[[V1]], %[[V10]], %[[V9]]) : (memref<8xf32>, f32, !gpu_async.token, index) -> !gpu_async.token
// CHECK-NEXT: scf.yield %[[V11]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V8]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @calls_in_loop(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %t = gpu.wait async
  %m, %a = gpu.alloc async [%t] () : memref<8xf32>
  %r = scf.for %i = %l to %u step %s iter_args(%p = %a) -> !gpu.async.token {
    %n = func.call @callee(%m, %v, %p, %i) : (memref<8xf32>, f32, !gpu.async.token, index) -> !gpu.async.token
    scf.yield %n : !gpu.async.token
  }
  gpu.wait [%r]
  return
}

// No iteration leaves anything: nothing is carried.
// CHECK-LABEL: func.func @for_closed(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: scf.for %[[V5:.*]] = %[[V2]] to %[[V3]] step %[[V4]] {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V6]]]
// CHECK-NEXT: %[[V7:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V7]]]
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @for_closed(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  scf.for %i = %l to %u step %s {
    %1 = gpu.memset async %x, %v : memref<8xf32>, f32
    gpu.wait [%1]
    gpu.memset %x, %v : memref<8xf32>, f32
  }
  return
}

// CHECK-LABEL: func.func @execute_in_loop(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: memref<8xf32>, %[[V2:.*]]: f32, %[[V3:.*]]: index, %[[V4:.*]]: index, %[[V5:.*]]: index) {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V7:.*]] = scf.for %[[V8:.*]] = %[[V3]] to %[[V4]] step %[[V5]] iter_args(%[[V9:.*]] = %[[V6]]) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V10:.*]] = gpu_async.memset async [%[[V9]]] %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V11:.*]] = gpu_async.memset async [%[[V9]]] %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V11]]]
// CHECK-NEXT: scf.yield %[[V10]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V7]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @execute_in_loop(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  // expected-note @below {{nobody takes this token}}
  scf.for %i = %l to %u step %s {
    %a = async.execute {
      gpu.memset %x, %v : memref<8xf32>, f32
      async.yield
    }
    %b = async.execute {
      gpu.memset %y, %v : memref<8xf32>, f32
      async.yield
    }
    async.await %b : !async.token
  }
  // expected-remark @below {{the host waits here}}
  return
}

// CHECK-LABEL: func.func private @consumes(
// CHECK-SAME: !gpu_async.token, memref<8xf32>)
func.func private @consumes(!gpu.async.token, memref<8xf32>)

// What a lifted loop passes on is undefined when it ends: the call waits for
// nothing, and the loop's token is known to come after what went in.
// CHECK-LABEL: func.func @lifted(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.wait async {gpu_async.undefined}
// CHECK-NEXT: %[[V4:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V5:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V7:.*]]:2 = scf.while (%[[V8:.*]] = %[[V6]], %[[V9:.*]] = %[[V3]]) : (!gpu_async.token, !gpu_async.token) -> (!gpu_async.token, !gpu_async.token) {
// CHECK-NEXT: %[[V10:.*]]:2 = scf.if %[[V2]] -> (!gpu_async.token, i32) {
// CHECK-NEXT: %[[V11:.*]] = gpu_async.memset async [%[[V8]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V11]], %[[V5]] : !gpu_async.token, i32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V3]], %[[V4]] : !gpu_async.token, i32
// CHECK-NEXT: }
// CHECK-NEXT: %[[V12:.*]] = arith.trunci %[[V10]]#1 : i32 to i1
// CHECK-NEXT: scf.condition(%[[V12]]) %[[V10]]#0, %[[V8]] : !gpu_async.token, !gpu_async.token
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[V13:.*]]: !gpu_async.token, %[[V14:.*]]: !gpu_async.token):
// CHECK-NEXT: scf.yield %[[V13]], %[[V14]] : !gpu_async.token, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: call @consumes(%[[V7]]#1, %[[V0]]) : (!gpu_async.token, memref<8xf32>) -> ()
// CHECK-NEXT: gpu_async.wait [%[[V7]]#1]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @lifted(%x: memref<8xf32>, %v: f32, %c: i1) {
  %undefined = gpu.wait async {gpu_async.undefined}
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %t = gpu.memset async %x, %v : memref<8xf32>, f32
  // expected-note @below {{nobody takes this token}}
  %r:2 = scf.while (%a = %t, %b = %undefined) : (!gpu.async.token, !gpu.async.token) -> (!gpu.async.token, !gpu.async.token) {
    %s:2 = scf.if %c -> (!gpu.async.token, i32) {
      %n = gpu.memset async [%a] %x, %v : memref<8xf32>, f32
      scf.yield %n, %one : !gpu.async.token, i32
    } else {
      scf.yield %undefined, %zero : !gpu.async.token, i32
    }
    %more = arith.trunci %s#1 : i32 to i1
    scf.condition(%more) %s#0, %a : !gpu.async.token, !gpu.async.token
  } do {
  ^bb0(%a: !gpu.async.token, %b: !gpu.async.token):
    scf.yield %a, %b : !gpu.async.token, !gpu.async.token
  }
  call @consumes(%r#1, %x) : (!gpu.async.token, memref<8xf32>) -> ()
  // expected-remark @below {{the host waits here}}
  return
}
}
