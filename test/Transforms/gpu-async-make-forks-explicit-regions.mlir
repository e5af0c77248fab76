// RUN: gpu-opt %s -gpu-async-make-forks-explicit --verify-roundtrip | FileCheck %s -enable-var-scope
// RUN: gpu-opt %s -gpu-async-make-forks-explicit -gpu-async-make-forks-explicit | FileCheck %s -enable-var-scope
// RUN: gpu-opt %s -gpu-async-make-forks-explicit -gpu-async-verify-form=form=linear -o /dev/null
//
// Tokens through structured control flow and calls (D05, D06, D07,
// D14): each is consumed once on every path, loops carry what they use.

// CHECK-LABEL: func.func @if_one_side(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.if %[[V2]] {
// CHECK-NEXT: gpu_async.wait [%[[V3]]]
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu_async.release %[[V3]]
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @if_one_side(%x: memref<8xf32>, %v: f32, %c: i1) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  scf.if %c {
    gpu_async.wait [%a]
  }
  return
}

// CHECK-LABEL: func.func @if_both_sides_and_after(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: memref<8xf32>, %[[V2:.*]]: f32, %[[V3:.*]]: i1) {
// CHECK-NEXT: %[[V4:.*]] = gpu_async.memset async %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V5:.*]]:2 = gpu_async.fork %[[V4]] : 2
// CHECK-NEXT: %[[V6:.*]] = scf.if %[[V3]] -> (!gpu_async.token) {
// CHECK-NEXT: %[[V7:.*]]:2 = gpu_async.fork %[[V5]]#0 : 2
// CHECK-NEXT: %[[V8:.*]] = gpu_async.memset async [%[[V7]]#0] %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V9:.*]] = gpu_async.memset async [%[[V7]]#1] %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.release %[[V9]]
// CHECK-NEXT: scf.yield %[[V8]] : !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V5]]#0 : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V5]]#1, %[[V6]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @if_both_sides_and_after(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %c: i1) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %r = scf.if %c -> !gpu_async.token {
    %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
    %d = gpu_async.memset async [%a] %y, %v : memref<8xf32>, f32
    scf.yield %b : !gpu_async.token
  } else {
    scf.yield %a : !gpu_async.token
  }
  gpu_async.wait [%a, %r]
  return
}

// CHECK-LABEL: func.func @if_nested(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: memref<8xf32>, %[[V2:.*]]: f32, %[[V3:.*]]: i1, %[[V4:.*]]: i1) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: scf.if %[[V3]] {
// CHECK-NEXT: %[[V7:.*]]:2 = gpu_async.fork %[[V5]] : 2
// CHECK-NEXT: gpu_async.wait [%[[V6]]]
// CHECK-NEXT: scf.if %[[V4]] {
// CHECK-NEXT: gpu_async.release %[[V7]]#0
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu_async.wait [%[[V7]]#0]
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V7]]#1]
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu_async.release %[[V5]]
// CHECK-NEXT: gpu_async.release %[[V6]]
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @if_nested(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32, %c: i1, %d: i1) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async %y, %v : memref<8xf32>, f32
  scf.if %c {
    gpu_async.wait [%b]
    scf.if %d {
    } else {
      gpu_async.wait [%a]
    }
    gpu_async.wait [%a]
  }
  return
}

// CHECK-LABEL: func.func @switch(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V4:.*]] = scf.index_switch %[[V2]] -> !gpu_async.token
// CHECK-NEXT: case 0 {
// CHECK-NEXT: scf.yield %[[V3]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: case 7 {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async [%[[V3]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V5]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: default {
// CHECK-NEXT: gpu_async.release %[[V3]]
// CHECK-NEXT: %[[V6:.*]] = gpu_async.wait async
// CHECK-NEXT: scf.yield %[[V6]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V4]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @switch(%x: memref<8xf32>, %v: f32, %i: index) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %r = scf.index_switch %i -> !gpu_async.token
  case 0 {
    scf.yield %a : !gpu_async.token
  }
  case 7 {
    %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
    scf.yield %b : !gpu_async.token
  }
  default {
    %ready = gpu_async.wait async
    scf.yield %ready : !gpu_async.token
  }
  return
}

