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
