// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every token is consumed exactly once on every path: each planted defect is
// named at all places (D01), and none is seen where there is none.
//
// RUN: gpu-opt %s -gpu-async-verify-form=form=linear -split-input-file -verify-diagnostics

// Every way in which a token may go through control flow.
func.func private @callee(%t: !gpu_async.token) -> !gpu_async.token
func.func @legal(%arg: !gpu_async.token, %x: memref<4xf32>, %c: i1, %n: index, %which: index) -> !gpu_async.token {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // An if that consumes outer tokens in both regions and yields one.
  %a, %b = gpu_async.fork %arg : 2
  %d = scf.if %c -> !gpu_async.token {
    %e = gpu_async.memcpy async [%a] %x, %x : memref<4xf32>, memref<4xf32>
    gpu_async.release %b
    scf.yield %e : !gpu_async.token
  } else {
    gpu_async.wait [%a]
    scf.yield %b : !gpu_async.token
  }
  // A loop carries one, and forks it for its own use.
  %f = scf.for %i = %c0 to %n step %c1 iter_args(%t = %d) -> (!gpu_async.token) {
    %use, %keep = gpu_async.fork %t : 2
    scf.if %c {
      gpu_async.wait [%use]
    } else {
      gpu_async.release %use
    }
    scf.yield %keep : !gpu_async.token
  }
  %g = scf.while (%t = %f) : (!gpu_async.token) -> !gpu_async.token {
    scf.condition(%c) %t : !gpu_async.token
  } do {
  ^bb0(%t: !gpu_async.token):
    %u = gpu_async.memcpy async [%t] %x, %x : memref<4xf32>, memref<4xf32>
    scf.yield %u : !gpu_async.token
  }
  %h = scf.index_switch %which -> !gpu_async.token
  case 0 {
    scf.yield %g : !gpu_async.token
  }
  default {
    gpu_async.release %g
    %ready = gpu_async.wait async
    scf.yield %ready : !gpu_async.token
  }
  // Blocks inside a region.
  %j = scf.execute_region -> !gpu_async.token {
    cf.cond_br %c, ^one, ^two(%h : !gpu_async.token)
  ^one:
    %k = gpu_async.memcpy async [%h] %x, %x : memref<4xf32>, memref<4xf32>
    cf.br ^two(%k : !gpu_async.token)
  ^two(%l: !gpu_async.token):
    scf.yield %l : !gpu_async.token
  }
  %m = call @callee(%j) : (!gpu_async.token) -> !gpu_async.token
  return %m : !gpu_async.token
}

// Blocks of the function: several exits, a loop that carries a token, blocks
// that never end, and ones that nobody reaches.
func.func @legal_blocks(%arg: !gpu_async.token, %x: memref<4xf32>, %c: i1) {
  cf.cond_br %c, ^early, ^loop(%arg : !gpu_async.token)
^early:
  gpu_async.wait [%arg]
  return
^loop(%t: !gpu_async.token):
  %u = gpu_async.memcpy async [%t] %x, %x : memref<4xf32>, memref<4xf32>
  cf.cond_br %c, ^loop(%u : !gpu_async.token), ^after
^after:
  cf.cond_br %c, ^release, ^forever
^release:
  gpu_async.release %u
  return
^forever:
  cf.br ^forever
^unreached(%v: !gpu_async.token):
  gpu_async.release %v
  gpu_async.release %u
  return
}

// A path that ends in a trap leaks nothing.
func.func @legal_trap(%arg: !gpu_async.token, %c: i1) {
  cf.cond_br %c, ^good, ^trap
^good:
  gpu_async.release %arg
  return
^trap:
  ub.unreachable
}

// -----

func.func @never(%x: memref<4xf32>) {
  // expected-error @+1 {{'gpu_async.memcpy' op makes a token that is never consumed; release it (gpu_async.release)}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{a path ends here with it}}
  return
}

// -----

// expected-error @+1 {{this is a token that is never consumed; release it}}
func.func @argument_never(%t: !gpu_async.token) {
  // expected-note @+1 {{a path ends here with it}}
  return
}

