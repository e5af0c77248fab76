// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Commands of regions as tables. A command is twelve numbers: kind, flags, lane,
// site; argument, bytes, config, first edge; edges, first wait, waits, 0. Kinds
// are launch, copy, strided copy, fill, strided fill and call.
// RUN: gpu-opt %s --split-input-file --convert-scf-to-cf --convert-gpu-async-to-runtime=on-error=status --canonicalize --cse --mlir-print-elementsattrs-with-hex-if-larger=-1 | FileCheck %s

gpu_async.binary @k kernels [#gpu_async.kernel<"g", params = [8, 8, 8, 8, 8]>] images []

// A fork behind an allocation. The second lane waits for the past of the first
// one. The copy waits for both launches, and by an event for the second one.
// CHECK-LABEL: llvm.func @fork
// CHECK: %[[FRAGMENT:.*]] = llvm.mlir.addressof @_gpuasync_fragment
// CHECK: %[[LANES:.*]] = llvm.alloca {{.*}} x !llvm.array<16 x i8>
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[LANES]][8]
// CHECK: %[[BLOCK:.*]] = llvm.alloca {{.*}} x !llvm.array<128 x i8> {alignment = 16
// CHECK: %[[AT88:.*]] = llvm.getelementptr %[[BLOCK]][88]
// CHECK: %[[AT48:.*]] = llvm.getelementptr %[[BLOCK]][48]
// CHECK: %[[AT40:.*]] = llvm.getelementptr %[[BLOCK]][40]
// CHECK: llvm.call @gpuasync_frame_enter(%[[FRAME:.*]], %
// CHECK: %[[S:.*]] = llvm.call @gpuasync_stream_create
// CHECK: %[[T:.*]] = llvm.call @gpuasync_stream_create
// CHECK: %[[A:.*]] = llvm.call @gpuasync_alloc
// CHECK-NOT: llvm.call
// CHECK: llvm.store %[[A]], %[[BLOCK]]
// CHECK: llvm.store %{{.*}}, %[[AT40]] : i64
// CHECK: llvm.store %[[A]], %[[AT48]]
// CHECK: llvm.store %{{.*}}, %[[AT88]] : i64
// CHECK: llvm.store %[[S]], %[[LANES]]
// CHECK: llvm.store %[[T]], %[[SECOND]]
// CHECK-NEXT: llvm.call @gpuasync_region_run(%[[FRAME]], %[[FRAGMENT]], %[[LANES]], %[[BLOCK]])
// CHECK-NEXT: llvm.call @gpuasync_dealloc
// CHECK: @_gpuasync_commands(dense<[
// CHECK-SAME: 1, 0, 0, [[#SITE:]], 0, 40, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 1, 0, 1, [[#SITE+1]], 48, 40, 0, 0, 0, 0, 1, 0,
// CHECK-SAME: 2, 0, 0, [[#SITE+2]], 96, 32, -1, 1, 2, 2, 1, 0]>
// CHECK: @_gpuasync_indices(dense<[-2147483648, 0, 1]>
// CHECK: @_gpuasync_configs(dense<[1, 1, 1, 8, 1, 1, 0, 0, 0, 0, 171798691840, 0]>
func.func @fork(%m: memref<4xi32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %s = gpu_async.stream.create
  %t = gpu_async.stream.create
  %a = gpu_async.alloc on %s id(0) () : memref<4xi32>
  gpu_async.region {
    %e = gpu_async.event.record on %s
    gpu_async.launch on %s id(1 after [0]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<4xi32>)
    gpu_async.stream.wait %t, %e
    gpu_async.event.destroy %e
    gpu_async.launch on %t id(2 after [0]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) args(%a : memref<4xi32>)
    %f = gpu_async.event.record on %t
    gpu_async.stream.wait %s, %f
    gpu_async.event.destroy %f
    gpu_async.memcpy on %s id(3 after [1, 2]) %m, %a : memref<4xi32>, memref<4xi32>
  }
  gpu_async.dealloc on %s id(4 after [3]) %a : memref<4xi32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %t idle
  gpu_async.stream.destroy %s idle
  return
}

