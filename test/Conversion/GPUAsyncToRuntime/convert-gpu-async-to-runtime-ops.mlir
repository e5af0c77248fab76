// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copies, fills, registrations, streams and events: what each call is given.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime | FileCheck %s

// A static contiguous layout with an offset is one piece; else sizes and strides
// are passed.
// CHECK-LABEL: llvm.func @strided(
// CHECK:         llvm.call @gpuasync_memcpy_strided(
// CHECK:         %[[BYTES:.+]] = llvm.mlir.constant(256 : i64)
// CHECK-NEXT:    llvm.mlir.constant(
// CHECK-NEXT:    llvm.call @gpuasync_memcpy({{.*}}%[[BYTES]], %{{[0-9]+}})
// CHECK:         %[[RANK:.+]] = llvm.mlir.constant(2 : i32)
// CHECK:         %[[SIZE:.+]] = llvm.mlir.constant(4 : i32)
// CHECK:         llvm.call @gpuasync_memset_strided({{.*}}%[[RANK]], %{{[0-9]+}}, %[[SIZE]], %{{[0-9]+}})
// CHECK:         %[[ONE:.+]] = llvm.mlir.constant(1 : i64)
// CHECK:         %[[EIGHT:.+]] = llvm.mlir.constant(8 : i32)
// CHECK:         llvm.call @gpuasync_memset({{.*}}%[[EIGHT]], %[[ONE]], %{{[0-9]+}})
func.func @strided(%a: memref<?x?xf32, strided<[?, 1], offset: ?>>, %b: memref<4x?xf32>, %c: memref<4x16xf32, strided<[16, 1], offset: ?>>, %d: memref<4x16xf32>, %z: memref<f64, strided<[], offset: ?>>) {
  %s = gpu_async.stream.create
  gpu_async.memcpy on %s %a, %b : memref<?x?xf32, strided<[?, 1], offset: ?>>, memref<4x?xf32>
  gpu_async.memcpy on %s %c, %d : memref<4x16xf32, strided<[16, 1], offset: ?>>, memref<4x16xf32>
  %c0 = arith.constant 0 : i32
  %f = arith.constant 1.0 : f32
  %g = arith.constant 1.0 : f64
  gpu_async.memset on %s %a, %f : memref<?x?xf32, strided<[?, 1], offset: ?>>, f32
  gpu_async.memset on %s %z, %g : memref<f64, strided<[], offset: ?>>, f64
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// So it does those of the host's own allocations, before they are made: an error
// leaves the function. A copy needs no other product.
// CHECK-LABEL: llvm.func @host_sizes(
// CHECK-NOT:     malloc
// CHECK:         %[[BYTES:.+]] = llvm.call @gpuasync_extent(
// CHECK:         %[[FAILED:.+]] = llvm.icmp "ne"
// CHECK-NEXT:    llvm.cond_br %[[FAILED]]
// CHECK:         llvm.call @malloc
// CHECK-NOT:     gpuasync_extent
// CHECK:         llvm.call @gpuasync_memcpy(%{{.*}}, %[[BYTES]], %{{[0-9]+}})
// CHECK-NOT:     gpuasync_extent
// CHECK:         llvm.call @malloc
// CHECK:         llvm.return
func.func @host_sizes(%n: index, %d: memref<?xf64>) {
  %s = gpu_async.stream.create
  %h = memref.alloc(%n) : memref<?xf64>
  gpu_async.memcpy on %s %d, %h : memref<?xf64>, memref<?xf64>
  %f = memref.alloc() : memref<4xf64>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}
// Without device work there is no frame that could have an error.
// CHECK-LABEL: llvm.func @host_only(
// CHECK-NOT:     gpuasync_extent
// CHECK:         llvm.call @malloc
func.func @host_only(%n: index) -> memref<?xf64> {
  %h = memref.alloc(%n) : memref<?xf64>
  return %h : memref<?xf64>
}

// A window is an address, no call; its sizes are checked as those of an
// allocation are.
// CHECK-LABEL: llvm.func @windows(
// CHECK:         %[[SLAB:.+]] = llvm.call @gpuasync_alloc(
// CHECK:         llvm.insertvalue %[[SLAB]], %{{.*}}[1]
// CHECK-NOT:     llvm.call
// CHECK:         %[[BASE:.+]] = llvm.extractvalue %{{.*}}[1]
// CHECK-NEXT:    %[[OFFSET:.+]] = llvm.mlir.constant(256 : i64)
// CHECK-NEXT:    %[[X:.+]] = llvm.getelementptr %[[BASE]][%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:         llvm.insertvalue %[[X]], %{{.*}}[1]
// CHECK:         llvm.call @gpuasync_memset(
// CHECK:         %[[BYTES:.+]] = llvm.call @gpuasync_extent(
// CHECK:         %[[Y:.+]] = llvm.getelementptr %{{.*}}[%{{.*}}] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:         llvm.insertvalue %[[Y]], %{{.*}}[1]
// CHECK:         llvm.call @gpuasync_memset(
// CHECK:         llvm.call @gpuasync_dealloc(
func.func @windows(%n: index, %v: f32) {
  %c256 = arith.constant 256 : index
  %s = gpu_async.stream.create
  %slab = gpu_async.alloc on %s id(0) () : memref<4096xi8, 1>
  %x = gpu_async.window %slab[%c256] () : memref<4096xi8, 1> to memref<4x8xf32, 1>
  gpu_async.memset on %s id(1) %x, %v : memref<4x8xf32, 1>, f32
  %y = gpu_async.window %slab[%n] (%n) : memref<4096xi8, 1> to memref<?xf32, 1>
  gpu_async.memset on %s id(2) %y, %v : memref<?xf32, 1>, f32
  gpu_async.dealloc on %s id(3) %slab : memref<4096xi8, 1>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s
  return
}

// The runtime multiplies sizes that are no constants, once for each memref of a
// straight line, whatever is done with it.
// CHECK-LABEL: llvm.func @sizes(
// CHECK-DAG:     %[[SIZES:.+]] = llvm.alloca %{{.*}} x !llvm.array<24 x i8>
// CHECK-DAG:     %[[AT8:.+]] = llvm.getelementptr %[[SIZES]][8]
// CHECK-DAG:     %[[AT16:.+]] = llvm.getelementptr %[[SIZES]][16]
// CHECK:         %[[FOUR:.+]] = llvm.mlir.constant(4 : i64)
// CHECK:         llvm.store %[[N:.+]], %[[SIZES]]
// CHECK-NEXT:    llvm.store %[[FOUR]], %[[AT8]]
// CHECK-NEXT:    llvm.store %[[M:.+]], %[[AT16]]
// CHECK:         %[[NONE:.+]] = llvm.mlir.zero : !llvm.ptr
// CHECK:         %[[RANK:.+]] = llvm.mlir.constant(3 : i32)
// CHECK:         %[[UNIT:.+]] = llvm.mlir.constant(8 : i64)
// CHECK:         %[[SITE:.+]] = llvm.mlir.constant({{.*}} : i32)
// CHECK:         %[[BYTES:.+]] = llvm.call @gpuasync_extent(%[[FRAME:.+]], %[[SIZES]], %[[NONE]], %[[RANK]], %[[UNIT]], %[[SITE]])
// CHECK-NOT:     gpu_async.id
// CHECK:         llvm.call @gpuasync_alloc(%[[FRAME]], %{{.*}}, %{{.*}}, %[[BYTES]],
// CHECK-SAME:      gpu_async.id = 0
// CHECK:         llvm.call @gpuasync_memcpy(%[[FRAME]], {{.*}}, %[[BYTES]], %{{[0-9]+}})
// CHECK:         %[[THREE:.+]] = llvm.mlir.constant(3 : i64)
// CHECK-NEXT:    %[[COUNT:.+]] = llvm.lshr %[[BYTES]], %[[THREE]]
// CHECK:         llvm.call @gpuasync_memset(%[[FRAME]], {{.*}}, %[[COUNT]], %{{[0-9]+}})
// Only what is new is stored.
// CHECK-NOT:     llvm.store %{{.*}}, %[[AT8]]
// CHECK:         llvm.store %[[M]], %[[SIZES]]
// CHECK:         llvm.store %[[N]], %[[AT16]]
// CHECK:         %[[OTHER:.+]] = llvm.call @gpuasync_extent(
// CHECK:         llvm.call @gpuasync_alloc(%[[FRAME]], %{{.*}}, %{{.*}}, %[[OTHER]],
// Constants are multiplied here.
// CHECK-NOT:     gpuasync_extent
// CHECK:         %[[STATIC:.+]] = llvm.mlir.constant(960 : i64)
// CHECK:         llvm.call @gpuasync_alloc(%[[FRAME]], %{{.*}}, %{{.*}}, %[[STATIC]],
// But not where they have no product: the code may never run.
// CHECK:         llvm.call @gpuasync_extent(
func.func @sizes(%n: index, %m: index, %h: memref<?x4x?xf64>) {
  %s = gpu_async.stream.create
  %a = gpu_async.alloc on %s id(0) (%n, %m) : memref<?x4x?xf64>
  gpu_async.memcpy on %s %a, %h : memref<?x4x?xf64>, memref<?x4x?xf64>
  %g = arith.constant 1.0 : f64
  gpu_async.memset on %s %a, %g : memref<?x4x?xf64>, f64
  %b = gpu_async.alloc on %s (%m, %n) : memref<?x4x?xf32>
  %c3 = arith.constant 3 : index
  %c10 = arith.constant 10 : index
  %c = gpu_async.alloc on %s (%c3, %c10) : memref<?x8x?xf32>
  %negative = arith.constant -1 : index
  %d = gpu_async.alloc on %s (%negative) : memref<?xf32>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// Elements of any type of 1, 2, 4, 8 or 16 bytes.
// CHECK-LABEL: llvm.func @patterns(
// CHECK:         llvm.store %{{.*}}, %[[PATTERN:.+]] : !llvm.struct<(f64, f64)>, !llvm.ptr
// CHECK:         llvm.mlir.constant(16 : i32)
// CHECK:         llvm.store %{{.*}}, %[[PATTERN]] : i64
// CHECK:         llvm.mlir.constant(8 : i32)
// CHECK:         %[[BYTE:.*]] = llvm.zext %{{.*}} : i1 to i8
// CHECK:         llvm.store %[[BYTE]], %[[PATTERN]] : i8
// CHECK:         llvm.mlir.constant(1 : i32)
// CHECK:         llvm.store %{{.*}}, %[[PATTERN]] : vector<4xf32>
// CHECK:         llvm.mlir.constant(16 : i32)
// CHECK:         llvm.store %{{.*}}, %[[PATTERN]] : bf16
// CHECK:         llvm.mlir.constant(2 : i32)
func.func @patterns(%a: memref<8xcomplex<f64>>, %b: memref<8xindex>, %c: memref<8xi1>, %d: memref<8xvector<4xf32>>, %e: memref<2xbf16>, %x: complex<f64>, %i: index, %o: i1, %v: vector<4xf32>, %h: bf16) {
  %s = gpu_async.stream.create
  gpu_async.memset on %s %a, %x : memref<8xcomplex<f64>>, complex<f64>
  gpu_async.memset on %s %b, %i : memref<8xindex>, index
  gpu_async.memset on %s %c, %o : memref<8xi1>, i1
  gpu_async.memset on %s %d, %v : memref<8xvector<4xf32>>, vector<4xf32>
  gpu_async.memset on %s %e, %h : memref<2xbf16>, bf16
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// Sizes of a descriptor in memory are passed where they are. Memory spaces are
// one on the host. Host-shared memory must be there before it is used.
// CHECK-LABEL: llvm.func @host(
// CHECK:         %[[UNRANKED:.+]] = llvm.getelementptr %{{.*}}[3] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK:         %[[UNRANKED_STRIDES:.+]] = llvm.getelementptr %[[UNRANKED]][%[[WORDS:.+]]] : (!llvm.ptr, i64) -> !llvm.ptr, i64
// CHECK:         %[[RANK:.+]] = llvm.trunc %[[WORDS]] : i64 to i32
// CHECK:         %[[BYTES:.+]] = llvm.call @gpuasync_extent(%{{.*}}, %[[UNRANKED]], %[[UNRANKED_STRIDES]], %[[RANK]],
// CHECK:         llvm.call @gpuasync_host_register({{.*}}, %[[BYTES]], %{{[0-9]+}})
// CHECK:         %[[EXTENT:.+]] = llvm.call @gpuasync_extent(
// CHECK:         llvm.call @gpuasync_host_register({{.*}}, %[[EXTENT]], %{{[0-9]+}})
// CHECK:         %[[REGISTERED:.+]] = llvm.call @gpuasync_extent(
// CHECK:         %[[IS_THERE:.+]] = llvm.icmp "ne" %[[REGISTERED]],
// CHECK:         %[[START:.+]] = llvm.select %[[IS_THERE]], %{{.*}}, %{{.*}} : i1, !llvm.ptr
// CHECK:         llvm.call @gpuasync_host_unregister({{.*}}, %[[START]],
// CHECK:         %[[NATIVE:.+]] = llvm.addrspacecast %{{.*}} : !llvm.ptr<1> to !llvm.ptr
// CHECK:         %[[EXTERNAL:.+]] = llvm.call @gpuasync_stream_external(%[[FRAME:.+]], %{{.*}}, %[[NATIVE]],
// CHECK:         %[[SIZE:.+]] = llvm.call @gpuasync_extent(
// CHECK:         %[[SHARED:.+]] = llvm.mlir.constant(1 : i32)
// CHECK:         llvm.call @gpuasync_alloc(%[[FRAME]], %{{.*}}, %[[EXTERNAL]], %[[SIZE]], %[[SHARED]],
// CHECK:         llvm.load %[[FRAME]] : !llvm.ptr -> i32
// CHECK:         llvm.cond_br %{{.*}} weights([1, 2000])
// CHECK:         %[[STREAM:.+]] = llvm.call @gpuasync_stream_create
// CHECK:         %[[EVENT:.+]] = llvm.call @gpuasync_event_record(%[[FRAME]], %[[EXTERNAL]],
// CHECK:         llvm.call @gpuasync_stream_wait(%[[FRAME]], %[[STREAM]], %[[EVENT]],
// CHECK:         llvm.store %[[EVENT]], %[[EVENTS:.+]] :
// CHECK:         llvm.call @gpuasync_event_synchronize(%[[FRAME]], %[[EVENTS]],
// CHECK:         llvm.call @gpuasync_event_destroy(%[[FRAME]], %[[EVENT]],
// CHECK:         llvm.call @gpuasync_stream_destroy(%[[FRAME]], %[[STREAM]],
// CHECK:         llvm.call @gpuasync_stream_destroy(%[[FRAME]], %[[EXTERNAL]],
func.func @host(%u: memref<*xf32>, %r: memref<?x8xf32, strided<[16, 1], offset: ?>>, %p: !llvm.ptr<1>, %n: index) -> memref<2x?x4xi64, #gpu.address_space<global>> {
  gpu_async.host_register %u : memref<*xf32>
  gpu_async.host_register %r : memref<?x8xf32, strided<[16, 1], offset: ?>>
  gpu_async.host_unregister %u : memref<*xf32>
  %e = gpu_async.stream.external %p : !llvm.ptr<1>
  %m = gpu_async.alloc on %e host_shared (%n) : memref<2x?x4xi64, #gpu.address_space<global>>
  %s = gpu_async.stream.create
  %v = gpu_async.event.record on %e
  gpu_async.stream.wait %s, %v
  gpu_async.event.synchronize %v
  gpu_async.event.destroy %v
  gpu_async.stream.destroy %s
  gpu_async.stream.destroy %e
  return %m : memref<2x?x4xi64, #gpu.address_space<global>>
}

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [8, 8, 8, 8, 8, 4]>,
                             #gpu_async.kernel<"g", params = [4, 8]>] images [#gpu_async.image<ptx, "sm_90" data = "ptx">]

// A launch writes what differs from the launch before it in a straight line of
// code, and each memref is taken apart once.
// CHECK-LABEL: llvm.func @launches(
// CHECK-SAME:    %[[BASE:[a-z0-9]+]]: !llvm.ptr, %{{[^,]+}}: !llvm.ptr, %{{[^,]+}}: i64, %{{[^,]+}}: i64, %{{[^,]+}}: i64, %[[N:[a-z0-9]+]]: i64, %[[V:[a-z0-9]+]]: f32, %[[W:[a-z0-9]+]]: f32
// CHECK-DAG:     %[[PARAMS:.+]] = llvm.alloca %{{.*}} x !llvm.array<44 x i8>
// CHECK-DAG:     %[[GRID_X:.+]] = llvm.alloca %{{.*}} x !llvm.struct<(array<3 x i64>, array<3 x i64>, array<3 x i64>, i64, i32, i32, ptr)>
// CHECK-DAG:     %[[AT40:.+]] = llvm.getelementptr %[[PARAMS]][40]
// CHECK-DAG:     %[[GRID_Y:.+]] = llvm.getelementptr %[[GRID_X]][8]
// CHECK-DAG:     %[[PARAM_BYTES:.+]] = llvm.getelementptr %[[GRID_X]][84]
// CHECK-DAG:     %[[PARAM_POINTER:.+]] = llvm.getelementptr %[[GRID_X]][88]
// CHECK:         llvm.call @gpuasync_stream_create(
// CHECK-COUNT-5: llvm.extractvalue
// CHECK:         llvm.store %[[V]], %[[AT40]]
// CHECK:         llvm.store %[[N]], %[[GRID_X]]
// CHECK:         llvm.store %{{.*}}, %[[GRID_Y]]
// CHECK:         llvm.store %[[PARAMS]], %[[PARAM_POINTER]]
// CHECK:         llvm.call @gpuasync_launch({{.*}}gpu_async.id = 0
// The same again: only the site.
// CHECK-NEXT:    llvm.mlir.constant(
// CHECK-NEXT:    llvm.call @gpuasync_launch({{.*}}gpu_async.id = 1
// One parameter and one size.
// CHECK-NEXT:    llvm.store %[[W]], %[[AT40]]
// CHECK-NEXT:    llvm.store %[[N]], %[[GRID_Y]]
// CHECK-NEXT:    llvm.mlir.constant(
// CHECK-NEXT:    llvm.call @gpuasync_launch({{.*}}gpu_async.id = 2
// A kernel with other parameters. The value at 0 goes where a pointer was.
// CHECK-NOT:     llvm.extractvalue
// CHECK:         llvm.store %[[V]], %[[PARAMS]]
// CHECK:         llvm.store %[[N]], %{{.*}} : i64
// CHECK:         llvm.mlir.constant(16 : i32)
// CHECK-NEXT:    llvm.store %{{.*}}, %[[PARAM_BYTES]]
// CHECK:         llvm.call @gpuasync_launch({{.*}}gpu_async.id = 3
// So all that was there is written again, of which it wrote a part.
// CHECK:         llvm.store %{{.*}}, %[[PARAMS]] : !llvm.ptr, !llvm.ptr
// CHECK:         llvm.store %{{.*}} : !llvm.ptr, !llvm.ptr
// CHECK-NEXT:    llvm.mlir.constant(44 : i32)
// CHECK-NEXT:    llvm.store %{{.*}}, %[[PARAM_BYTES]]
// CHECK:         llvm.call @gpuasync_launch({{.*}}gpu_async.id = 4
// Behind a branch nothing is known, and everything is written.
// CHECK:       ^bb
// CHECK-COUNT-5: llvm.extractvalue
// CHECK:         llvm.store %[[V]], %[[AT40]]
// CHECK:         llvm.store %[[N]], %[[GRID_X]]
// CHECK:         llvm.call @gpuasync_launch({{.*}}gpu_async.id = 5
func.func @launches(%x: memref<?xf32>, %n: index, %v: f32, %w: f32, %c: i1) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  gpu_async.launch on %s id(0) @k::@f blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %v : f32)
  gpu_async.launch on %s id(1) @k::@f blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %v : f32)
  gpu_async.launch on %s id(2) @k::@f blocks in (%n, %n, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %w : f32)
  gpu_async.launch on %s id(3) @k::@g blocks in (%n, %n, %c1) threads in (%c1, %c1, %c1) args(%v : f32, %n : index)
  gpu_async.launch on %s id(4) @k::@f blocks in (%n, %n, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %w : f32)
  cf.cond_br %c, ^more, ^end
^more:
  gpu_async.launch on %s id(5) @k::@f blocks in (%n, %n, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xf32>, %v : f32)
  cf.br ^end
^end:
  gpu_async.stream.destroy %s
  return
}