// CHECK-LABEL: func.func @execute_region(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32) -> !gpu_async.token {
// CHECK-NEXT: %[[V2:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V3:.*]] = scf.execute_region -> !gpu_async.token {
// CHECK-NEXT: %[[V4:.*]]:2 = gpu_async.fork %[[V2]] : 2
// CHECK-NEXT: gpu_async.wait [%[[V4]]#0]
// CHECK-NEXT: scf.yield %[[V4]]#1 : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V3]] : !gpu_async.token
// CHECK-NEXT: }
func.func @execute_region(%x: memref<8xf32>, %v: f32) -> !gpu_async.token {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %r = scf.execute_region -> !gpu_async.token {
    gpu_async.wait [%a]
    scf.yield %a : !gpu_async.token
  }
  return %r : !gpu_async.token
}

// CHECK-LABEL: func.func @for_captures(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]]:2 = gpu_async.fork %[[V5]] : 2
// CHECK-NEXT: %[[V7:.*]] = scf.for %[[V8:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V9:.*]] = %[[V6]]#0) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V10:.*]]:2 = gpu_async.fork %[[V9]] : 2
// CHECK-NEXT: %[[V11:.*]] = gpu_async.memset async [%[[V10]]#0] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V11]]]
// CHECK-NEXT: scf.yield %[[V10]]#1 : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V7]]
// CHECK-NEXT: gpu_async.wait [%[[V6]]#1]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @for_captures(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  scf.for %i = %l to %u step %s {
    %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
    gpu_async.wait [%b]
  }
  gpu_async.wait [%a]
  return
}

// CHECK-LABEL: func.func @for_carries(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i32, %[[V3:.*]]: i32, %[[V4:.*]]: i32) -> (f32, !gpu_async.token) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V7:.*]]:3 = scf.for unsigned %[[V8:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V9:.*]] = %[[V1]], %[[V10:.*]] = %[[V5]], %[[V11:.*]] = %[[V6]]) -> (f32, !gpu_async.token, !gpu_async.token) : i32 {
// CHECK-NEXT: scf.yield %[[V9]], %[[V11]], %[[V10]] : f32, !gpu_async.token, !gpu_async.token
// CHECK-NEXT: } {kept = 1 : i32}
// CHECK-NEXT: gpu_async.release %[[V7]]#1
// CHECK-NEXT: return %[[V7]]#0, %[[V7]]#2 : f32, !gpu_async.token
// CHECK-NEXT: }
func.func @for_carries(%x: memref<8xf32>, %v: f32, %l: i32, %u: i32, %s: i32) -> (f32, !gpu_async.token) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %r:3 = scf.for unsigned %i = %l to %u step %s iter_args(%f = %v, %p = %a, %q = %b) -> (f32, !gpu_async.token, !gpu_async.token) : i32 {
    scf.yield %f, %q, %p : f32, !gpu_async.token, !gpu_async.token
  } {kept = 1 : i32}
  return %r#0, %r#2 : f32, !gpu_async.token
}

// CHECK-LABEL: func.func @for_unused(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]] = scf.for %[[V7:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V8:.*]] = %[[V5]]) -> (!gpu_async.token) {
// CHECK-NEXT: gpu_async.release %[[V8]]
// CHECK-NEXT: %[[V9:.*]] = gpu_async.wait async
// CHECK-NEXT: scf.yield %[[V9]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V6]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @for_unused(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %r = scf.for %i = %l to %u step %s iter_args(%p = %a) -> !gpu_async.token {
    %ready = gpu_async.wait async
    scf.yield %ready : !gpu_async.token
  }
  return
}

