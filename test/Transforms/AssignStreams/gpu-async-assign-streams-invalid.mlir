// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is not in the linear form is refused, never miscompiled (D06).
//
// RUN: gpu-opt %s -gpu-async-assign-streams -split-input-file -verify-diagnostics -allow-unregistered-dialect

// expected-error @+1 {{has device work and a body of several blocks; run gpu-async-structure-control-flow first}}
func.func @branch(%x: memref<4xf32>, %y: memref<4xf32>) {
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  cf.br ^next(%t : !gpu_async.token)
^next(%u: !gpu_async.token):
  gpu_async.wait [%u]
  return
}

// -----

func.func @blocks_in_a_region(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{has a region of several blocks; run gpu-async-structure-control-flow first}}
  scf.execute_region {
    %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
    gpu_async.wait [%t]
    cf.br ^next
  ^next:
    scf.yield
  }
  return
}

// -----

func.func @not_carried(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{the loop}}
  scf.for %i = %n to %n step %n {
    // expected-error @+1 {{takes a token from outside of the loop around it; run gpu-async-make-forks-explicit, which makes the loop carry it}}
    gpu_async.wait [%t]
  }
  return
}

// -----

func.func @parallel(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  // expected-error @+1 {{is a loop other than scf.for and scf.while with device work or tokens in it}}
  scf.parallel (%i) = (%n) to (%n) step (%n) {
    %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
    gpu_async.wait [%t]
  }
  return
}

// -----

func.func @unknown_regions(%x: memref<4xf32>, %y: memref<4xf32>, %n: index) {
  // expected-error @+1 {{has device work or tokens in its regions, and how they run is not known}}
  "test.regions"() ({
    %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
    gpu_async.wait [%t]
    "test.end"() : () -> ()
  }) : () -> ()
  return
}

// -----

func.func @select(%x: memref<4xf32>, %y: memref<4xf32>, %c: i1) {
  %a = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  %b = gpu_async.wait async
  // expected-error @+1 {{takes or makes a token; only ops of gpu_async, calls and structured control flow can}}
  %t = arith.select %c, %a, %b : !gpu_async.token
  gpu_async.wait [%t]
  return
}

// -----

func.func @indirect(%f: (!gpu_async.token) -> (), %x: memref<4xf32>, %y: memref<4xf32>) {
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{passes tokens to code that is not named; only func.call can take or return tokens}}
  call_indirect %f(%t) : (!gpu_async.token) -> ()
  return
}

// -----

func.func @sequential(%x: memref<4xf32>, %y: memref<4xf32>) {
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xf32>
  gpu_async.release %t
  // expected-error @+1 {{is sequential; run gpu-async-infer-dependencies first}}
  gpu_async.memcpy %x, %y : memref<4xf32>, memref<4xf32>
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
