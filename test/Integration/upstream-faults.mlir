// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Programs of which MLIR makes wrong code: docs/reference/Upstream.md.
// RUN: gpu-runner %s -e switch --input=4294967296 --input=0 | FileCheck %s --check-prefix=SWITCH
// RUN: gpu-runner %s -e transfers --input=4xf32=1,2,3,4 --input=4xi1=1,0,1,0 | FileCheck %s --check-prefix=TRANSFERS

// SWITCH: result[0]: i32=2
// SWITCH: result[1]: i32=1
func.func @choose(%x: index) -> i32 {
  %r = scf.index_switch %x -> i32
  case 0 {
    %a = arith.constant 1 : i32
    scf.yield %a : i32
  }
  default {
    %b = arith.constant 2 : i32
    scf.yield %b : i32
  }
  return %r : i32
}
func.func @switch(%x: index, %y: index) -> (i32, i32) {
  %a = func.call @choose(%x) : (index) -> i32
  %b = func.call @choose(%y) : (index) -> i32
  return %a, %b : i32, i32
}

// TRANSFERS: result[0]: 4xf32=1 -1 3 -1
func.func @transfers(%t: tensor<4xf32>, %k: tensor<4xi1>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %p = arith.constant -1.0 : f32
  %false = arith.constant false
  %m = vector.transfer_read %k[%c0], %false {in_bounds = [true]} : tensor<4xi1>, vector<4xi1>
  %r = vector.transfer_read %t[%c0], %p, %m {in_bounds = [true]} : tensor<4xf32>, vector<4xf32>
  %w = vector.transfer_write %r, %t[%c0] {in_bounds = [true]} : vector<4xf32>, tensor<4xf32>
  return %w : tensor<4xf32>
}