// CHECK-LABEL: func.func @loops_nested(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index) {
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V7:.*]]:2 = scf.for %[[V8:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V9:.*]] = %[[V6]], %[[V10:.*]] = %[[V5]]) -> (!gpu_async.token, !gpu_async.token) {
// CHECK-NEXT: %[[V11:.*]]:2 = gpu_async.fork %[[V9]] : 2
// CHECK-NEXT: %[[V12:.*]]:2 = gpu_async.fork %[[V10]] : 2
// CHECK-NEXT: gpu_async.wait [%[[V11]]#0]
// CHECK-NEXT: %[[V13:.*]] = scf.for %[[V14:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V15:.*]] = %[[V12]]#0) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V16:.*]]:2 = gpu_async.fork %[[V15]] : 2
// CHECK-NEXT: gpu_async.wait [%[[V16]]#0]
// CHECK-NEXT: scf.yield %[[V16]]#1 : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V13]]
// CHECK-NEXT: scf.yield %[[V11]]#1, %[[V12]]#1 : !gpu_async.token, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V7]]#0
// CHECK-NEXT: gpu_async.release %[[V7]]#1
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @loops_nested(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async %x, %v : memref<8xf32>, f32
  scf.for %i = %l to %u step %s {
    gpu_async.wait [%b]
    scf.for %j = %l to %u step %s {
      gpu_async.wait [%a]
    }
  }
  return
}

// CHECK-LABEL: func.func @if_in_loop(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index, %[[V5:.*]]: i1) {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V7:.*]]:2 = gpu_async.fork %[[V6]] : 2
// CHECK-NEXT: %[[V8:.*]]:2 = scf.for %[[V9:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V10:.*]] = %[[V7]]#0, %[[V11:.*]] = %[[V7]]#1) -> (!gpu_async.token, !gpu_async.token) {
// CHECK-NEXT: %[[V12:.*]]:2 = gpu_async.fork %[[V11]] : 2
// CHECK-NEXT: scf.if %[[V5]] {
// CHECK-NEXT: gpu_async.wait [%[[V12]]#0]
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu_async.release %[[V12]]#0
// CHECK-NEXT: }
// CHECK-NEXT: %[[V13:.*]] = gpu_async.memset async [%[[V10]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V13]], %[[V12]]#1 : !gpu_async.token, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V8]]#1
// CHECK-NEXT: gpu_async.wait [%[[V8]]#0]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @if_in_loop(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index, %c: i1) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %r = scf.for %i = %l to %u step %s iter_args(%p = %a) -> !gpu_async.token {
    scf.if %c {
      gpu_async.wait [%a]
    }
    %n = gpu_async.memset async [%p] %x, %v : memref<8xf32>, f32
    scf.yield %n : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// CHECK-LABEL: func.func @loop_in_if(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index, %[[V3:.*]]: index, %[[V4:.*]]: index, %[[V5:.*]]: i1) {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.if %[[V5]] {
// CHECK-NEXT: %[[V7:.*]]:2 = gpu_async.fork %[[V6]] : 2
// CHECK-NEXT: %[[V8:.*]] = scf.for %[[V9:.*]] = %[[V2]] to %[[V3]] step %[[V4]] iter_args(%[[V10:.*]] = %[[V7]]#0) -> (!gpu_async.token) {
// CHECK-NEXT: %[[V11:.*]]:2 = gpu_async.fork %[[V10]] : 2
// CHECK-NEXT: %[[V12:.*]] = gpu_async.memset async [%[[V11]]#0] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.release %[[V12]]
// CHECK-NEXT: scf.yield %[[V11]]#1 : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V8]]
// CHECK-NEXT: gpu_async.wait [%[[V7]]#1]
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu_async.release %[[V6]]
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @loop_in_if(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index, %c: i1) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  scf.if %c {
    scf.for %i = %l to %u step %s {
      %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
    }
    gpu_async.wait [%a]
  }
  return
}

// CHECK-LABEL: func.func private @more(
// CHECK-SAME: ) -> i1
func.func private @more() -> i1

