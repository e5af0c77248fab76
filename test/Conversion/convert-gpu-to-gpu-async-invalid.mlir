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

func.func @used_in_region(%x: memref<8xf32>, %v: f32, %c: i1) {
  // expected-note @below {{the token is made here}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  scf.if %c {
    // expected-error @below {{takes a token of another block: tokens that cross control flow are not supported yet}}
    gpu.wait [%a]
  }
  return
}

// -----

func.func @carried_by_loop(%x: memref<8xf32>, %v: f32, %n: index) {
  // expected-note @below {{the token is made here}}
  %a = gpu.wait async
  // expected-error @below {{takes a token: tokens that cross control flow are not supported yet}}
  // expected-error @below {{returns a token: tokens that cross control flow are not supported yet}}
  // expected-error @below {{has a block argument that is a token}}
  // expected-note @below {{this argument}}
  %r = scf.for %i = %n to %n step %n iter_args(%t = %a) -> !gpu.async.token {
    // expected-note @below {{the token is made here}}
    %b = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    // expected-error @below {{takes a token: tokens that cross control flow are not supported yet}}
    scf.yield %b : !gpu.async.token
  }
  gpu.wait [%r]
  return
}

// -----

// expected-error @below {{has a block argument that is a token}}
func.func @carried_by_branch(%x: memref<8xf32>, %v: f32) {
  // expected-note @below {{the token is made here}}
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  // expected-error @below {{takes a token: tokens that cross control flow are not supported yet}}
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
    // expected-error @below {{takes a token of another block}}
    async.await %a : !async.token
  }
  return
}

// -----

func.func @selected(%c: i1) {
  // expected-note @below {{the token is made here}}
  %a = gpu.wait async
  // expected-error @below {{takes a token, which is not supported}}
  // expected-error @below {{makes a value of type '!gpu.async.token', which is not supported}}
  %s = arith.select %c, %a, %a : !gpu.async.token
  gpu.wait [%s]
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
