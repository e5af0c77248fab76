// RUN: gpu-opt %s -split-input-file -gpu-async-make-forks-explicit -verify-diagnostics
//
// Tokens that cross a control-flow graph or other ops with regions, and ops
// that know nothing of tokens.

// expected-note @below {{the token is made here}}
func.func @used_in_block(%t: !gpu_async.token) {
  cf.br ^next
^next:
  // expected-error @below {{takes a token of another block: run gpu-async-structure-control-flow first}}
  gpu_async.wait [%t]
  return
}

// -----

// expected-note @below {{the token is made here}}
func.func @used_in_region_of_block(%t: !gpu_async.token, %c: i1) {
  cf.br ^next
^next:
  scf.if %c {
    // expected-error @below {{takes a token of another block: run gpu-async-structure-control-flow first}}
    gpu_async.wait [%t]
  }
  return
}

// -----

// expected-note @below {{the token is made here}}
// expected-error @below {{has a token as argument of one of several blocks: run gpu-async-structure-control-flow first}}
func.func @branch(%t: !gpu_async.token) {
  // expected-error @below {{takes a token to another block: run gpu-async-structure-control-flow first}}
  cf.br ^next(%t : !gpu_async.token)
// expected-note @below {{the argument}}
^next(%u: !gpu_async.token):
  gpu_async.wait [%u]
  return
}

// -----

// expected-note @below {{the token is made here}}
func.func @region_of_blocks(%t: !gpu_async.token, %c: i1) {
  scf.execute_region {
    cf.cond_br %c, ^next, ^next
  ^next:
    // expected-error @below {{takes a token from outside of a region of several blocks: run gpu-async-structure-control-flow first}}
    gpu_async.wait [%t]
    scf.yield
  }
  return
}

// -----

func.func @region_of_blocks_returns(%c: i1) {
  // expected-error @below {{returns a token from a region of several blocks: run gpu-async-structure-control-flow first}}
  %r = scf.execute_region -> !gpu_async.token {
    cf.cond_br %c, ^next, ^next
  ^next:
    // expected-note @below {{the token is made here}}
    %t = gpu_async.wait async
    // expected-error @below {{takes a token: of ops with regions only scf.if}}
    scf.yield %t : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// -----

// expected-note @below {{the token is made here}}
func.func @parallel(%t: !gpu_async.token, %l: index, %u: index, %s: index) {
  // expected-note @below {{the op that it is in}}
  scf.parallel (%i) = (%l) to (%u) step (%s) {
    // expected-error @below {{takes a token from outside of 'scf.parallel', which is not supported: wait for it}}
    gpu_async.wait [%t]
  }
  return
}

// -----

func.func @scope(%x: memref<8xf32>, %v: f32) {
  // expected-error @below {{returns a token: of ops with regions only scf.if, scf.index_switch, scf.execute_region, scf.for and scf.while can}}
  %r = memref.alloca_scope -> !gpu_async.token {
    // expected-note @below {{the token is made here}}
    %t = gpu_async.memset async %x, %v : memref<8xf32>, f32
    // expected-error @below {{takes a token: of ops with regions only}}
    memref.alloca_scope.return %t : !gpu_async.token
  }
  gpu_async.wait [%r]
  return
}

// -----

// expected-note @below {{the token is made here}}
func.func @cast(%t: !gpu_async.token) {
  // expected-error @below {{takes a token: only ops of gpu_async, calls, arith.select, scf ops and returns can}}
  %i = builtin.unrealized_conversion_cast %t : !gpu_async.token to i64
  // expected-error @below {{makes a token: only ops of gpu_async, calls, arith.select and scf ops can}}
  %u = builtin.unrealized_conversion_cast %i : i64 to !gpu_async.token
  gpu_async.wait [%u]
  return
}
