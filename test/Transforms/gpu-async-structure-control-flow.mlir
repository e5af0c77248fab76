// RUN: gpu-opt %s -gpu-async-structure-control-flow --verify-roundtrip | FileCheck %s -enable-var-scope
// RUN: gpu-opt %s -gpu-async-structure-control-flow -gpu-async-structure-control-flow | FileCheck %s -enable-var-scope
//
// Host functions with device work have single-block regions afterwards; tokens
// are never poison (D05, D14).

// CHECK-LABEL: func.func private @more(
// CHECK-SAME: ) -> i1
func.func private @more() -> i1

// CHECK-LABEL: func.func @early_return(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) -> i32 {
// CHECK-NEXT: %[[V3:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V4:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V5:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V6:.*]] = scf.if %[[V2]] -> (i32) {
// CHECK-NEXT: %[[V7:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V7]]]
// CHECK-NEXT: scf.yield %[[V5]] : i32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V4]] : i32
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V6]] : i32
// CHECK-NEXT: }
func.func @early_return(%x: memref<8xf32>, %v: f32, %c: i1) -> i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  cf.cond_br %c, ^work, ^none
^none:
  return %zero : i32
^work:
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  gpu_async.wait [%t]
  "func.return"(%one) {dropped} : (i32) -> ()
}

// CHECK-LABEL: func.func @token_argument(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V4:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V5:.*]] = scf.if %[[V2]] -> (!gpu_async.token) {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async [%[[V4]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V6]] : !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V4]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V5]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @token_argument(%x: memref<8xf32>, %v: f32, %c: i1) {
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  cf.cond_br %c, ^more(%t : !gpu_async.token), ^exit(%t : !gpu_async.token)
^more(%a: !gpu_async.token):
  %b = gpu_async.memset async [%a] %x, %v : memref<8xf32>, f32
  cf.br ^exit(%b : !gpu_async.token)
^exit(%r: !gpu_async.token):
  gpu_async.wait [%r]
  return
}

// CHECK-LABEL: func.func @loop(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.wait async {gpu_async.undefined}
// CHECK-NEXT: %[[V4:.*]] = ub.poison : index
// CHECK-NEXT: %[[V5:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V6:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V7:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V8:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[V9:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V10:.*]]:3 = scf.while (%[[V11:.*]] = %[[V7]], %[[V12:.*]] = %[[V9]], %[[V13:.*]] = %[[V3]]) : (index, !gpu_async.token, !gpu_async.token) -> (index, !gpu_async.token, !gpu_async.token) {
// CHECK-NEXT: %[[V14:.*]] = arith.cmpi slt, %[[V11]], %[[V2]] : index
// CHECK-NEXT: %[[V15:.*]]:4 = scf.if %[[V14]] -> (index, !gpu_async.token, i32, i32) {
// CHECK-NEXT: %[[V16:.*]] = gpu_async.memset async [%[[V12]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V17:.*]] = arith.addi %[[V11]], %[[V8]] : index
// CHECK-NEXT: scf.yield %[[V17]], %[[V16]], %[[V6]], %[[V5]] : index, !gpu_async.token, i32, i32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V4]], %[[V3]], %[[V5]], %[[V6]] : index, !gpu_async.token, i32, i32
// CHECK-NEXT: }
// CHECK-NEXT: %[[V18:.*]] = arith.trunci %[[V15]]#3 : i32 to i1
// CHECK-NEXT: scf.condition(%[[V18]]) %[[V15]]#0, %[[V15]]#1, %[[V12]] : index, !gpu_async.token, !gpu_async.token
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[V19:.*]]: index, %[[V20:.*]]: !gpu_async.token, %[[V21:.*]]: !gpu_async.token):
// CHECK-NEXT: scf.yield %[[V19]], %[[V20]], %[[V21]] : index, !gpu_async.token, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V10]]#2]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @loop(%x: memref<8xf32>, %v: f32, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %ready = gpu_async.wait async
  cf.br ^head(%zero, %ready : index, !gpu_async.token)
