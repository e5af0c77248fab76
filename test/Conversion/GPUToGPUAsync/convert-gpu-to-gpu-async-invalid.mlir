// RUN: gpu-opt %s -split-input-file -convert-gpu-to-gpu-async -verify-diagnostics
//
// What the import refuses: by name, at the op, with a note at the other place.

func.func @inline_kernel(%n: index) {
  // expected-error @below {{has its kernel inline: run gpu-kernel-outlining first}}
  gpu.launch blocks(%a, %b, %c) in (%d = %n, %e = %n, %f = %n)
      threads(%g, %h, %i) in (%j = %n, %k = %n, %l = %n) {
    gpu.terminator
  }
  return
}

// -----

func.func @default_device(%n: i32) {
  // expected-error @below {{'gpu.set_default_device' op is not supported}}
  gpu.set_default_device %n
  return
}

// -----

func.func @sparse(%m: memref<?xf32>, %n: index) {
  %t = gpu.wait async
  // expected-error @below {{'gpu.create_dn_tensor' op is an op of cuSPARSE, which is not supported}}
  %d, %u = gpu.create_dn_tensor async [%t] %m, %n, %n : index, index into memref<?xf32>
  gpu.wait [%u]
  return
}

// -----

func.func @device_op_in_host_code() -> index {
  // expected-error @below {{'gpu.thread_id' op is not supported in host code}}
  %x = gpu.thread_id x
  return %x : index
}

// -----

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @f() kernel {
    gpu.return
  }
}
func.func @stream_type(%s: index, %n: index) {
  // expected-error @below {{expected the caller's stream to be an !llvm.ptr, got 'index'}}
  gpu.launch_func <%s : index> @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}
}

// -----

func.func @group(%n: index) {
  // expected-error @below {{'async.create_group' op is not supported}}
  %g = async.create_group %n : !async.group
  return
}

// -----

// expected-error @below {{'async.func' op is not supported: of the async dialect only async.execute, async.yield and async.await are}}
async.func @async_function() -> !async.token {
  return
}

// -----

// expected-error @below {{takes an argument of type '!async.token', which is not supported}}
func.func @async_token_argument(%t: !async.token) {
  async.await %t : !async.token
  return
}

// -----

// expected-error @below {{takes values of the async dialect}}
func.func private @declared(!async.value<f32>)

// -----

// expected-error @below {{returns values of the async dialect}}
func.func @async_token_result() -> !async.token {
  // expected-note @below {{the token is made here}}
  %a = async.execute {
    async.yield
  }
  // expected-error @below {{takes a token}}
  return %a : !async.token
}

// -----

func.func @used_in_block(%x: memref<8xf32>, %v: f32, %c: i1) {
  // expected-note @below {{the token is made here}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  cf.br ^next
^next:
  scf.if %c {
    // expected-error @below {{takes a token of another block: run gpu-async-structure-control-flow first}}
    gpu.wait [%a]
  }
  return
}

// -----

func.func @used_in_region_of_blocks(%x: memref<8xf32>, %v: f32) {
  // expected-note @below {{the token is made here}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // expected-error @below {{returns a token from a region of several blocks: run gpu-async-structure-control-flow first}}
  %r = scf.execute_region -> !gpu.async.token {
    cf.br ^next
  ^next:
    // expected-error @below {{takes a token of another block: run gpu-async-structure-control-flow first}}
    scf.yield %a : !gpu.async.token
  }
  gpu.wait [%r]
  return
}

// -----

func.func @used_in_parallel(%x: memref<8xf32>, %v: f32, %l: index, %u: index, %s: index) {
  // expected-note @below {{the token is made here}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  scf.parallel (%i) = (%l) to (%u) step (%s) {
    // expected-error @below {{takes a token from outside of 'scf.parallel', which is not supported: wait for it}}
    gpu.wait [%a]
  }
  return
}

// -----