// -----

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = []>, #gpu_async.kernel<"h", params = [4, 8, 4]>] images []
func.func private @lib(memref<4xf32>, i32) attributes {gpu_async.nonblocking, gpu_async.replayable}

// One of each kind. The stream that is made inside is a null lane. A grid that
// is not constant leads the arguments. Gaps between parameters, and behind
// them, are zero.
// CHECK-LABEL: llvm.func @kinds
// CHECK: %[[NULL:.*]] = llvm.mlir.zero : !llvm.ptr
// CHECK: %[[LANES:.*]] = llvm.alloca {{.*}} x !llvm.array<16 x i8>
// CHECK: %[[BLOCK:.*]] = llvm.alloca {{.*}} x !llvm.array<448 x i8>
// CHECK: %[[AT116:.*]] = llvm.getelementptr %[[BLOCK]][116]
// CHECK: %[[AT112:.*]] = llvm.getelementptr %[[BLOCK]][112]
// CHECK: %[[AT104:.*]] = llvm.getelementptr %[[BLOCK]][104]
// CHECK: %[[AT100:.*]] = llvm.getelementptr %[[BLOCK]][100]
// CHECK: %[[AT96:.*]] = llvm.getelementptr %[[BLOCK]][96]
// CHECK: %[[AT88:.*]] = llvm.getelementptr %[[BLOCK]][88]
// CHECK: llvm.call @gpuasync_stream_create
// CHECK-NOT: gpuasync_stream_create
// CHECK: llvm.store %arg0, %[[BLOCK]] : i64
// CHECK: llvm.store %{{.*}}, %[[AT88]] : i64
// CHECK-NEXT: llvm.store %[[X:arg[0-9]+]], %[[AT96]] : i32
// CHECK-NEXT: llvm.store %{{.*}}, %[[AT100]] : i32
// CHECK-NEXT: llvm.store %{{.*}}, %[[AT104]] : f64
// CHECK-NEXT: llvm.store %[[X]], %[[AT112]] : i32
// CHECK-NEXT: llvm.store %{{.*}}, %[[AT116]] : i32
// CHECK: llvm.call @gpuasync_extent
// CHECK-NOT: llvm.call
// CHECK: llvm.store %[[NULL]], %[[LANES]] : !llvm.ptr
// CHECK-NOT: llvm.call
// CHECK: llvm.call @gpuasync_region_run({{.*}}, %[[LANES]], %[[BLOCK]])
// CHECK: @_gpuasync_commands(dense<[
// CHECK-SAME: 1, 0, 0, [[#SITE:]], 0, 116, -1, 0, 0, 0, 0, 0,
// CHECK-SAME: 1, 0, 1, [[#SITE+1]], 128, 0, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 4, 0, 1, [[#SITE+2]], 128, 48, -1, 0, 2, 0, 1, 0,
// CHECK-SAME: 4, 0, 1, [[#SITE+3]], 176, 48, -1, 2, 1, 0, 0, 0,
// CHECK-SAME: 5, 0, 1, [[#SITE+4]], 224, 80, -1, 3, 1, 0, 0, 0,
// CHECK-SAME: 3, 0, 1, [[#SITE+5]], 304, 80, -1, 4, 1, 0, 0, 0,
// CHECK-SAME: 6, 0, 1, [[#SITE+6]], 384, 64, -1, 5, 1, 0, 0, 0]>
// CHECK: @_gpuasync_indices(dense<[0, 1, 2, 3, 4, 5]>
// CHECK: @_gpuasync_configs(dense<[1, 1, 1, 8, 1, 1, 2, 1, 1, 0, 0, 0]>
func.func @kinds(%n: index, %m: memref<4xi32>, %v: memref<?xf32>, %x: i32, %p: f64, %w: memref<4x4xi32, strided<[8, 1]>>, %u: memref<4x4xi32>, %l: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0 : i32
  %half = arith.constant 0.5 : f32
  %s = gpu_async.stream.create
  gpu_async.region {
    %t = gpu_async.stream.create
    gpu_async.launch on %t id(1) @k::@h blocks in (%n, %c1, %c1) threads in (%c8, %c1, %c1) args(%x : i32, %p : f64, %x : i32)
    %e = gpu_async.event.record on %t
    gpu_async.launch on %s id(2) @k::@f blocks in (%c1, %c1, %c1) threads in (%c8, %c1, %c1) clusters in (%c2, %c1, %c1)
    gpu_async.stream.wait %s, %e
    gpu_async.event.destroy %e
    gpu_async.memset on %s id(3) %m, %zero : memref<4xi32>, i32
    gpu_async.memset on %s id(4) %v, %half : memref<?xf32>, f32
    gpu_async.memset on %s id(5) %w, %x : memref<4x4xi32, strided<[8, 1]>>, i32
    gpu_async.memcpy on %s id(6) %w, %u : memref<4x4xi32, strided<[8, 1]>>, memref<4x4xi32>
    gpu_async.call on %s id(7) @lib(%l : memref<4xf32>, %x : i32)
    gpu_async.stream.destroy %t
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// -----

memref.global "private" constant @table : memref<4xi32> = dense<[1, 2, 3, 4]>

// Copies and fills of the program's own device memory are marked; memory that
// the host shares, and arguments, are not.
// CHECK-LABEL: llvm.func @memory
// CHECK: @_gpuasync_commands(dense<[
// CHECK-SAME: 4, 1, 0, {{[0-9]+}}, 0, 48,
// CHECK-SAME: 2, 1, 0, {{[0-9]+}}, 48, 32,
// CHECK-SAME: 2, 1, 0, {{[0-9]+}}, 80, 32,
// CHECK-SAME: 2, 0, 0, {{[0-9]+}}, 112, 32,
// CHECK-SAME: 2, 0, 0, {{[0-9]+}}, 144, 32,
// CHECK-SAME: 4, 0, 0, {{[0-9]+}}, 176, 48,
func.func @memory(%m: memref<4xi32>, %zero: i32) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %s = gpu_async.stream.create
  %slab = gpu_async.alloc on %s id(0) () : memref<512xi8>
  %h = gpu_async.alloc on %s id(1) host_shared () : memref<4xi32>
  %a = gpu_async.window %slab[%c0] () : memref<512xi8> to memref<4xi32>
  %b = gpu_async.window %slab[%c256] () : memref<512xi8> to memref<4xi32>
  %c = gpu_async.constant @table : memref<4xi32>
  gpu_async.region {
    gpu_async.memset on %s id(2) %a, %zero : memref<4xi32>, i32
    gpu_async.memcpy on %s id(3) %b, %a : memref<4xi32>, memref<4xi32>
    gpu_async.memcpy on %s id(4) %a, %c : memref<4xi32>, memref<4xi32>
    gpu_async.memcpy on %s id(5) %m, %a : memref<4xi32>, memref<4xi32>
    gpu_async.memcpy on %s id(6) %b, %h : memref<4xi32>, memref<4xi32>
    gpu_async.memset on %s id(7) %m, %zero : memref<4xi32>, i32
  }
  gpu_async.stream.synchronize %s
  gpu_async.dealloc id(8) %h : memref<4xi32>
  gpu_async.dealloc id(9) %slab : memref<512xi8>
  gpu_async.stream.destroy %s idle
  return
}

// -----

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = []>] images []

