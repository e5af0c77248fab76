// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the op verifiers refuse (D16).
//
// RUN: gpu-opt %s -split-input-file -verify-diagnostics

func.func @takes_makes_none(%x: memref<4xf32>, %t: !gpu_async.token) {
  // expected-error @+1 {{takes tokens but makes none}}
  gpu_async.memcpy [%t] %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @both(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  // expected-error @+1 {{is both 'async' and 'on' a stream}}
  %t = gpu_async.memcpy async on %s %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @element_types(%x: memref<4xf32>, %y: memref<4xi32>) {
  // expected-error @+1 {{copies 'i32' elements to 'f32' elements}}
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<4xi32>
  return
}

// -----

func.func @shapes(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error @+1 {{the shapes differ}}
  %t = gpu_async.memcpy async %x, %y : memref<4xf32>, memref<5xf32>
  return
}

// -----

func.func @memset_value(%x: memref<4xf32>, %v: i32) {
  // expected-error @+1 {{to a value of type 'i32'; it must be 'f32'}}
  %t = gpu_async.memset async %x, %v : memref<4xf32>, i32
  return
}

// -----

func.func @memset_size(%x: memref<4xvector<3xf32>>, %v: vector<3xf32>) {
  // expected-error @+1 {{elements of 1, 2, 4, 8 or 16 bytes}}
  %t = gpu_async.memset async %x, %v : memref<4xvector<3xf32>>, vector<3xf32>
  return
}

// -----

func.func @alloc_sizes(%n: index) {
  // expected-error @+1 {{has 2 dynamic sizes, but 'memref<?xf32>' needs 1}}
  %m, %t = gpu_async.alloc async (%n, %n) : memref<?xf32>
  return
}

// -----

func.func @no_module(%n: index) {
  // expected-error @+1 {{there is no gpu.module or binary of that name}}
  %t = gpu_async.launch async @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}

// -----

// expected-note @+1 {{the module is here}}
gpu.module @k {}
func.func @no_kernel(%n: index) {
  // expected-error @+1 {{the module has no kernel of that name}}
  %t = gpu_async.launch async @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}

// -----

gpu.module @k {
  // expected-note @+1 {{the function is here}}
  gpu.func @f() { gpu.return }
}
func.func @not_a_kernel(%n: index) {
  // expected-error @+1 {{which is not a kernel}}
  %t = gpu_async.launch async @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}

// -----

gpu.module @k {
  // expected-note @+1 {{the kernel is here}}
  gpu.func @f(%x: i32) kernel { gpu.return }
}
func.func @argument_count(%n: index) {
  // expected-error @+1 {{passes 0 arguments to kernel @k::@f, which takes 1}}
  %t = gpu_async.launch async @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}

// -----

gpu.module @k {
  // expected-note @+1 {{the kernel is here}}
  gpu.func @f(%x: i32) kernel { gpu.return }
}
func.func @argument_type(%n: index, %v: i64) {
  // expected-error @+1 {{argument 0 of kernel @k::@f is 'i64', but the kernel takes 'i32'}}
  %t = gpu_async.launch async @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%v : i64)
  return
}

// -----

// expected-note @+1 {{the binary is here}}
gpu_async.binary @k kernels [] images []
func.func @not_in_binary(%n: index) {
  // expected-error @+1 {{the binary has no kernel of that name}}
  %t = gpu_async.launch async @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n)
  return
}

// -----

gpu.module @k { gpu.func @f() kernel { gpu.return } }
func.func @clusters(%n: index) {
  // expected-error @+1 {{expected 0 or 3 cluster sizes, got 1}}
  %t = gpu_async.launch async @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) clusters in (%n)
  return
}

// -----

func.func @no_streams() {
  // expected-error @+1 {{expected at least one stream}}
  gpu_async.stream.synchronize
  return
}

// -----

func.func @no_events() {
  // expected-error @+1 {{expected at least one event}}
  gpu_async.event.synchronize
  return
}

// -----

func.func @fork_of_none(%t: !gpu_async.token) {
  // expected-error @+1 {{makes no token; use gpu_async.release}}
  gpu_async.fork %t : 0
  return
}

// -----

// expected-error @+1 {{has two kernels named 'f'}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">, #gpu_async.kernel<"f">] images []

// -----

// expected-error @+1 {{has 1 kernels, but its cpu image has 0 functions}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = []>]