func.func @carried_by_scope(%x: memref<8xf32>, %v: f32) {
  // expected-error @below {{returns a token: of ops with regions only scf.if, scf.index_switch, scf.execute_region, scf.for and scf.while can}}
  %r = memref.alloca_scope -> !gpu.async.token {
    // expected-note @below {{the token is made here}}
    %a = gpu.memset async %x, %v : memref<8xf32>, f32
    // expected-error @below {{takes a token, which it cannot carry: wait for it}}
    memref.alloca_scope.return %a : !gpu.async.token
  }
  gpu.wait [%r]
  return
}

// -----

// expected-error @below {{has a block argument that is a token: run gpu-async-structure-control-flow first}}
func.func @carried_by_branch(%x: memref<8xf32>, %v: f32) {
  // expected-note @below {{the token is made here}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // expected-error @below {{takes a token to another block: run gpu-async-structure-control-flow first}}
  cf.br ^next(%a : !gpu.async.token)
// expected-note @below {{this argument}}
^next(%b: !gpu.async.token):
  gpu.wait [%b]
  return
}

// -----

func.func @awaited_in_region(%x: memref<8xf32>, %v: f32, %c: i1) {
  // expected-note @below {{the token is made here}}
  %a = async.execute {
    gpu.memset %x, %v : memref<8xf32>, f32
    async.yield
  }
  scf.if %c {
    // expected-error @below {{takes a token from outside of 'scf.if', which is not supported}}
    async.await %a : !async.token
  }
  return
}

// -----

func.func @carried_async_token(%l: index, %u: index, %s: index) {
  // expected-note @below {{the token is made here}}
  %a = async.execute {
    async.yield
  }
  // expected-error @below {{makes a value of type '!async.token', which is not supported}}
  // expected-error @below {{has a block argument that is a token: only a !gpu.async.token can be one}}
  // expected-note @below {{this argument}}
  // expected-error @below {{takes a token, which it cannot carry: wait for it}}
  %r = scf.for %i = %l to %u step %s iter_args(%t = %a) -> !async.token {
    // expected-note @above {{the token is made here}}
    // expected-error @below {{takes a token, which it cannot carry: wait for it}}
    scf.yield %t : !async.token
  }
  async.await %r : !async.token
  return
}

// -----

func.func @cast(%x: memref<8xf32>, %v: f32) {
  // expected-note @below {{the token is made here}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // expected-error @below {{takes a token, which is not supported}}
  %i = builtin.unrealized_conversion_cast %a : !gpu.async.token to i64
  // expected-error @below {{makes a value of type '!gpu.async.token', which is not supported}}
  %b = builtin.unrealized_conversion_cast %i : i64 to !gpu.async.token
  gpu.wait [%b]
  return
}

// -----

func.func @mixed_forms(%x: memref<8xf32>, %v: f32) {
  // expected-note @below {{this op belongs to the linear or the stream form}}
  %s = gpu_async.stream.create
  // expected-error @below {{'gpu.memset' op is in a function that is past the token form}}
  gpu.memset %x, %v : memref<8xf32>, f32
  gpu_async.stream.destroy %s
  return
}

// -----

// expected-error @below {{'gpu.wait' op expected to be in a function}}
%t = gpu.wait async

// -----

// A kernel takes no token.
module attributes {gpu.container_module} {
gpu.module @k { gpu.func @f(%x: memref<4xf32>, %t: !gpu.async.token) kernel { gpu.return } }
func.func @tokenArgument(%x: memref<4xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  // expected-note @below {{the token is made here}}
  %a = gpu.memset async %x, %v : memref<4xf32>, f32
  // expected-error @below {{'gpu.launch_func' op takes a token, but not to start after it: device code has no tokens; list it behind 'async'}}
  %b = gpu.launch_func async [%a] @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xf32>, %a : !gpu.async.token)
  gpu.wait [%b]
  return
}
}
