// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --gpu-async-offload -verify-diagnostics

memref.global "private" @g : memref<4xf32> = dense<1.0>
func.func private @rec(%n: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{uses @g in @rec, which a kernel calls: a kernel sees a global that may change only as a memref that it is given, so pass it as an argument}}
  %g = memref.get_global @g : memref<4xf32>
  %isEnd = arith.cmpi eq, %n, %c0 : index
  %r = scf.if %isEnd -> f32 {
    %v = memref.load %g[%c0] : memref<4xf32>
    scf.yield %v : f32
  } else {
    %m = arith.subi %n, %c1 : index
    %q = func.call @rec(%m) : (index) -> f32
    scf.yield %q : f32
  }
  return %r : f32
}
func.func @main(%m: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%m : memref<4xf32>) {
  ^bb0(%x: f32):
    %i = linalg.index 0 : index
    %v = func.call @rec(%i) : (index) -> f32
    linalg.yield %v : f32
  }
  return
}
