// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A front end's loop: the counter is a number again, and the loop one that counts.
// RUN: gpu-opt %s -gpu-async-host-scalars | FileCheck %s

#none = affine_map<() -> ()>
// CHECK-LABEL: func.func @counted
// CHECK: scf.for %{{.*}} = %c0_i64 to %c5_i64 step %c1_i64
// CHECK-NOT: linalg.generic
// CHECK: tensor.insert
// CHECK: return
func.func @counted(%x: tensor<5xf32>, %v: f32) -> tensor<5xf32> {
  %zero = arith.constant 0 : i64
  %five = arith.constant dense<5> : tensor<i64>
  %one = arith.constant dense<1> : tensor<i64>
  %e = tensor.empty() : tensor<i1>
  %f = tensor.empty() : tensor<i64>
  %r:2 = scf.while (%i = %zero, %t = %x) : (i64, tensor<5xf32>) -> (i64, tensor<5xf32>) {
    %n = tensor.from_elements %i : tensor<i64>
    %c = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%n, %five : tensor<i64>, tensor<i64>) outs(%e : tensor<i1>) {
    ^bb0(%a: i64, %b: i64, %o: i1):
      %less = arith.cmpi slt, %a, %b : i64
      linalg.yield %less : i1
    } -> tensor<i1>
    %go = tensor.extract %c[] : tensor<i1>
    scf.condition(%go) %i, %t : i64, tensor<5xf32>
  } do {
  ^bb0(%i: i64, %t: tensor<5xf32>):
    %n = tensor.from_elements %i : tensor<i64>
    %place = arith.index_cast %i : i64 to index
    %u = tensor.insert %v into %t[%place] : tensor<5xf32>
    %next = linalg.generic {indexing_maps = [#none, #none, #none], iterator_types = []} ins(%n, %one : tensor<i64>, tensor<i64>) outs(%f : tensor<i64>) {
    ^bb0(%a: i64, %b: i64, %o: i64):
      %sum = arith.addi %a, %b : i64
      linalg.yield %sum : i64
    } -> tensor<i64>
    %j = tensor.extract %next[] : tensor<i64>
    scf.yield %j, %u : i64, tensor<5xf32>
  }
  return %r#1 : tensor<5xf32>
}

// A single number of the device's stays with the device.
// CHECK-LABEL: func.func @of_device
// CHECK: linalg.generic
func.func @of_device(%x: tensor<f32>) -> tensor<f32> {
  %e = tensor.empty() : tensor<f32>
  %r = linalg.generic {indexing_maps = [#none, #none], iterator_types = []} ins(%x : tensor<f32>) outs(%e : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %root = math.sqrt %a : f32
    linalg.yield %root : f32
  } -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// A loop's counter is a number, also where it comes as a tensor, and beside
// what is none. Its last value is one more than that of the last round.
// CHECK-LABEL: func.func @last
// CHECK: %[[R:.*]]:2 = scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %arg0) : (i32, tensor<8xf32>) -> (i32, tensor<8xf32>)
// CHECK: %[[LAST:.*]] = tensor.from_elements %[[R]]#0
// CHECK: return %[[R]]#1, %[[LAST]]
// CHECK-LABEL: func.func @carried
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %{{.*}} iter_args(%[[X:.*]] = %arg0) -> (tensor<8xf32>)
// CHECK-NOT: linalg.generic {{.*}} -> tensor<i32>
// CHECK: tensor.splat %[[I]]
// CHECK-NOT: scf.while
func.func @last(%a: tensor<8xf32>) -> (tensor<8xf32>, tensor<i32>) {
  %zero = arith.constant dense<0> : tensor<i32>
  %ten = arith.constant 10 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.while (%i = %zero, %x = %a) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>) {
    %e = tensor.empty() : tensor<i1>
    %c = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%i : tensor<i32>) outs(%e : tensor<i1>) {
    ^bb0(%v: i32, %o: i1):
      %l = arith.cmpi slt, %v, %ten : i32
      linalg.yield %l : i1
    } -> tensor<i1>
    %more = tensor.extract %c[] : tensor<i1>
    scf.condition(%more) %i, %x : tensor<i32>, tensor<8xf32>
  } do {
  ^bb0(%i: tensor<i32>, %x: tensor<8xf32>):
    %n = tensor.extract %i[] : tensor<i32>
    %s = tensor.splat %n : tensor<8xi32>
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]} ins(%x, %s : tensor<8xf32>, tensor<8xi32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %k: i32, %o: f32):
      %f = arith.sitofp %k : i32 to f32
      %p = arith.addf %v, %f : f32
      linalg.yield %p : f32
    } -> tensor<8xf32>
    %ei = tensor.empty() : tensor<i32>
    %j = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%i : tensor<i32>) outs(%ei : tensor<i32>) {
    ^bb0(%v: i32, %o: i32):
      %p = arith.addi %v, %one : i32
      linalg.yield %p : i32
    } -> tensor<i32>
    scf.yield %j, %y : tensor<i32>, tensor<8xf32>
  }
  return %r#1, %r#0 : tensor<8xf32>, tensor<i32>
}
func.func @carried(%a: tensor<8xf32>) -> tensor<8xf32> {
  %zero = arith.constant dense<0> : tensor<i32>
  %ten = arith.constant 10 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.while (%i = %zero, %x = %a) : (tensor<i32>, tensor<8xf32>) -> (tensor<i32>, tensor<8xf32>) {
    %e = tensor.empty() : tensor<i1>
    %c = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%i : tensor<i32>) outs(%e : tensor<i1>) {
    ^bb0(%v: i32, %o: i1):
      %l = arith.cmpi slt, %v, %ten : i32
      linalg.yield %l : i1
    } -> tensor<i1>
    %more = tensor.extract %c[] : tensor<i1>
    scf.condition(%more) %i, %x : tensor<i32>, tensor<8xf32>
  } do {
  ^bb0(%i: tensor<i32>, %x: tensor<8xf32>):
    %n = tensor.extract %i[] : tensor<i32>
    %s = tensor.splat %n : tensor<8xi32>
    %e = tensor.empty() : tensor<8xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]} ins(%x, %s : tensor<8xf32>, tensor<8xi32>) outs(%e : tensor<8xf32>) {
    ^bb0(%v: f32, %k: i32, %o: f32):
      %f = arith.sitofp %k : i32 to f32
      %p = arith.addf %v, %f : f32
      linalg.yield %p : f32
    } -> tensor<8xf32>
    %ei = tensor.empty() : tensor<i32>
    %j = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%i : tensor<i32>) outs(%ei : tensor<i32>) {
    ^bb0(%v: i32, %o: i32):
      %p = arith.addi %v, %one : i32
      linalg.yield %p : i32
    } -> tensor<i32>
    scf.yield %j, %y : tensor<i32>, tensor<8xf32>
  }
  return %r#1 : tensor<8xf32>
}