// CHECK-LABEL: func.func @while(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: memref<8xf32>, %[[V2:.*]]: f32) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.memset async %[[V0]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V4:.*]] = gpu_async.memset async %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V5:.*]] = gpu_async.memset async %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V6:.*]]:3 = scf.while (%[[V7:.*]] = %[[V5]], %[[V8:.*]] = %[[V3]], %[[V9:.*]] = %[[V4]]) : (!gpu_async.token, !gpu_async.token, !gpu_async.token) -> (!gpu_async.token, !gpu_async.token, !gpu_async.token) {
// CHECK-NEXT: %[[V10:.*]]:2 = gpu_async.fork %[[V8]] : 2
// CHECK-NEXT: gpu_async.wait [%[[V10]]#0]
// CHECK-NEXT: %[[V11:.*]] = func.call @more() : () -> i1
// CHECK-NEXT: scf.condition(%[[V11]]) %[[V7]], %[[V10]]#1, %[[V9]] : !gpu_async.token, !gpu_async.token, !gpu_async.token
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[V12:.*]]: !gpu_async.token, %[[V13:.*]]: !gpu_async.token, %[[V14:.*]]: !gpu_async.token):
// CHECK-NEXT: %[[V15:.*]]:2 = gpu_async.fork %[[V14]] : 2
// CHECK-NEXT: %[[V16:.*]] = gpu_async.memset async [%[[V12]], %[[V15]]#0] %[[V1]], %[[V2]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V16]], %[[V13]], %[[V15]]#1 : !gpu_async.token, !gpu_async.token, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V6]]#1
// CHECK-NEXT: gpu_async.release %[[V6]]#2
// CHECK-NEXT: gpu_async.wait [%[[V6]]#0]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @while(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %b = gpu_async.memset async %y, %v : memref<8xf32>, f32
  %d = gpu_async.memset async %y, %v : memref<8xf32>, f32
  %r = scf.while (%p = %d) : (!gpu_async.token) -> !gpu_async.token {
    gpu_async.wait [%a]
    %m = func.call @more() : () -> i1
    scf.condition(%m) %p : !gpu_async.token
  } do {
  ^bb0(%q: !gpu_async.token):
    %n = gpu_async.memset async [%q, %b] %y, %v : memref<8xf32>, f32
    scf.yield %n : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// CHECK-LABEL: func.func @while_changes_types(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32) -> index {
// CHECK-NEXT: %[[V2:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V3:.*]]:2 = gpu_async.fork %[[V2]] : 2
// CHECK-NEXT: %[[V4:.*]]:3 = scf.while (%[[V5:.*]] = %[[V3]]#0, %[[V6:.*]] = %[[V3]]#1) : (!gpu_async.token, !gpu_async.token) -> (index, !gpu_async.token, !gpu_async.token) {
// CHECK-NEXT: %[[V7:.*]] = func.call @more() : () -> i1
// CHECK-NEXT: %[[V8:.*]] = arith.constant 1 : index
// CHECK-NEXT: scf.condition(%[[V7]]) %[[V8]], %[[V5]], %[[V6]] : index, !gpu_async.token, !gpu_async.token
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[V9:.*]]: index, %[[V10:.*]]: !gpu_async.token, %[[V11:.*]]: !gpu_async.token):
// CHECK-NEXT: %[[V12:.*]]:2 = gpu_async.fork %[[V11]] : 2
// CHECK-NEXT: gpu_async.wait [%[[V12]]#0]
// CHECK-NEXT: scf.yield %[[V10]], %[[V12]]#1 : !gpu_async.token, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.release %[[V4]]#1
// CHECK-NEXT: gpu_async.release %[[V4]]#2
// CHECK-NEXT: return %[[V4]]#0 : index
// CHECK-NEXT: }
func.func @while_changes_types(%x: memref<8xf32>, %v: f32) -> index {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  %r:2 = scf.while (%p = %a) : (!gpu_async.token) -> (index, !gpu_async.token) {
    %m = func.call @more() : () -> i1
    %n = arith.constant 1 : index
    scf.condition(%m) %n, %p : index, !gpu_async.token
  } do {
  ^bb0(%i: index, %q: !gpu_async.token):
    gpu_async.wait [%a]
    scf.yield %q : !gpu_async.token
  }
  return %r#0 : index
}

// CHECK-LABEL: func.func @select(
// CHECK-SAME: %[[V0:.*]]: !gpu_async.token, %[[V1:.*]]: !gpu_async.token, %[[V2:.*]]: i1) -> !gpu_async.token {
// CHECK-NEXT: %[[V3:.*]]:2 = gpu_async.fork %[[V1]] : 2
// CHECK-NEXT: %[[V4:.*]] = scf.if %[[V2]] -> (!gpu_async.token) {
// CHECK-NEXT: gpu_async.release %[[V3]]#0
// CHECK-NEXT: scf.yield %[[V0]] : !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu_async.release %[[V0]]
// CHECK-NEXT: scf.yield %[[V3]]#0 : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: %[[V5:.*]]:2 = gpu_async.fork %[[V4]] : 2
// CHECK-NEXT: gpu_async.wait [%[[V5]]#0, %[[V3]]#1]
// CHECK-NEXT: return %[[V5]]#1 : !gpu_async.token
// CHECK-NEXT: }
func.func @select(%a: !gpu_async.token, %b: !gpu_async.token, %c: i1) -> !gpu_async.token {
  %s = arith.select %c, %a, %b : !gpu_async.token
  gpu_async.wait [%s, %b]
  %same = arith.select %c, %s, %s : !gpu_async.token
  return %same : !gpu_async.token
}

// CHECK-LABEL: func.func private @external(
// CHECK-SAME: !gpu_async.token, memref<8xf32>) -> (!gpu_async.token, f32)
func.func private @external(!gpu_async.token, memref<8xf32>) -> (!gpu_async.token, f32)