// -----

// expected-error @+1 {{an image of format ptx has 'data' and no 'functions'}}
gpu_async.binary @k kernels [] images [#gpu_async.image<ptx, "sm_90">]

// -----

// expected-error @+1 {{an image of format ptx is for a chip, which it does not name}}
gpu_async.binary @k kernels [] images [#gpu_async.image<ptx, "" data = "p">]

// -----

// expected-error @+1 {{an image of format ptx is for a chip such as sm_90, not for 'gfx90a'}}
gpu_async.binary @k kernels [] images [#gpu_async.image<ptx, "gfx90a" data = "p">]

// -----

// expected-error @+1 {{an image of format hsaco is for a chip such as gfx90a, not for 'sm_90'}}
gpu_async.binary @k kernels [] images [#gpu_async.image<hsaco, "sm_90" data = "p">]

// -----

// expected-error @+1 {{a kernel needs a name}}
gpu_async.binary @k kernels [#gpu_async.kernel<"">] images []

// -----

// expected-error @+1 {{kernel 'f' has a parameter of -8 bytes}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [8, -8]>] images []

// -----

// expected-error @+1 {{kernel 'f' has more than 2^32 - 1 bytes of parameters}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [4294967295, 8]>] images []

// -----

// expected-error @+2 {{failed to parse GPUAsync_ImageAttr parameter 'functions'}}
// expected-error @+1 {{block function @b has -4 bytes of workgroup memory}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b workgroup = -4>]>]

// -----

// expected-error @+2 {{failed to parse GPUAsync_ImageAttr parameter 'functions'}}
// expected-error @+1 {{block function @b runs several blocks in one call}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b thread = 4 runs = true>]>]

// -----

// expected-error @+2 {{failed to parse GPUAsync_ImageAttr parameter 'functions'}}
// expected-error @+1 {{block function @b has -2 bytes on the stack}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b stack = -2>]>]

// -----

// expected-error @+2 {{failed to parse GPUAsync_ImageAttr parameter 'functions'}}
// expected-error @+1 {{block function @b has 0 : i64 operations, which are a number of 64 bits above zero, or the symbol of a function}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b operations = 0 : i64>]>]

// -----

llvm.func @b(!llvm.ptr, !llvm.ptr, !llvm.ptr)
// expected-note @+1 {{it is here}}
llvm.func @count(!llvm.ptr) -> f64
// expected-error @+1 {{names the operations function @count, which is not an llvm.func of type '!llvm.func<f64 (ptr, ptr)>'}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b operations = @count>]>]

// -----

// expected-error @+1 {{names the block function @nowhere, which the program does not have}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@nowhere>]>]

// -----

// expected-note @+1 {{it is here}}
func.func private @b(index)
// expected-error @+1 {{names the block function @b, which is not an llvm.func of type '!llvm.func<void (ptr, ptr, ptr)>'}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b>]>]

// -----

// expected-note @+1 {{it is here}}
llvm.func @b(!llvm.ptr, !llvm.ptr)
// expected-error @+1 {{names the block function @b, which is not an llvm.func of type}}
gpu_async.binary @k kernels [#gpu_async.kernel<"f">] images [#gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@b>]>]

// -----

func.func @vector_that_wraps(%m: memref<4xvector<536870913xi8>>, %v: vector<536870913xi8>) {
  // expected-error @+1 {{elements of 1, 2, 4, 8 or 16 bytes are supported}}
  %t = gpu_async.memset async %m, %v : memref<4xvector<536870913xi8>>, vector<536870913xi8>
  return
}

// -----

func.func @id_out_of_range(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  // expected-error @+1 {{names id 9223372036854775807; ids are 0 to 4294967294}}
  gpu_async.memcpy on %s id(9223372036854775807) %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @after_out_of_range(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  // expected-error @+1 {{names id -1; ids are 0 to 4294967294}}
  gpu_async.memcpy on %s id(1 after [0, -1]) %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @after_without_id(%x: memref<4xf32>) {
  %s = gpu_async.stream.create
  // expected-error @+1 {{has 'after' but no 'id'}}
  "gpu_async.memcpy"(%s, %x, %x) <{operandSegmentSizes = array<i32: 0, 1, 1, 1>, after = array<i64: 0>}> : (!gpu_async.stream, memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

// A kernel takes nothing that orders work.
module attributes {gpu.container_module} {
gpu.module @k { gpu.func @f(%t: !gpu_async.token) kernel { gpu.return } }
func.func @passes_token(%n: index, %t: !gpu_async.token) {
  // expected-error @+1 {{'gpu_async.launch' op passes '!gpu_async.token' as argument 0 to kernel @k::@f, but device code has no tokens, streams or events; to order the launch, put it before the kernel: 'async [...]', 'on'}}
  %u = gpu_async.launch async [%t] @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%t : !gpu_async.token)
  return
}
}

// -----

module attributes {gpu.container_module} {
gpu.module @k { gpu.func @f(%v: i32, %s: !gpu_async.stream) kernel { gpu.return } }
func.func @passes_stream(%n: index, %v: i32, %s: !gpu_async.stream) {
  // expected-error @+1 {{passes '!gpu_async.stream' as argument 1 to kernel @k::@f}}
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%v : i32, %s : !gpu_async.stream)
  return
}
}

// -----

module attributes {gpu.container_module} {
gpu.module @k { gpu.func @f(%e: !gpu_async.event) kernel { gpu.return } }
func.func @passes_event(%n: index, %s: !gpu_async.stream, %e: !gpu_async.event) {
  // expected-error @+1 {{passes '!gpu_async.event' as argument 0 to kernel @k::@f}}
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%e : !gpu_async.event)
  return
}
}

// -----

module attributes {gpu.container_module} {
gpu.module @k { gpu.func @f(%t: !gpu.async.token) kernel { gpu.return } }
func.func @passes_upstream_token(%n: index, %t: !gpu.async.token) {
  // expected-error @+1 {{passes '!gpu.async.token' as argument 0 to kernel @k::@f}}
  gpu_async.launch @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%t : !gpu.async.token)
  return
}
}

// -----

func.func @window_of_argument(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'gpu_async.window' op is of memory that no gpu_async.alloc makes}}
  %x = gpu_async.window %m[%c0] () : memref<512xi8> to memref<4xf32>
  return
}

// -----

func.func @window_of_floats(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : memref<4x4xf32>
  // expected-error @+1 {{is of 'memref<4x4xf32>', not of bytes in one dimension (memref<?xi8>)}}
  %x = gpu_async.window %s[%c0] () : memref<4x4xf32> to memref<4xf32>
  return
}

// -----

func.func @window_with_strides(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : memref<512xi8>
  // expected-error @+1 {{has 'memref<4xf32, strided<[2]>>'; a window has the identity layout, take a view of it}}
  %x = gpu_async.window %s[%c0] () : memref<512xi8> to memref<4xf32, strided<[2]>>
  return
}

// -----

func.func @window_in_another_space(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : memref<512xi8>
  // expected-error @+1 {{is in another memory space than its slab: 'memref<4xf32, 1>' of 'memref<512xi8>'}}
  %x = gpu_async.window %s[%c0] () : memref<512xi8> to memref<4xf32, 1>
  return
}

// -----

func.func @window_of_too_few_sizes(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : memref<512xi8>
  // expected-error @+1 {{has 0 dynamic sizes, but 'memref<?xf32>' needs 1}}
  %x = gpu_async.window %s[%c0] () : memref<512xi8> to memref<?xf32>
  return
}

// -----

func.func @window_not_aligned(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : memref<512xi8>
  %c128 = arith.constant 128 : index
  // expected-error @+1 {{begins at byte 128, which is no multiple of 256}}
  %x = gpu_async.window %s[%c128] () : memref<512xi8> to memref<4xf32>
  return
}

// -----

func.func @window_below(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : memref<512xi8>
  %low = arith.constant -256 : index
  // expected-error @+1 {{begins at byte -256, which is no multiple of 256}}
  %x = gpu_async.window %s[%low] () : memref<512xi8> to memref<4xf32>
  return
}

// -----

func.func @window_too_long(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : memref<512xi8>
  %c256 = arith.constant 256 : index
  // expected-error @+1 {{has 260 bytes from byte 256 on, in a slab of 512}}
  %x = gpu_async.window %s[%c256] () : memref<512xi8> to memref<65xf32>
  return
}

// -----

func.func @window_behind(%n: index, %m: memref<512xi8>) {
  %c0 = arith.constant 0 : index
  %s, %t = gpu_async.alloc async () : memref<512xi8>
  %c768 = arith.constant 768 : index
  // expected-error @+1 {{has 0 bytes from byte 768 on, in a slab of 512}}
  %x = gpu_async.window %s[%c768] (%n) : memref<512xi8> to memref<?xf32>
  return
}

// -----

func.func @region_holds_wait() {
  %s = gpu_async.stream.create
  // expected-error @+1 {{holds 'gpu_async.stream.synchronize', which no region may}}
  gpu_async.region {
    %c = arith.constant true
    scf.if %c {
      // expected-note @+1 {{the op is here}}
      gpu_async.stream.synchronize %s
    }
  }
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @region_holds_alloc() {
  %s = gpu_async.stream.create
  // expected-error @+1 {{holds 'gpu_async.alloc', which no region may}}
  gpu_async.region {
    // expected-note @+1 {{the op is here}}
    %m = gpu_async.alloc on %s () : memref<4xf32>
  }
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @region_in_region() {
  // expected-error @+1 {{holds 'gpu_async.region', which no region may}}
  gpu_async.region {
    // expected-note @+1 {{the op is here}}
    gpu_async.region {
    }
  }
  return
}

// -----

func.func @region_callers_stream(%p: !llvm.ptr) {
  // expected-error @+1 {{holds 'gpu_async.stream.external', which no region may}}
  gpu_async.region {
    // expected-note @+1 {{the op is here}}
    %s = gpu_async.stream.external %p : !llvm.ptr
    gpu_async.stream.destroy %s
  }
  return
}

// -----

func.func @region_yields_other_types(%n: index) -> i32 {
  // expected-error @+1 {{successor operand type #0 'index' should match successor input type #0 'i32'}}
  %r = gpu_async.region -> i32 {
    // expected-note @+1 {{region branch point}}
    gpu_async.yield %n : index
  }
  return %r : i32
}

// -----

func.func @region_arguments() {
  // expected-error @+1 {{has a body with arguments, which nothing gives}}
  gpu_async.region {
  ^bb0(%n: index):
    gpu_async.yield
  }
  return
}

// -----

func.func @yield_alone() {
  // expected-error @+1 {{expects parent op 'gpu_async.region'}}
  gpu_async.yield
}

// -----

// expected-error @+1 {{has 'gpu_async.nonblocking', which only launches, functions of a gpu.module and declarations have}}
func.func @nonblocking_host() attributes {gpu_async.nonblocking} {
  return
}

// -----

gpu.module @k {
  // expected-error @+1 {{has 'gpu_async.nonblocking' with a value; it is a unit attribute}}
  gpu.func @f() kernel attributes {gpu_async.nonblocking = true} {
    gpu.return
  }
}

// -----

// A word that is misspelt does not go unnoticed.
// expected-error @+1 {{has 'gpu_async.replayble', which says nothing; declarations of a library's functions have 'gpu_async.nonblocking', 'gpu_async.replayable' and 'gpu_async.serial'}}
func.func private @misspelt(memref<4xf32>) attributes {gpu_async.replayble}

// -----

func.func @call_missing() {
  // expected-error @+1 {{calls @f, which the program does not declare: add 'func.func private @f(...)' with the types of the arguments}}
  gpu_async.call @f()
  return
}

// -----

// expected-note @+1 {{it is here}}
func.func @f() {
  return
}
func.func @call_defined() {
  // expected-error @+1 {{calls @f, which is no function of a library: it must be declared only}}
  gpu_async.call @f()
  return
}

// -----

// expected-note @+1 {{it is here}}
func.func private @f() -> i32
func.func @call_results() {
  // expected-error @+1 {{calls @f, which is declared with results: what a library's function returns says whether it failed}}
  gpu_async.call @f()
  return
}

// -----

// expected-note @+1 {{it is here}}
func.func private @f(i32)
func.func @call_types(%n: index) {
  // expected-error @+1 {{calls @f with other types than it is declared with}}
  gpu_async.call @f(%n : index)
  return
}

// -----

func.func private @f(i8)
func.func @call_byte(%n: i8) {
  // expected-error @+1 {{passes a value of type 'i8': arguments are ranked memrefs, index, i32, i64, f32, f64 and pointers}}
  gpu_async.call @f(%n : i8)
  return
}

// -----

// expected-error @+1 {{has 'gpu_async.serial', which is a name on the declaration of a library's function}}
func.func @serial_host() attributes {gpu_async.serial = "x"} {
  return
}

// -----

// expected-error @+1 {{has 'gpu_async.serial', which is a name on the declaration of a library's function}}
func.func private @serial_number() attributes {gpu_async.serial = 1}

// -----

// expected-error @+1 {{has 'gpu_async.replayable', which is a unit attribute on the declaration of a library's function}}
func.func @replayable_host() attributes {gpu_async.replayable} {
  return
}

// -----

// expected-error @+1 {{has 'gpu_async.replayable', which is a unit attribute on the declaration of a library's function}}
func.func private @replayable_number() attributes {gpu_async.replayable = 1}

// -----

func.func @region_holds_call(%x: memref<?xf32>) {
  %s = gpu_async.stream.create
  gpu_async.region {
    // expected-error @+1 {{calls @axpy, which is not gpu_async.replayable, in a region}}
    gpu_async.call on %s @axpy(%x : memref<?xf32>)
  }
  gpu_async.stream.destroy %s
  return
}
// expected-note @+1 {{it is here}}
func.func private @axpy(memref<?xf32>)

// -----

func.func @replayable_call(%x: memref<?xf32>) {
  // expected-error @+1 {{has 'gpu_async.replayable', which is a unit attribute on the declaration of a library's function}}
  gpu_async.call @axpy(%x : memref<?xf32>) {gpu_async.replayable}
  return
}
func.func private @axpy(memref<?xf32>)

// -----

memref.global "private" @w : memref<4xf32> = dense<1.0>
func.func @no_constant() {
  // expected-error @+1 {{'gpu_async.constant' op names @w, which is no constant memref.global with a value}}
  %w = gpu_async.constant @w : memref<4xf32>
  return
}

// -----

memref.global "private" constant @w : memref<4xf32> = dense<1.0>
func.func @constant_of_another_type() {
  // expected-error @+1 {{'gpu_async.constant' op has 'memref<4xi32>', but @w is 'memref<4xf32>'; both are one type without a layout}}
  %w = gpu_async.constant @w : memref<4xi32>
  return
}

// -----

func.func @resident_of_another_shape(%x: memref<4xf32>) {
  // expected-error @+1 {{'gpu_async.resident' op has 'memref<8xf32>' of 'memref<4xf32>': elements and sizes are the same}}
  %c = gpu_async.resident %x : memref<4xf32> to memref<8xf32>
  return
}

// -----

func.func @resident_with_gaps(%x: memref<4xf32, strided<[2]>>) {
  // expected-error @+1 {{'gpu_async.resident' op has 'memref<4xf32>' of 'memref<4xf32, strided<[2]>>': both are memory without gaps}}
  %c = gpu_async.resident %x : memref<4xf32, strided<[2]>> to memref<4xf32>
  return
}

// -----

// expected-error @+1 {{'func.func' op has 'gpu_async.resident' on argument 1; it is a unit attribute of arguments that are arrays}}
func.func @resident_number(%x: memref<4xf32>, %n: index {gpu_async.resident}) {
  return
}

// -----

func.func @misspelt_tile(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{has 'gpu_async.tiles', which says nothing; linalg ops and elementwise ops on tensors have 'gpu_async.tile'}}
  %r = linalg.exp {gpu_async.tiles = array<i64: 4>} ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// -----

// expected-error @+1 {{has 'gpu_async.residnt' on argument 1, which says nothing; arguments have 'gpu_async.resident' and 'gpu_async.donated'}}
func.func @misspelt_resident(%x: tensor<4xf32>, %y: tensor<4xf32> {gpu_async.residnt}) {
  return
}

// -----

// expected-error @+1 {{'func.func' op has 'gpu_async.donated' on argument 1; it is a unit attribute of arguments that are arrays}}
func.func @donated_number(%x: memref<4xf32>, %n: index {gpu_async.donated}) {
  return
}

// -----

// expected-error @+1 {{needs either a grid and axes}}
gpu_async.group @g 

// -----

// expected-error @+1 {{needs either a grid and axes}}
gpu_async.group @g grid [2] axes [0] ranks [[0, 1]]

// -----

// expected-error @+1 {{has a grid without sizes}}
gpu_async.group @g grid [] axes [0]

// -----

// expected-error @+1 {{has size 0 in axis 1 of its grid; sizes are 1 or more}}
gpu_async.group @g grid [2, 0] axes [0]

// -----

// expected-error @+1 {{has a grid of more than 1048576 ranks, the most that a program has}}
gpu_async.group @g grid [1024, 1025] axes [0]

// -----

// expected-error @+1 {{names no axis in which the ranks of a list differ}}
gpu_async.group @g grid [2, 2] axes []

// -----

// expected-error @+1 {{names axis 2, but its grid has the axes 0 to 1}}
gpu_async.group @g grid [2, 2] axes [2]

// -----

// expected-error @+1 {{names axis 1 twice; name it once}}
gpu_async.group @g grid [2, 2] axes [1, 1]

// -----

// expected-error @+1 {{has no list of ranks}}
gpu_async.group @g ranks []

// -----

// expected-error @+1 {{has no rank in list 1; lists have one rank or more}}
gpu_async.group @g ranks [[0], []]

// -----

// expected-error @+1 {{has 1 ranks in list 1, but 2 in list 0; all lists of a group have one length}}
gpu_async.group @g ranks [[0, 1], [2]]

// -----

// expected-error @+1 {{has rank 4, but lists of 4 ranks in all have the ranks 0 to 3, each once}}
gpu_async.group @g ranks [[0, 1], [2, 4]]

// -----

// expected-error @+1 {{has rank 1 twice; each rank is in one list}}
gpu_async.group @g ranks [[0, 1], [1, 2]]

// -----

func.func @group_in_function() {
  // expected-error @+1 {{expects parent op 'builtin.module'}}
  gpu_async.group @g grid [2] axes [0]
  return
}

// -----

func.func @no_group() -> index {
  // expected-error @+1 {{names the group @g, which the program does not have: add 'gpu_async.group @g grid [...] axes [...]' to the module}}
  %r = gpu_async.rank @g
  return %r : index
}

// -----

func.func @uniform_memory(%x: memref<4xf32>) {
  // expected-error @+1 {{operand #0 must be signless integer or index or floating-point}}
  %y = gpu_async.uniform %x : memref<4xf32>
  return
}

// -----

func.func @uniform_group(%x: i32) -> i32 {
  // expected-error @+1 {{names the group @g, which the program does not have: add 'gpu_async.group @g grid [...] axes [...]' to the module}}
  %y = gpu_async.uniform %x group(@g) : i32
  return %y : i32
}

// -----

func.func @uniform_types(%x: i32) {
  // expected-error @+1 {{requires the same type for all operands and results}}
  %y = "gpu_async.uniform"(%x) : (i32) -> i64
  return
}

// -----

func.func private @g()
func.func @no_group_either() -> index {
  // expected-error @+1 {{names the group @g, which the program does not have}}
  %n = gpu_async.size @g
  return %n : index
}

// -----

func.func @collective_without_group(%x: memref<4xf32>) {
  // expected-error @+1 {{names the group @g, which the program does not have}}
  gpu_async.collective all_reduce<sum> group(@g) %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @unknown_kind(%x: memref<4xf32>) {
  // expected-error @+1 {{there is no collective 'gather'; there are all_reduce<...>, all_gather, reduce_scatter<...>, all_to_all, broadcast<...>, permute<...> and barrier}}
  gpu_async.collective gather %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @unknown_reduction(%x: memref<4xf32>) {
  // expected-error @+1 {{there is no reduction 'xor'; there are sum, prod, min, max, and, or}}
  gpu_async.collective all_reduce<xor> %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @two_sources(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{permute sends from position 0 twice: each position is the source of one pair at most}}
  gpu_async.collective permute<[[0, 1], [0, 2]]> %x, %y : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @two_targets(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{permute sends to position 1 twice: each position is the target of one pair at most}}
  gpu_async.collective permute<[[0, 1], [2, 1]]> %x, %y : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @barrier_memory(%x: memref<4xf32>) {
  // expected-error @+1 {{is a barrier with memory; leave its memrefs out}}
  "gpu_async.collective"(%x, %x) <{operandSegmentSizes = array<i32: 0, 0, 1, 1>, what = #gpu_async.collective<barrier>}> : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @no_memory() {
  // expected-error @+1 {{needs two memrefs: the destination and the source of all_gather}}
  "gpu_async.collective"() <{operandSegmentSizes = array<i32: 0, 0, 0, 0>, what = #gpu_async.collective<all_gather>}> : () -> ()
  return
}

// -----

func.func @gaps(%x: memref<4xf32>, %y: memref<4xf32, strided<[2]>>) {
  // expected-error @+1 {{has the source 'memref<4xf32, strided<[2]>>', whose elements may have gaps between them: copy it to memory without gaps, by gpu_async.memcpy}}
  gpu_async.collective all_reduce<sum> %x, %y : memref<4xf32>, memref<4xf32, strided<[2]>>
  return
}

// -----

func.func @element_type(%x: memref<4xcomplex<f32>>) {
  // expected-error @+1 {{has elements of type 'complex<f32>'; collectives take i1, i8, i16, i32, i64, index, f16, bf16, f32 and f64}}
  gpu_async.collective all_reduce<sum> %x, %x : memref<4xcomplex<f32>>, memref<4xcomplex<f32>>
  return
}

// -----

func.func @two_element_types(%x: memref<4xf32>, %y: memref<4xf64>) {
  // expected-error @+1 {{has a destination of 'f32' elements and a source of 'f64' elements; both must be equal}}
  gpu_async.collective all_reduce<sum> %x, %y : memref<4xf32>, memref<4xf64>
  return
}

// -----

func.func @bits_of_floats(%x: memref<4xf32>) {
  // expected-error @+1 {{reduces 'f32' elements by 'and', which only integers have; use sum, prod, min or max}}
  gpu_async.collective all_reduce<and> %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @sum_of_bits(%x: memref<4xi1>) {
  // expected-error @+1 {{reduces i1 elements by 'sum'; use 'and' or 'or', or elements of a larger type}}
  gpu_async.collective all_reduce<sum> %x, %x : memref<4xi1>, memref<4xi1>
  return
}

// -----

func.func @in_place(%x: memref<4xf32>) {
  // expected-error @+1 {{has one memref as destination and source, which only all_reduce and broadcast may have; give all_to_all a destination of its own}}
  gpu_async.collective all_to_all %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

func.func @no_dimension(%x: memref<f32>, %y: memref<f32>) {
  // expected-error @+1 {{has memory without dimensions, but the parts of all_to_all are parts of the first dimension}}
  gpu_async.collective all_to_all %x, %y : memref<f32>, memref<f32>
  return
}

// -----

func.func @two_shapes(%x: memref<4xf32>, %y: memref<5xf32>) {
  // expected-error @+1 {{has the destination 'memref<4xf32>' and the source 'memref<5xf32>'; those of broadcast have one shape}}
  gpu_async.collective broadcast<0> %x, %y : memref<4xf32>, memref<5xf32>
  return
}

// -----

func.func @two_inner_shapes(%x: memref<4x2xf32>, %y: memref<2x3xf32>) {
  // expected-error @+1 {{those of all_gather differ in the first dimension only}}
  gpu_async.collective all_gather %x, %y : memref<4x2xf32>, memref<2x3xf32>
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @root(%x: memref<4xf32>) {
  // expected-error @+1 {{has the root 2, but roots are positions in the group, 0 to 1}}
  gpu_async.collective broadcast<2> group(@g) %x, %x : memref<4xf32>, memref<4xf32>
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @pair(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{has a pair with 2, but pairs are positions in the group, 0 to 1}}
  gpu_async.collective permute<[[0, 1], [1, 2]]> group(@g) %x, %y : memref<4xf32>, memref<4xf32>
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @gather_size(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{has the destination 'memref<4xf32>' and the source 'memref<4xf32>'; the first size of the destination is 2 times that of the source}}
  gpu_async.collective all_gather group(@g) %x, %y : memref<4xf32>, memref<4xf32>
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @gather_odd_size(%x: memref<3xf32>, %y: memref<?xf32>) {
  // expected-error @+1 {{the first size of the destination is 2 times that of the source}}
  gpu_async.collective all_gather group(@g) %x, %y : memref<3xf32>, memref<?xf32>
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @scatter_size(%x: memref<4xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{the first size of the source is 2 times that of the destination}}
  gpu_async.collective reduce_scatter<sum> group(@g) %x, %y : memref<4xf32>, memref<4xf32>
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @parts(%x: memref<3xf32>, %y: memref<?xf32>) {
  // expected-error @+1 {{the first size of both is a multiple of 2}}
  gpu_async.collective all_to_all group(@g) %x, %y : memref<3xf32>, memref<?xf32>
  return
}

// -----

func.func @region_holds_collective() {
  %s = gpu_async.stream.create
  // expected-error @+1 {{holds 'gpu_async.collective', which no region may: only launches, copies, fills, library calls, streams and events}}
  gpu_async.region {
    // expected-note @+1 {{the op is here}}
    gpu_async.collective on %s barrier
  }
  gpu_async.stream.destroy %s
  return
}

// -----

func.func @tensors_without_group(%x: tensor<4xf32>) {
  // expected-error @+1 {{names the group @g, which the program does not have: add 'gpu_async.group @g grid [...] axes [...]' to the module}}
  %r = gpu_async.tensor_collective all_reduce<sum> group(@g) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

func.func @tensor_barrier(%x: tensor<4xf32>) {
  // expected-error @+1 {{is a barrier, which has no tensors: write gpu_async.collective barrier}}
  %r = gpu_async.tensor_collective barrier ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

func.func @tensor_elements(%x: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{has elements of type 'complex<f32>'; collectives take i1, i8, i16, i32, i64, index, f16, bf16, f32 and f64}}
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<4xcomplex<f32>>) outs(%x : tensor<4xcomplex<f32>>)
  return
}

// -----

func.func @tensor_other_elements(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{has a destination of 'f64' elements and a source of 'f32' elements; both must be equal}}
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<4xf32>) outs(%y : tensor<4xf64>)
  return
}

// -----

func.func @tensor_and(%x: tensor<4xf32>) {
  // expected-error @+1 {{reduces 'f32' elements by 'and', which only integers have; use sum, prod, min or max}}
  %r = gpu_async.tensor_collective all_reduce<and> ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

func.func @tensor_bool_sum(%x: tensor<4xi1>) {
  // expected-error @+1 {{reduces i1 elements by 'sum'; use 'and' or 'or', or elements of a larger type}}
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<4xi1>) outs(%x : tensor<4xi1>)
  return
}

// -----

func.func @tensor_parts(%x: tensor<f32>) {
  // expected-error @+1 {{has tensors without dimensions, but the parts of all_to_all are parts of the first dimension}}
  %r = gpu_async.tensor_collective all_to_all ins(%x : tensor<f32>) outs(%x : tensor<f32>)
  return
}

// -----

func.func @tensor_shapes(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{has the destination 'tensor<5xf32>' and the source 'tensor<4xf32>'; those of broadcast have one shape}}
  %r = gpu_async.tensor_collective broadcast<0> ins(%x : tensor<4xf32>) outs(%y : tensor<5xf32>)
  return
}

// -----

func.func @tensor_gather_shapes(%x: tensor<2x3xf32>, %y: tensor<4x2xf32>) {
  // expected-error @+1 {{those of all_gather differ in the first dimension only}}
  %r = gpu_async.tensor_collective all_gather ins(%x : tensor<2x3xf32>) outs(%y : tensor<4x2xf32>)
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @tensor_root(%x: tensor<4xf32>) {
  // expected-error @+1 {{has the root 2, but roots are positions in the group, 0 to 1}}
  %r = gpu_async.tensor_collective broadcast<2> group(@g) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @tensor_pair(%x: tensor<4xf32>) {
  // expected-error @+1 {{has a pair with 2, but pairs are positions in the group, 0 to 1}}
  %r = gpu_async.tensor_collective permute<[[0, 1], [1, 2]]> group(@g) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @tensor_gather_size(%x: tensor<4xf32>) {
  // expected-error @+1 {{the first size of the destination is 2 times that of the source}}
  %r = gpu_async.tensor_collective all_gather group(@g) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @tensor_scatter_size(%x: tensor<4xf32>) {
  // expected-error @+1 {{the first size of the source is 2 times that of the destination}}
  %r = gpu_async.tensor_collective reduce_scatter<sum> group(@g) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>)
  return
}

// -----

// expected-note @+1 {{the group is here; its lists have 2 ranks}}
gpu_async.group @g grid [2, 3] axes [0]
func.func @tensor_all_to_all_size(%x: tensor<3xf32>) {
  // expected-error @+1 {{the first size of both is a multiple of 2}}
  %r = gpu_async.tensor_collective all_to_all group(@g) ins(%x : tensor<3xf32>) outs(%x : tensor<3xf32>)
  return
}