// An output that the host does not have, behind one that it has: nothing is done.
// CHECK-LABEL: func.func @twoOutputs
// CHECK-NOT: tensor.extract
// CHECK: linalg.generic
func.func @twoOutputs(%y: tensor<1xi32>) -> tensor<1xi32> {
  %a = arith.constant dense<7> : tensor<i32>
  %g:2 = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> (0)>], iterator_types = []} outs(%a, %y : tensor<i32>, tensor<1xi32>) {
  ^bb0(%x: i32, %z: i32):
    %s = arith.minsi %x, %z : i32
    linalg.yield %z, %s : i32, i32
  } -> (tensor<i32>, tensor<1xi32>)
  return %g#1 : tensor<1xi32>
}

// A number in another shape, and what is computed of it in loops of one round.
// CHECK-LABEL: func.func @oneElement(
// CHECK-SAME: %[[N:.*]]: i32)
// CHECK-NOT: linalg.generic
// CHECK: %[[S:.*]] = arith.addi %[[N]], %{{.*}} : i32
// CHECK: return %[[S]]
func.func @oneElement(%n: i32) -> i32 {
  %one = arith.constant dense<1> : tensor<1xi32>
  %c0 = arith.constant 0 : index
  %t = tensor.from_elements %n : tensor<i32>
  %x = tensor.expand_shape %t [] output_shape [1] : tensor<i32> into tensor<1xi32>
  %e = tensor.empty() : tensor<1xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]} ins(%x, %one : tensor<1xi32>, tensor<1xi32>) outs(%e : tensor<1xi32>) {
  ^bb0(%v: i32, %k: i32, %o: i32):
    %p = arith.addi %v, %k : i32
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i32
    %q = arith.addi %p, %j : i32
    linalg.yield %q : i32
  } -> tensor<1xi32>
  %f = tensor.extract %r[%c0] : tensor<1xi32>
  return %f : i32
}

// A number that is one of several elements is the device's.
// CHECK-LABEL: func.func @twoElements(
// CHECK: linalg.generic
func.func @twoElements(%n: i32) -> tensor<1xi32> {
  %t = tensor.from_elements %n, %n : tensor<2xi32>
  %e = tensor.empty() : tensor<1xi32>
  %r = linalg.generic {indexing_maps = [affine_map<(d) -> (d + 1)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]} ins(%t : tensor<2xi32>) outs(%e : tensor<1xi32>) {
  ^bb0(%v: i32, %o: i32):
    linalg.yield %v : i32
  } -> tensor<1xi32>
  return %r : tensor<1xi32>
}

// RUN: gpu-opt %s -gpu-async-host-scalars --remarks-filter=gpu-async-host-scalars --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=DECISION
// DECISION: :{{[1-9][0-9]*:[0-9]+}}: remark: [Passed] OnHost | Category:gpu-async-host-scalars | Function=counted | moved-ops=2{{$}}