^head(%i: index, %t: !gpu_async.token):
  %c = arith.cmpi slt, %i, %n : index
  cf.cond_br %c, ^body, ^exit
^body:
  %u = gpu_async.memset async [%t] %x, %v : memref<8xf32>, f32
  %j = arith.addi %i, %one : index
  cf.br ^head(%j, %u : index, !gpu_async.token)
^exit:
  gpu_async.wait [%t]
  return
}

// CHECK-LABEL: func.func @upstream_tokens(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = gpu.wait async {gpu_async.undefined}
// CHECK-NEXT: %[[V4:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V5:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V6:.*]] = gpu.wait async
// CHECK-NEXT: %[[V7:.*]]:2 = scf.while (%[[V8:.*]] = %[[V6]], %[[V9:.*]] = %[[V3]]) : (!gpu.async.token, !gpu.async.token) -> (!gpu.async.token, !gpu.async.token) {
// CHECK-NEXT: %[[V10:.*]] = gpu.memset async [%[[V8]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V11:.*]] = func.call @more() : () -> i1
// CHECK-NEXT: %[[V12:.*]]:3 = scf.if %[[V11]] -> (!gpu.async.token, i32, i32) {
// CHECK-NEXT: scf.yield %[[V10]], %[[V5]], %[[V4]] : !gpu.async.token, i32, i32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V3]], %[[V4]], %[[V5]] : !gpu.async.token, i32, i32
// CHECK-NEXT: }
// CHECK-NEXT: %[[V13:.*]] = arith.trunci %[[V12]]#2 : i32 to i1
// CHECK-NEXT: scf.condition(%[[V13]]) %[[V12]]#0, %[[V10]] : !gpu.async.token, !gpu.async.token
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[V14:.*]]: !gpu.async.token, %[[V15:.*]]: !gpu.async.token):
// CHECK-NEXT: scf.yield %[[V14]], %[[V15]] : !gpu.async.token, !gpu.async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu.wait [%[[V7]]#1]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @upstream_tokens(%x: memref<8xf32>, %v: f32, %c: i1) {
  %t = gpu.wait async
  cf.br ^head(%t : !gpu.async.token)
^head(%a: !gpu.async.token):
  %b = gpu.memset async [%a] %x, %v : memref<8xf32>, f32
  %d = func.call @more() : () -> i1
  cf.cond_br %d, ^head(%b : !gpu.async.token), ^exit
^exit:
  gpu.wait [%b]
  return
}

// CHECK-LABEL: func.func @switch(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i32) {
// CHECK-NEXT: %[[V3:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V4:.*]] = gpu_async.wait async
// CHECK-NEXT: %[[V5:.*]] = arith.index_castui %[[V2]] : i32 to index
// CHECK-NEXT: %[[V6:.*]] = scf.index_switch %[[V5]] -> !gpu_async.token
// CHECK-NEXT: case 4294967295 {
// CHECK-NEXT: %[[V7:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V7]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: case 7 {
// CHECK-NEXT: scf.yield %[[V4]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: default {
// CHECK-NEXT: scf.yield %[[V4]] : !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: gpu_async.wait [%[[V6]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @switch(%x: memref<8xf32>, %v: f32, %i: i32) {
  %ready = gpu_async.wait async
  cf.switch %i : i32, [
    default: ^exit(%ready : !gpu_async.token),
    -1: ^one,
    7: ^exit(%ready : !gpu_async.token)
  ]
^one:
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  cf.br ^exit(%t : !gpu_async.token)
^exit(%r: !gpu_async.token):
  gpu_async.wait [%r]
  return
}