// CHECK-LABEL: func.func @calls(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: !gpu_async.token, %[[V2:.*]]: i1) -> !gpu_async.token {
// CHECK-NEXT: %[[V3:.*]]:2 = gpu_async.fork %[[V1]] : 2
// CHECK-NEXT: %[[V4:.*]]:2 = call @external(%[[V3]]#0, %[[V0]]) : (!gpu_async.token, memref<8xf32>) -> (!gpu_async.token, f32)
// CHECK-NEXT: %[[V5:.*]] = scf.if %[[V2]] -> (!gpu_async.token) {
// CHECK-NEXT: gpu_async.release %[[V3]]#1
// CHECK-NEXT: %[[V6:.*]]:2 = func.call @external(%[[V4]]#0, %[[V0]]) : (!gpu_async.token, memref<8xf32>) -> (!gpu_async.token, f32)
// CHECK-NEXT: scf.yield %[[V6]]#0 : !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V7:.*]]:2 = gpu_async.fork %[[V3]]#1 : 2
// CHECK-NEXT: gpu_async.release %[[V4]]#0
// CHECK-NEXT: %[[V8:.*]]:2 = func.call @external(%[[V7]]#0, %[[V0]]) : (!gpu_async.token, memref<8xf32>) -> (!gpu_async.token, f32)
// CHECK-NEXT: gpu_async.release %[[V8]]#0
// CHECK-NEXT: scf.yield %[[V7]]#1 : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V5]] : !gpu_async.token
// CHECK-NEXT: }
func.func @calls(%x: memref<8xf32>, %t: !gpu_async.token, %c: i1) -> !gpu_async.token {
  %r:2 = call @external(%t, %x) : (!gpu_async.token, memref<8xf32>) -> (!gpu_async.token, f32)
  %s = scf.if %c -> !gpu_async.token {
    %u:2 = func.call @external(%r#0, %x) : (!gpu_async.token, memref<8xf32>) -> (!gpu_async.token, f32)
    scf.yield %u#0 : !gpu_async.token
  } else {
    %u:2 = func.call @external(%t, %x) : (!gpu_async.token, memref<8xf32>) -> (!gpu_async.token, f32)
    scf.yield %t : !gpu_async.token
  }
  return %s : !gpu_async.token
}

// CHECK-LABEL: func.func @recursive(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: !gpu_async.token, %[[V3:.*]]: index) -> !gpu_async.token {
// CHECK-NEXT: %[[V4:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V5:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[V6:.*]] = arith.cmpi eq, %[[V3]], %[[V4]] : index
// CHECK-NEXT: %[[V7:.*]] = scf.if %[[V6]] -> (!gpu_async.token) {
// CHECK-NEXT: scf.yield %[[V2]] : !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V8:.*]] = arith.subi %[[V3]], %[[V5]] : index
// CHECK-NEXT: %[[V9:.*]] = gpu_async.memset async [%[[V2]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V10:.*]] = func.call @recursive(%[[V0]], %[[V1]], %[[V9]], %[[V8]]) : (memref<8xf32>, f32, !gpu_async.token, index) -> !gpu_async.token
// CHECK-NEXT: scf.yield %[[V10]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V7]] : !gpu_async.token
// CHECK-NEXT: }
func.func @recursive(%x: memref<8xf32>, %v: f32, %t: !gpu_async.token, %n: index) -> !gpu_async.token {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %last = arith.cmpi eq, %n, %zero : index
  %r = scf.if %last -> !gpu_async.token {
    scf.yield %t : !gpu_async.token
  } else {
    %less = arith.subi %n, %one : index
    %a = gpu_async.memset async [%t] %x, %v : memref<8xf32>, f32
    %d = func.call @recursive(%x, %v, %a, %less) : (memref<8xf32>, f32, !gpu_async.token, index) -> !gpu_async.token
    scf.yield %d : !gpu_async.token
  }
  return %r : !gpu_async.token
}

// CHECK-LABEL: func.func @blocks(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V3]]]
// CHECK-NEXT: cf.cond_br %[[V2]], ^bb1, ^bb2
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: %[[V4:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.if %[[V2]] {
// CHECK-NEXT: gpu_async.wait [%[[V4]]]
// CHECK-NEXT: } else {
// CHECK-NEXT: gpu_async.release %[[V4]]
// CHECK-NEXT: }
// CHECK-NEXT: cf.br ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @blocks(%x: memref<8xf32>, %v: f32, %c: i1) {
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  gpu_async.wait [%a]
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %b = gpu_async.memset async %x, %v : memref<8xf32>, f32
  scf.if %c {
    gpu_async.wait [%b]
  }
  cf.br ^bb2
^bb2:
  return
}