// -----

func.func @twice(%x: memref<4xf32>) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{it is consumed here}}
  gpu_async.wait [%t]
  // expected-error @+1 {{consumes a token that another op consumes too; fork it}}
  gpu_async.release %t
  return
}

// -----

func.func @twice_at_once(%x: memref<4xf32>) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{takes a token twice; fork it}}
  gpu_async.wait [%t, %t]
  return
}

// -----

func.func @sequential(%x: memref<4xf32>) {
  // expected-error @+1 {{makes no token}}
  gpu_async.memcpy %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @no_else(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{'scf.if' op consumes a token in a region, but can go on without entering one}}
  scf.if %c {
    // expected-note @+1 {{the other region consumes it here}}
    gpu_async.wait [%t]
  }
  return
}

// -----

func.func @one_region_only(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  scf.if %c {
    // expected-note @+1 {{the other region consumes it here}}
    gpu_async.wait [%t]
  } else {
    // expected-error @+1 {{ends a region that does not consume a token, which another region of the same op does; release it (gpu_async.release) here, too}}
    scf.yield
  }
  return
}

// -----

func.func @one_case_only(%x: memref<4xf32>, %i: index) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  scf.index_switch %i
  case 0 {
    gpu_async.wait [%t]
    scf.yield
  }
  case 1 {
    // expected-error @+1 {{ends a region that does not consume a token}}
    scf.yield
  }
  default {
    // expected-note @+1 {{the other region consumes it here}}
    gpu_async.wait [%t]
    scf.yield
  }
  return
}

// -----

func.func @twice_in_regions(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  scf.if %c {
    // expected-note @+1 {{it is consumed here}}
    gpu_async.wait [%t]
  } else {
    gpu_async.release %t
  }
  // expected-error @+1 {{consumes a token that another op consumes too}}
  gpu_async.release %t
  return
}

// -----

func.func @twice_within_a_region(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{it is consumed here}}
  gpu_async.wait [%t]
  scf.if %c {
    // expected-error @+1 {{consumes a token that another op consumes too}}
    gpu_async.wait [%t]
  }
  return
}

// -----

func.func @used_in_a_loop(%x: memref<4xf32>, %c: i1, %lb: index, %ub: index) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{the loop is here}}
  scf.for %i = %lb to %ub step %lb {
    // expected-error @+1 {{consumes inside a loop a token that is made outside of it; carry it through the loop}}
    gpu_async.wait [%t]
  }
  return
}

// -----

func.func @used_deep_in_a_loop(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  scf.if %c {
    // expected-note @+1 {{the loop is here}}
    scf.while : () -> () {
      // expected-error @+1 {{consumes inside a loop a token that is made outside of it}}
      gpu_async.wait [%t]
      scf.condition(%c)
    } do {
      scf.yield
    }
  } else {
    gpu_async.release %t
  }
  return
}

// -----

func.func @left_in_an_iteration(%x: memref<4xf32>, %c: i1, %lb: index, %ub: index) {
  scf.for %i = %lb to %ub step %lb {
    // expected-note @+1 {{the token is made here}}
    %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
    // expected-error @+1 {{ends an iteration without consuming a token that it made; carry it into the next one, or release it}}
    scf.yield
  }
  return
}

// -----

func.func @argument_left_in_an_iteration(%u: !gpu_async.token, %lb: index, %ub: index) -> !gpu_async.token {
  // expected-note @+1 {{the token is made here}}
  %r = scf.for %i = %lb to %ub step %lb iter_args(%t = %u) -> !gpu_async.token {
    %v = gpu_async.wait async
    // expected-error @+1 {{ends an iteration without consuming a token that it made}}
    scf.yield %v : !gpu_async.token
  }
  return %r : !gpu_async.token
}

// -----

// A token that is not carried is consumed by the while's condition or not.
func.func @left_by_a_condition(%u: !gpu_async.token, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  scf.while (%t = %u) : (!gpu_async.token) -> () {
    // expected-error @+1 {{ends an iteration without consuming a token that it made}}
    scf.condition(%c)
  } do {
    %v = gpu_async.wait async
    scf.yield %v : !gpu_async.token
  }
  return
}