// One exit of three kinds; what nobody reaches returns a ready token.
// CHECK-LABEL: func.func @unreachable(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1, %[[V3:.*]]: i1) -> (f32, !gpu_async.token) {
// CHECK-NEXT: %[[V4:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V5:.*]]:2 = scf.if %[[V2]] -> (f32, !gpu_async.token) {
// CHECK-NEXT: %[[V6:.*]] = ub.poison : f32
// CHECK-NEXT: %[[V7:.*]] = gpu_async.wait async {gpu_async.undefined}
// CHECK-NEXT: scf.yield %[[V6]], %[[V7]] : f32, !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: %[[V8:.*]]:2 = scf.if %[[V3]] -> (f32, !gpu_async.token) {
// CHECK-NEXT: %[[V9:.*]] = ub.poison : f32
// CHECK-NEXT: %[[V10:.*]] = gpu_async.wait async {gpu_async.undefined}
// CHECK-NEXT: scf.yield %[[V9]], %[[V10]] : f32, !gpu_async.token
// CHECK-NEXT: } else {
// CHECK-NEXT: cf.assert %[[V2]], "message"
// CHECK-NEXT: %[[V11:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: scf.yield %[[V1]], %[[V11]] : f32, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[V8]]#0, %[[V8]]#1 : f32, !gpu_async.token
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V5]]#0, %[[V5]]#1 : f32, !gpu_async.token
// CHECK-NEXT: }
func.func @unreachable(%x: memref<8xf32>, %v: f32, %c: i1, %d: i1) -> (f32, !gpu_async.token) {
  cf.cond_br %c, ^a, ^b
^a:
  llvm.unreachable
^b:
  cf.cond_br %d, ^e, ^f
^e:
  ub.unreachable
^f:
  cf.assert %c, "message"
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  return %v, %t : f32, !gpu_async.token
}

// CHECK-LABEL: func.func @infinite(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32) -> !gpu_async.token {
// CHECK-NEXT: %[[V2:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V3:.*]] = arith.constant 0 : i32
// CHECK-NEXT: scf.while : () -> () {
// CHECK-NEXT: %[[V4:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V4]]]
// CHECK-NEXT: %[[V5:.*]] = arith.trunci %[[V2]] : i32 to i1
// CHECK-NEXT: scf.condition(%[[V5]])
// CHECK-NEXT: } do {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: %[[V6:.*]] = gpu_async.wait async {gpu_async.undefined}
// CHECK-NEXT: return %[[V6]] : !gpu_async.token
// CHECK-NEXT: }
func.func @infinite(%x: memref<8xf32>, %v: f32) -> !gpu_async.token {
  cf.br ^head
^head:
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  gpu_async.wait [%t]
  cf.br ^head
}

