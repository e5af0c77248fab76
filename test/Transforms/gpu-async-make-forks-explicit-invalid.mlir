// RUN: gpu-opt %s -split-input-file -gpu-async-make-forks-explicit -verify-diagnostics
//
// Tokens that cross control flow, and ops that know nothing of tokens.

func.func @used_in_region(%x: memref<8xf32>, %v: f32, %c: i1) {
  // expected-note @below {{the token is made here}}
  %a = gpu_async.memset async %x, %v : memref<8xf32>, f32
  scf.if %c {
    // expected-error @below {{takes a token of another block: tokens that cross control flow are not supported yet}}
    gpu_async.wait [%a]
  }
  return
}

// -----

// expected-note @below {{the token is made here}}
func.func @used_in_block(%t: !gpu_async.token) {
  cf.br ^next
^next:
  // expected-error @below {{takes a token of another block}}
  gpu_async.wait [%t]
  return
}

// -----

func.func @carried(%x: memref<8xf32>, %v: f32, %n: index) {
  // expected-note @below {{the token is made here}}
  %a = gpu_async.wait async
  // expected-error @below {{takes a token: tokens that cross control flow are not supported yet}}
  // expected-error @below {{returns a token: tokens that cross control flow are not supported yet}}
  // expected-error @below {{carries a token as a block argument}}
  // expected-note @below {{the argument}}
  %r = scf.for %i = %n to %n step %n iter_args(%t = %a) -> !gpu_async.token {
    // expected-note @below {{the token is made here}}
    %b = gpu_async.memset async [%t] %x, %v : memref<8xf32>, f32
    // expected-error @below {{takes a token: tokens that cross control flow are not supported yet}}
    scf.yield %b : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// -----

func.func @selected(%c: i1, %t: !gpu_async.token) {
  // expected-note @below {{the token is made here}}
  %a = gpu_async.wait async
  // expected-error @below {{takes a token: only ops of gpu_async, calls and returns can}}
  // expected-error @below {{makes a token: only ops of gpu_async and calls can}}
  %s = arith.select %c, %a, %a : !gpu_async.token
  gpu_async.wait [%s]
  return
}