// A wait without a command behind it is one of the stream: a call, between
// those of two fragments.
// CHECK-LABEL: llvm.func @trailing
// CHECK: %[[S:.*]] = llvm.call @gpuasync_stream_create
// CHECK: %[[T:.*]] = llvm.call @gpuasync_stream_create
// CHECK: llvm.call @gpuasync_region_begin
// CHECK: llvm.call @gpuasync_region_add
// CHECK-NEXT: %[[E:.*]] = llvm.call @gpuasync_event_record({{.*}}, %[[T]], %
// CHECK-NEXT: llvm.call @gpuasync_stream_wait({{.*}}, %[[S]], %[[E]], %
// CHECK-NEXT: llvm.call @gpuasync_event_destroy({{.*}}, %[[E]], %
// CHECK: llvm.call @gpuasync_region_add
// CHECK-NEXT: llvm.call @gpuasync_region_end
func.func @trailing() {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  %t = gpu_async.stream.create
  gpu_async.region {
    gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.launch on %t id(2) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    %e = gpu_async.event.record on %t
    gpu_async.stream.wait %s, %e
    gpu_async.event.destroy %e
    gpu_async.launch on %t id(3) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  }
  gpu_async.stream.synchronize %s, %t
  gpu_async.stream.destroy %t idle
  gpu_async.stream.destroy %s idle
  return
}