// Two entries into one cycle.
// CHECK-LABEL: func.func @irreducible(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = ub.poison : i32
// CHECK-NEXT: %[[V4:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V5:.*]] = gpu_async.wait async {gpu_async.undefined}
// CHECK-NEXT: %[[V6:.*]] = arith.constant 0 : i32
// CHECK-NEXT: %[[V7:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V8:.*]]:2 = scf.if %[[V2]] -> (!gpu_async.token, i32) {
// CHECK-NEXT: scf.yield %[[V7]], %[[V4]] : !gpu_async.token, i32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V5]], %[[V6]] : !gpu_async.token, i32
// CHECK-NEXT: }
// CHECK-NEXT: %[[V9:.*]]:2 = scf.while (%[[V10:.*]] = %[[V8]]#0, %[[V11:.*]] = %[[V8]]#1) : (!gpu_async.token, i32) -> (!gpu_async.token, i32) {
// CHECK-NEXT: %[[V12:.*]] = arith.index_castui %[[V11]] : i32 to index
// CHECK-NEXT: %[[V13:.*]]:4 = scf.index_switch %[[V12]] -> !gpu_async.token, i32, i32, i32
// CHECK-NEXT: case 0 {
// CHECK-NEXT: %[[V14:.*]] = gpu_async.memset async [%[[V7]]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: %[[V15:.*]] = func.call @more() : () -> i1
// CHECK-NEXT: %[[V16:.*]]:4 = scf.if %[[V15]] -> (!gpu_async.token, i32, i32, i32) {
// CHECK-NEXT: scf.yield %[[V14]], %[[V4]], %[[V6]], %[[V4]] : !gpu_async.token, i32, i32, i32
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[V5]], %[[V3]], %[[V4]], %[[V6]] : !gpu_async.token, i32, i32, i32
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[V16]]#0, %[[V16]]#1, %[[V16]]#2, %[[V16]]#3 : !gpu_async.token, i32, i32, i32
// CHECK-NEXT: }
// CHECK-NEXT: default {
// CHECK-NEXT: gpu_async.wait [%[[V10]]]
// CHECK-NEXT: scf.yield %[[V5]], %[[V6]], %[[V6]], %[[V4]] : !gpu_async.token, i32, i32, i32
// CHECK-NEXT: }
// CHECK-NEXT: %[[V17:.*]] = arith.trunci %[[V13]]#3 : i32 to i1
// CHECK-NEXT: scf.condition(%[[V17]]) %[[V13]]#0, %[[V13]]#1 : !gpu_async.token, i32
// CHECK-NEXT: } do {
// CHECK-NEXT: ^bb0(%[[V18:.*]]: !gpu_async.token, %[[V19:.*]]: i32):
// CHECK-NEXT: scf.yield %[[V18]], %[[V19]] : !gpu_async.token, i32
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @irreducible(%x: memref<8xf32>, %v: f32, %c: i1) {
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  cf.cond_br %c, ^a(%t : !gpu_async.token), ^b
^a(%u: !gpu_async.token):
  gpu_async.wait [%u]
  cf.br ^b
^b:
  %w = gpu_async.memset async [%t] %x, %v : memref<8xf32>, f32
  %m = func.call @more() : () -> i1
  cf.cond_br %m, ^a(%w : !gpu_async.token), ^exit
^exit:
  return
}

// CHECK-LABEL: func.func @execute_region(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) -> f32 {
// CHECK-NEXT: %[[V3:.*]] = scf.execute_region -> f32 {
// CHECK-NEXT: %[[V4:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V5:.*]] = arith.constant 0 : i32
// CHECK-NEXT: scf.if %[[V2]] {
// CHECK-NEXT: %[[V6:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V6]]]
// CHECK-NEXT: } else {
// CHECK-NEXT: }
// CHECK-NEXT: scf.while : () -> () {
// CHECK-NEXT: %[[V7:.*]] = arith.trunci %[[V4]] : i32 to i1
// CHECK-NEXT: scf.condition(%[[V7]])
// CHECK-NEXT: } do {
// CHECK-NEXT: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: %[[V8:.*]] = ub.poison : f32
// CHECK-NEXT: scf.yield %[[V8]] : f32
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V3]] : f32
// CHECK-NEXT: }
func.func @execute_region(%x: memref<8xf32>, %v: f32, %c: i1) -> f32 {
  %r = scf.execute_region -> f32 {
    cf.cond_br %c, ^a, ^b
  ^a:
    %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
    gpu_async.wait [%t]
    cf.br ^b
  ^b:
    cf.br ^b
  }
  return %r : f32
}

// CHECK-LABEL: func.func @poison(
// CHECK-SAME: ) -> !gpu_async.token {
// CHECK-NEXT: %[[V0:.*]] = gpu_async.wait async {gpu_async.undefined}
// CHECK-NEXT: return %[[V0]] : !gpu_async.token
// CHECK-NEXT: }
func.func @poison() -> !gpu_async.token {
  %t = ub.poison : !gpu_async.token
  return %t : !gpu_async.token
}

// CHECK-LABEL: func.func @unreachable_block(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32) {
// CHECK-NEXT: %[[V2:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V2]]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @unreachable_block(%x: memref<8xf32>, %v: f32) {
  %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
  gpu_async.wait [%t]
  return
