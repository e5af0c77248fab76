// RUN: gpu-opt %s -convert-gpu-to-gpu-async -gpu-async-infer-dependencies -gpu-async-verify-form=form=token -gpu-async-make-forks-explicit -gpu-async-verify-form=form=linear -gpu-async-assign-streams -gpu-async-verify-form=form=stream -o %t 2>/dev/null
// RUN: FileCheck %s --check-prefix=STREAM < %t
// RUN: FileCheck %s --check-prefix=END < %t
// RUN: FileCheck %s --check-prefix=EVENT < %t
// RUN: FileCheck %s --check-prefix=FREE < %t
// RUN: FileCheck %s --check-prefix=WAIT < %t
//
// What upstream's lowering miscompiles, leaks or refuses (D04, D12):
// how many streams are made and given back, events recorded and given back, and
// times the host waits.

// Two consumers of one token (upstream: both on one stream, destroyed twice).
// STREAM-LABEL: func.func @implicit_fork
// END-LABEL: func.func @implicit_fork
// EVENT-LABEL: func.func @implicit_fork
// FREE-LABEL: func.func @implicit_fork
// WAIT-LABEL: func.func @implicit_fork
// STREAM-COUNT-2: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-2: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-COUNT-1: gpu_async.event.record
// EVENT-NOT: gpu_async.event.record
// FREE-COUNT-1: gpu_async.event.destroy
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @implicit_fork(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %v: f32) {
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memcpy async [%a] %y, %x : memref<8xf32>, memref<8xf32>
  %c = gpu.memcpy async [%a] %z, %x : memref<8xf32>, memref<8xf32>
  gpu.wait [%b, %c]
  return
}

// A join whose token nobody takes (upstream: streams and event leak).
// STREAM-LABEL: func.func @join_is_last_use
// END-LABEL: func.func @join_is_last_use
// EVENT-LABEL: func.func @join_is_last_use
// FREE-LABEL: func.func @join_is_last_use
// WAIT-LABEL: func.func @join_is_last_use
// STREAM-COUNT-2: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-2: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-NOT: gpu_async.event.record
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @join_is_last_use(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32) {
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  %j = gpu.wait async [%a, %b]
  return
}

// A token that nobody takes (upstream: its stream leaks).
// STREAM-LABEL: func.func @unused_token
// END-LABEL: func.func @unused_token
// EVENT-LABEL: func.func @unused_token
// FREE-LABEL: func.func @unused_token
// WAIT-LABEL: func.func @unused_token
// STREAM-COUNT-1: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-1: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-NOT: gpu_async.event.record
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @unused_token(%x: memref<8xf32>, %v: f32) {
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  return
}

// Two waits for one token (upstream: its stream is destroyed twice).
// STREAM-LABEL: func.func @double_wait
// END-LABEL: func.func @double_wait
// EVENT-LABEL: func.func @double_wait
// FREE-LABEL: func.func @double_wait
// WAIT-LABEL: func.func @double_wait
// STREAM-COUNT-1: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-1: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-NOT: gpu_async.event.record
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @double_wait(%x: memref<8xf32>, %v: f32) {
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  gpu.wait [%a]
  gpu.wait [%a]
  return
}

// An op with two dependencies (upstream: refused).
// STREAM-LABEL: func.func @two_dependencies
// END-LABEL: func.func @two_dependencies
// EVENT-LABEL: func.func @two_dependencies
// FREE-LABEL: func.func @two_dependencies
// WAIT-LABEL: func.func @two_dependencies
// STREAM-COUNT-2: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-2: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-COUNT-1: gpu_async.event.record
// EVENT-NOT: gpu_async.event.record
// FREE-COUNT-1: gpu_async.event.destroy
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @two_dependencies(%x: memref<8xf32>, %y: memref<8xf32>, %v: f32) {
  %a = gpu.memset async %x, %v : memref<8xf32>, f32
  %b = gpu.memset async %y, %v : memref<8xf32>, f32
  %c = gpu.memcpy async [%a, %b] %x, %y : memref<8xf32>, memref<8xf32>
  gpu.wait [%c]
  return
}

// Sync allocation, copies and free (upstream: refused).
// STREAM-LABEL: func.func @sync_alloc_memcpy
// END-LABEL: func.func @sync_alloc_memcpy
// EVENT-LABEL: func.func @sync_alloc_memcpy
// FREE-LABEL: func.func @sync_alloc_memcpy
// WAIT-LABEL: func.func @sync_alloc_memcpy
// STREAM-COUNT-1: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-1: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-NOT: gpu_async.event.record
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @sync_alloc_memcpy(%h: memref<8xf32>) {
  %m = gpu.alloc () : memref<8xf32>
  gpu.memcpy %m, %h : memref<8xf32>, memref<8xf32>
  gpu.memcpy %h, %m : memref<8xf32>, memref<8xf32>
  gpu.dealloc %m : memref<8xf32>
  return
}