// -----

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = []>] images []

// Events that cross the blocks of a loop and of a branch stay calls. A stream
// that a loop makes for several blocks is made as ever, and ends behind its
// fragment.
// CHECK-LABEL: llvm.func @loop
// CHECK: %[[S:.*]] = llvm.call @gpuasync_stream_create
// CHECK: llvm.call @gpuasync_region_begin
// CHECK: llvm.cond_br
// CHECK: %[[T:.*]] = llvm.call @gpuasync_stream_create
// CHECK-NOT: llvm.call
// CHECK: llvm.call @gpuasync_region_add
// CHECK-NEXT: %[[E:.*]] = llvm.call @gpuasync_event_record({{.*}}, %[[T]], %
// CHECK: llvm.cond_br
// CHECK: llvm.call @gpuasync_stream_wait({{.*}}, %[[S]], %[[E]], %
// CHECK: llvm.call @gpuasync_stream_wait({{.*}}, %[[S]], %[[E]], %
// CHECK-NOT: llvm.call
// CHECK: llvm.call @gpuasync_region_add
// CHECK: llvm.call @gpuasync_event_destroy({{.*}}, %[[E]], %
// CHECK-NOT: llvm.call
// CHECK: llvm.call @gpuasync_region_add
// CHECK-NOT: llvm.call
// CHECK: llvm.call @gpuasync_stream_destroy({{.*}}, %[[T]], %
// CHECK: llvm.call @gpuasync_region_end
// CHECK: @_gpuasync_commands(dense<[
// CHECK-SAME: 1, 0, 0, {{[0-9]+}}, 0, 0, 0, 0, 0, 0, 0, 0,
// CHECK-SAME: 1, 0, 1, {{[0-9]+}}, 0, 0, 0, 0, 0, 0, 1, 0]>
func.func @loop(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.region {
    scf.for %i = %c0 to %n step %c1 {
      %t = gpu_async.stream.create
      %e = gpu_async.event.record on %s
      gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      gpu_async.stream.wait %t, %e
      gpu_async.event.destroy %e
      gpu_async.launch on %t id(2) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      %f = gpu_async.event.record on %t
      %r = arith.remui %i, %n : index
      %is = arith.cmpi eq, %r, %c0 : index
      scf.if %is {
        gpu_async.stream.wait %s, %f
      } else {
        gpu_async.stream.wait %s, %f
        gpu_async.launch on %s id(3) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      }
      gpu_async.event.destroy %f
      gpu_async.launch on %t id(4) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      gpu_async.stream.destroy %t
      gpu_async.launch on %s id(5) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    }
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// -----

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = []>] images []

// Arguments may be one stream, so they are lanes of two fragments.
// CHECK-LABEL: llvm.func internal @same
// CHECK: llvm.store %arg1, %[[LANES:.*]] : !llvm.ptr
// CHECK-NEXT: llvm.call @gpuasync_region_add
// CHECK: llvm.store %arg2, %[[LANES]] : !llvm.ptr
// CHECK-NEXT: llvm.call @gpuasync_region_add
// CHECK-NEXT: llvm.call @gpuasync_region_end
func.func private @same(%s: !gpu_async.stream, %t: !gpu_async.stream) {
  %c1 = arith.constant 1 : index
  gpu_async.region {
    gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    gpu_async.launch on %t id(2) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  }
  return
}

// -----

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = []>] images []
func.func private @unknown()