^nobody:
  cf.br ^nobody
}

// CHECK-LABEL: func.func @parallel(
// CHECK-SAME: %[[V0:.*]]: memref<?xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index) -> (f32, i32) {
// CHECK-NEXT: %[[V3:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V4:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[V5:.*]] = arith.constant 1 : i32
// CHECK-NEXT: %[[V6:.*]]:2 = scf.for %[[V7:.*]] = %[[V3]] to %[[V2]] step %[[V4]] iter_args(%[[V8:.*]] = %[[V1]], %[[V9:.*]] = %[[V5]]) -> (f32, i32) {
// CHECK-NEXT: %[[V10:.*]]:2 = scf.for %[[V11:.*]] = %[[V4]] to %[[V2]] step %[[V4]] iter_args(%[[V12:.*]] = %[[V8]], %[[V13:.*]] = %[[V9]]) -> (f32, i32) {
// CHECK-NEXT: %[[V14:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<?xf32>, f32
// CHECK-NEXT: gpu_async.wait [%[[V14]]]
// CHECK-NEXT: %[[V15:.*]] = arith.addf %[[V12]], %[[V1]] : f32
// CHECK-NEXT: %[[V16:.*]] = arith.muli %[[V13]], %[[V5]] : i32
// CHECK-NEXT: scf.yield %[[V15]], %[[V16]] : f32, i32
// CHECK-NEXT: }
// CHECK-NEXT: scf.yield %[[V10]]#0, %[[V10]]#1 : f32, i32
// CHECK-NEXT: }
// CHECK-NEXT: return %[[V6]]#0, %[[V6]]#1 : f32, i32
// CHECK-NEXT: }
func.func @parallel(%x: memref<?xf32>, %v: f32, %n: index) -> (f32, i32) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %k = arith.constant 1 : i32
  %r:2 = scf.parallel (%i, %j) = (%zero, %one) to (%n, %n) step (%one, %one) init (%v, %k) -> (f32, i32) {
    %t = gpu_async.memset async %x, %v : memref<?xf32>, f32
    gpu_async.wait [%t]
    scf.reduce(%v, %k : f32, i32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }, {
    ^bb0(%a: i32, %b: i32):
      %s = arith.muli %a, %b : i32
      scf.reduce.return %s : i32
    }
  }
  return %r#0, %r#1 : f32, i32
}

// CHECK-LABEL: func.func @forall(
// CHECK-SAME: %[[V0:.*]]: memref<?xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: index) {
// CHECK-NEXT: %[[V3:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V4:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V5:.*]] = arith.constant 4 : index
// CHECK-NEXT: %[[V6:.*]] = arith.constant 1 : index
// CHECK-NEXT: %[[V7:.*]] = arith.constant 1 : index
// CHECK-NEXT: scf.for %[[V8:.*]] = %[[V3]] to %[[V2]] step %[[V6]] {
// CHECK-NEXT: scf.for %[[V9:.*]] = %[[V4]] to %[[V5]] step %[[V7]] {
// CHECK-NEXT: %[[V10:.*]] = gpu_async.memset async %[[V0]], %[[V1]] : memref<?xf32>, f32
// CHECK-NEXT: %[[V11:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V12:.*]] = arith.constant 2 : index
// CHECK-NEXT: %[[V13:.*]] = arith.constant 1 : index
// CHECK-NEXT: scf.for %[[V14:.*]] = %[[V11]] to %[[V12]] step %[[V13]] {
// CHECK-NEXT: gpu_async.wait [%[[V10]]]
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @forall(%x: memref<?xf32>, %v: f32, %n: index) {
  scf.forall (%i, %j) in (%n, 4) {
    %t = gpu_async.memset async %x, %v : memref<?xf32>, f32
    scf.forall (%k) in (2) {
      gpu_async.wait [%t]
    }
  }
  return
}

