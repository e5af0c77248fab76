// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions are put in place of calls of them, also where the module has device
// work elsewhere; those that call themselves stay calls.
// RUN: gpu-opt %s -split-input-file --gpu-async-offload=device=cpu --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @twice
// CHECK-NOT: call
// CHECK: gpu.launch
// CHECK-NOT: call
// CHECK: return
func.func @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = call @exponential(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %z = call @exponential(%y) : (tensor<8xf32>) -> tensor<8xf32>
  %s = arith.addf %y, %z : tensor<8xf32>
  return %s : tensor<8xf32>
}
// CHECK-NOT: @exponential
func.func private @exponential(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = math.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}
// CHECK-LABEL: func.func @device_work
func.func @device_work() {
  %m = gpu.alloc () : memref<4xf32>
  gpu.dealloc %m : memref<4xf32>
  return
}

// -----

// What is left of a function that gives a device work itself is said.
func.func @beside(%x: memref<8xf32>) {
  // expected-note @below {{the function gives the device work itself, so the rest of it is taken as it is: move what kernels are to be made of into a function of its own}}
  %m = gpu.alloc () : memref<8xf32>
  gpu.memcpy %m, %x : memref<8xf32>, memref<8xf32>
  // expected-remark @below {{runs on the host: no kernel can be made of it}}
  linalg.map {math.exp} ins(%x : memref<8xf32>) outs(%x : memref<8xf32>)
  gpu.dealloc %m : memref<8xf32>
  return
}

// -----

// Memory of a call that is freed by a name of several.
func.func @calls_itself(%x: tensor<?xf32>, %n: index) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = math.exp %x : tensor<?xf32>
  %more = arith.cmpi sgt, %n, %c0 : index
  %r = scf.if %more -> tensor<?xf32> {
    %m = arith.subi %n, %c1 : index
    // expected-error @below {{a kernel touches this memory, and it is not known where it is: copy it to memory that is allocated here}}
    %z = func.call @calls_itself(%y, %m) : (tensor<?xf32>, index) -> tensor<?xf32>
    %w = arith.addf %z, %y : tensor<?xf32>
    scf.yield %w : tensor<?xf32>
  } else {
    scf.yield %y : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