// Host code with effects is between the commands before it and those behind.
// CHECK-LABEL: llvm.func @effects
// CHECK: llvm.call @gpuasync_region_add
// CHECK: llvm.store
// CHECK: llvm.call @gpuasync_region_add
// CHECK: llvm.call @gpuasync_frame_suspend
// CHECK-NEXT: llvm.call @unknown
// CHECK-NEXT: llvm.call @gpuasync_frame_resume
// CHECK: llvm.call @gpuasync_region_add
func.func @effects(%h: memref<1xi32>, %d: memref<1xi32>, %x: i32) {
  %c0 = arith.constant 0 : index
  %s = gpu_async.stream.create
  gpu_async.region {
    gpu_async.memcpy on %s id(1) %d, %h : memref<1xi32>, memref<1xi32>
    memref.store %x, %h[%c0] : memref<1xi32>
    gpu_async.memcpy on %s id(2) %d, %h : memref<1xi32>, memref<1xi32>
    func.call @unknown() : () -> ()
    gpu_async.memcpy on %s id(3) %d, %h : memref<1xi32>, memref<1xi32>
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// -----

gpu_async.binary @k kernels [#gpu_async.kernel<"g", params = [8, 8, 8, 8, 8]>] images []

// A copy that may need more staging than a graph keeps is alone in its fragment,
// so the others become graphs. Small copies are with the launches.
// CHECK-LABEL: llvm.func @large
// CHECK: llvm.call @gpuasync_region_begin
// CHECK-COUNT-3: llvm.call @gpuasync_region_add
// CHECK-NOT: llvm.call @gpuasync_region_add
// CHECK: llvm.call @gpuasync_region_end
func.func @large(%m: memref<2097152xi32>, %n: memref<4xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  %a = gpu_async.alloc on %s id(0) () : memref<2097152xi32>
  %b = gpu_async.alloc on %s id(1) () : memref<4xi32>
  gpu_async.region {
    gpu_async.memcpy on %s id(2 after [1]) %b, %n : memref<4xi32>, memref<4xi32>
    gpu_async.memcpy on %s id(3 after [0]) %a, %m : memref<2097152xi32>, memref<2097152xi32>
    gpu_async.launch on %s id(4 after [3]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<2097152xi32>)
    gpu_async.memcpy on %s id(5 after [4]) %n, %b : memref<4xi32>, memref<4xi32>
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// -----

gpu_async.binary @k kernels [#gpu_async.kernel<"g", params = [8, 8, 8, 8, 8]>] images []

// On a caller's stream no graph has pageable memory, of any size. Where the size
// is not known it may be large.
// CHECK-LABEL: llvm.func @callers
// CHECK-COUNT-2: llvm.call @gpuasync_region_add
// CHECK-NOT: llvm.call @gpuasync_region_add
// CHECK: llvm.call @gpuasync_region_end
// CHECK-LABEL: llvm.func @unknown_size
// CHECK-COUNT-2: llvm.call @gpuasync_region_add
// CHECK-NOT: llvm.call @gpuasync_region_add
// CHECK: llvm.call @gpuasync_region_end
func.func @callers(%s: !gpu_async.stream, %n: memref<4xi32>, %b: memref<4xi32>) {
  %c1 = arith.constant 1 : index
  gpu_async.region {
    gpu_async.memcpy on %s id(0) %b, %n : memref<4xi32>, memref<4xi32>
    gpu_async.launch on %s id(1 after [0]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<4xi32>)
  }
  return
}
func.func @unknown_size(%n: memref<?xi32>, %b: memref<?xi32>) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.region {
    gpu_async.memcpy on %s id(0) %b, %n : memref<?xi32>, memref<?xi32>
    gpu_async.launch on %s id(1 after [0]) @k::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<?xi32>)
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}