// CHECK-LABEL: func.func @left_alone_host_only(
// CHECK-SAME: %[[V0:.*]]: i1, %[[V1:.*]]: index) {
// CHECK-NEXT: %[[V2:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V3:.*]] = arith.constant 1 : index
// CHECK-NEXT: scf.parallel (%[[V4:.*]]) = (%[[V2]]) to (%[[V1]]) step (%[[V3]]) {
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }
// CHECK-NEXT: cf.cond_br %[[V0]], ^bb1, ^bb2
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: cf.br ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @left_alone_host_only(%c: i1, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.parallel (%i) = (%zero) to (%n) step (%one) {
    scf.reduce
  }
  cf.cond_br %c, ^a, ^b
^a:
  cf.br ^b
^b:
  return
}

// CHECK-LABEL: func.func @left_alone_stream_form(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: f32, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = gpu_async.stream.create
// CHECK-NEXT: cf.cond_br %[[V2]], ^bb1, ^bb2
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: gpu_async.memset on %[[V3]] %[[V0]], %[[V1]] : memref<8xf32>, f32
// CHECK-NEXT: cf.br ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: gpu_async.stream.destroy %[[V3]]
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @left_alone_stream_form(%x: memref<8xf32>, %v: f32, %c: i1) {
  %s = gpu_async.stream.create
  cf.cond_br %c, ^a, ^b
^a:
  gpu_async.memset on %s %x, %v : memref<8xf32>, f32
  cf.br ^b
^b:
  gpu_async.stream.destroy %s
  return
}

// The host loop without device work stays as it is, and so does the kernel.
// CHECK-LABEL: func.func @left_alone_inside(
// CHECK-SAME: %[[V0:.*]]: memref<8xf32>, %[[V1:.*]]: index, %[[V2:.*]]: i1) {
// CHECK-NEXT: %[[V3:.*]] = arith.constant 0 : index
// CHECK-NEXT: %[[V4:.*]] = arith.constant 1 : index
// CHECK-NEXT: scf.parallel (%[[V5:.*]]) = (%[[V3]]) to (%[[V1]]) step (%[[V4]]) {
// CHECK-NEXT: scf.reduce
// CHECK-NEXT: }
// CHECK-NEXT: gpu.launch blocks(%[[V6:.*]], %[[V7:.*]], %[[V8:.*]]) in (%[[V9:.*]] = %[[V4]], %[[V10:.*]] = %[[V4]], %[[V11:.*]] = %[[V4]]) threads(%[[V12:.*]], %[[V13:.*]], %[[V14:.*]]) in (%[[V15:.*]] = %[[V4]], %[[V16:.*]] = %[[V4]], %[[V17:.*]] = %[[V4]]) {
// CHECK-NEXT: cf.cond_br %[[V2]], ^bb1, ^bb2
// CHECK-NEXT: ^bb1:
// CHECK-NEXT: cf.br ^bb2
// CHECK-NEXT: ^bb2:
// CHECK-NEXT: gpu.terminator
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
func.func @left_alone_inside(%x: memref<8xf32>, %n: index, %c: i1) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.parallel (%i) = (%zero) to (%n) step (%one) {
    scf.reduce
  }
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %one, %gy = %one, %gz = %one)
             threads(%tx, %ty, %tz) in (%sx = %one, %sy = %one, %sz = %one) {
    cf.cond_br %c, ^a, ^b
  ^a:
    cf.br ^b
  ^b:
    gpu.terminator
  }
  return
}

// RUN: gpu-opt %s -gpu-async-structure-control-flow --remarks-filter=gpu-async-structure-control-flow --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] StructuredControlFlow | Category:gpu-async-structure-control-flow | Function=early_return | graphs=1, serial-loops=0{{$}}
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] StructuredControlFlow | Category:gpu-async-structure-control-flow | Function=forall | graphs=0, serial-loops=2{{$}}