// A pattern of 8 bits (upstream: refused).
// STREAM-LABEL: func.func @memset_i8
// END-LABEL: func.func @memset_i8
// EVENT-LABEL: func.func @memset_i8
// FREE-LABEL: func.func @memset_i8
// WAIT-LABEL: func.func @memset_i8
// STREAM-COUNT-1: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-1: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-NOT: gpu_async.event.record
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @memset_i8(%x: memref<8xi8>, %v: i8) {
  gpu.memset %x, %v : memref<8xi8>, i8
  return
}

// A copy with strides (upstream: copies the wrong bytes).
// STREAM-LABEL: func.func @memcpy_strided
// END-LABEL: func.func @memcpy_strided
// EVENT-LABEL: func.func @memcpy_strided
// FREE-LABEL: func.func @memcpy_strided
// WAIT-LABEL: func.func @memcpy_strided
// STREAM-COUNT-1: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-1: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-NOT: gpu_async.event.record
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @memcpy_strided(%x: memref<4x4xf32, strided<[8, 2]>>, %h: memref<4x4xf32>) {
  gpu.memcpy %x, %h : memref<4x4xf32, strided<[8, 2]>>, memref<4x4xf32>
  return
}

// Several ops on one token, none joined (upstream: one stream).
// STREAM-LABEL: func.func @several_ops_on_one_token
// END-LABEL: func.func @several_ops_on_one_token
// EVENT-LABEL: func.func @several_ops_on_one_token
// FREE-LABEL: func.func @several_ops_on_one_token
// WAIT-LABEL: func.func @several_ops_on_one_token
// STREAM-COUNT-1: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-1: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-NOT: gpu_async.event.record
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @several_ops_on_one_token(%x: memref<8xf32>, %h: memref<8xf32>, %v: f32) {
  %t = gpu.wait async
  %a = gpu.memcpy async [%t] %x, %h : memref<8xf32>, memref<8xf32>
  %b = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
  %c = gpu.memcpy async [%t] %h, %x : memref<8xf32>, memref<8xf32>
  return
}

// A fork and join of async.execute bodies.
// STREAM-LABEL: func.func @fork_join_of_bodies
// END-LABEL: func.func @fork_join_of_bodies
// EVENT-LABEL: func.func @fork_join_of_bodies
// FREE-LABEL: func.func @fork_join_of_bodies
// WAIT-LABEL: func.func @fork_join_of_bodies
// STREAM-COUNT-2: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-2: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-COUNT-2: gpu_async.event.record
// EVENT-NOT: gpu_async.event.record
// FREE-COUNT-2: gpu_async.event.destroy
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @fork_join_of_bodies(%x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32>, %v: f32) {
  %a = async.execute {
    gpu.memset %x, %v : memref<8xf32>, f32
    async.yield
  }
  %b = async.execute [%a] {
    gpu.memcpy %y, %x : memref<8xf32>, memref<8xf32>
    async.yield
  }
  %c = async.execute [%a] {
    gpu.memcpy %z, %x : memref<8xf32>, memref<8xf32>
    async.yield
  }
  %d = async.execute [%b, %c] {
    gpu.memcpy %y, %z : memref<8xf32>, memref<8xf32>
    async.yield
  }
  async.await %d : !async.token
  return
}

// A loop with tokens of its own: its stream comes from outside.
// STREAM-LABEL: func.func @loop
// END-LABEL: func.func @loop
// EVENT-LABEL: func.func @loop
// FREE-LABEL: func.func @loop
// WAIT-LABEL: func.func @loop
// STREAM-COUNT-1: gpu_async.stream.create
// STREAM-NOT: gpu_async.stream.create
// END-COUNT-1: gpu_async.stream.destroy
// END-NOT: gpu_async.stream.destroy
// EVENT-NOT: gpu_async.event.record
// FREE-NOT: gpu_async.event.destroy
// WAIT-COUNT-1: .synchronize
// WAIT-NOT: .synchronize
func.func @loop(%x: memref<8xf32>, %n: index, %v: f32) {
  scf.for %i = %n to %n step %n {
    %t = gpu.wait async
    %a = gpu.memset async [%t] %x, %v : memref<8xf32>, f32
    gpu.wait [%a]
  }
  return
}