// -----

func.func @one_exit_leaves_it(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  cf.cond_br %c, ^one, ^two
^one:
  // expected-note @+1 {{another path consumes it here}}
  gpu_async.wait [%t]
  return
^two:
  // expected-error @+1 {{ends a path that does not consume a token; release it (gpu_async.release) on this path}}
  return
}

// -----

// Live into one successor and dead in another.
func.func @dead_in_one_successor(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{goes on with a token to where another path has consumed it; release it (gpu_async.release) on this way, in a block of its own}}
  cf.cond_br %c, ^one, ^done
^one:
  // expected-note @+1 {{the other path consumes it here}}
  gpu_async.wait [%t]
  cf.br ^done
^done:
  cf.br ^exit
^exit:
  return
}

// -----

// What a branch forwards to one successor is left on the way to the other.
func.func @forwarded_one_way(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{another path consumes it here}}
  cf.cond_br %c, ^one(%t : !gpu_async.token), ^two
^one(%u: !gpu_async.token):
  gpu_async.wait [%u]
  return
^two:
  // expected-error @+1 {{ends a path that does not consume a token}}
  return
}

// -----

func.func @forwarded_and_used(%x: memref<4xf32>) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{it is consumed here}}
  cf.br ^one(%t : !gpu_async.token)
^one(%u: !gpu_async.token):
  // expected-error @+1 {{consumes a token that another op consumes too}}
  gpu_async.wait [%u, %t]
  return
}

// -----

func.func @forwarded_twice(%x: memref<4xf32>) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{takes a token twice; fork it}}
  cf.br ^one(%t, %t : !gpu_async.token, !gpu_async.token)
^one(%u: !gpu_async.token, %v: !gpu_async.token):
  gpu_async.wait [%u, %v]
  return
}

// -----

func.func @block_argument_left(%x: memref<4xf32>, %t: !gpu_async.token) {
  cf.br ^one(%t : !gpu_async.token)
// expected-error @+1 {{this is a token that is never consumed; release it}}
^one(%u: !gpu_async.token):
  // expected-note @+1 {{a path ends here with it}}
  return
}

// -----

// The second time around a loop of blocks would consume it again.
func.func @around_a_loop_of_blocks(%x: memref<4xf32>, %c: i1) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  cf.br ^loop
^loop:
  // expected-error @+1 {{consumes inside a loop a token that is made outside of it}}
  gpu_async.wait [%t]
  cf.cond_br %c, ^loop, ^done
^done:
  return
}

// -----

func.func @made_in_a_loop_of_blocks(%x: memref<4xf32>, %c: i1) {
  cf.br ^loop
^loop:
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-error @+1 {{ends an iteration without consuming a token that it made}}
  cf.cond_br %c, ^loop, ^done
^done:
  gpu_async.wait [%t]
  return
}

// -----

func.func @inside_an_unknown_op(%x: memref<4xf32>, %n: index) {
  // expected-note @+1 {{the token is made here}}
  %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
  // expected-note @+1 {{this op}}
  omp.parallel {
    // expected-error @+1 {{uses a token under an op that does not say how control flows through it}}
    gpu_async.wait [%t]
    omp.terminator
  }
  return
}

// -----

func.func @select(
    // expected-note @+1 {{the token is made here}}
    %a: !gpu_async.token,
    // expected-note @+1 {{the token is made here}}
    %b: !gpu_async.token, %c: i1) {
  // expected-error @+1 {{makes or takes a token, which only ops of gpu_async, calls and control flow do}}
  %t = arith.select %c, %a, %b : !gpu_async.token
  gpu_async.wait [%t]
  return
}

// -----

// Functions of nested modules are checked, too.
module {
  func.func @nested(%x: memref<4xf32>) {
    // expected-error @+1 {{makes a token that is never consumed}}
    %t = gpu_async.memcpy async %x, %x : memref<4xf32>, memref<4xf32>
    // expected-note @+1 {{a path ends here with it}}
    return
  }
}
