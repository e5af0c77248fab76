// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens that cross control flow or calls are refused, never miscompiled (D06).
//
// RUN: gpu-opt %s -gpu-async-assign-streams -split-input-file -verify-diagnostics

func.func private @callee(!gpu_async.token)
func.func @call(%x: memref<4xf32>, %y: memref<4xf32>) {
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{a token crosses a call, which is not supported yet}}
  call @callee(%t) : (!gpu_async.token) -> ()
  return
}

// -----

func.func @into_a_region(%x: memref<4xf32>, %y: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  scf.if %c {
    // expected-error @+1 {{a token crosses control flow}}
    gpu_async.wait [%t]
  }
  return
}

// -----

func.func @out_of_a_region(%x: memref<4xf32>, %y: memref<4xf32>, %c: i1) {
  %t = scf.if %c -> !gpu_async.token {
    %a = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
    // expected-error @+1 {{a token crosses control flow}}
    scf.yield %a : !gpu_async.token
  } else {
    %b = gpu_async.wait async
    scf.yield %b : !gpu_async.token
  }
  gpu_async.wait [%t]
  return
}

// -----

func.func @branch(%x: memref<4xf32>, %y: memref<4xf32>) {
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{a token crosses control flow}}
  cf.br ^next(%t : !gpu_async.token)
^next(%u: !gpu_async.token):
  gpu_async.wait [%u]
  return
}

// -----

gpu.module @k { gpu.func @f() kernel { gpu.return } }
func.func @not_a_callers_stream(%n: index, %s: !gpu_async.stream) {
  // expected-error @+1 {{is on a stream that is not a caller's}}
  %t = gpu_async.launch async on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  gpu_async.release %t
  return
}

// -----

gpu.module @k { gpu.func @f() kernel { gpu.return } }
func.func @mixed_forms(%n: index) {
  %s = gpu_async.stream.create
  // expected-error @+1 {{is on a stream already, in a function that has tokens}}
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  %t = gpu_async.wait async
  gpu_async.release %t
  gpu_async.stream.destroy %s
  return
}
