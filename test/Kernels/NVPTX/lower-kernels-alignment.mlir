// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Workgroup memory is aligned as the instructions want it that take its address,
// however the address gets there, and all other as LLVM takes it to be.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_90a ptxas=none libdevice=none" | FileCheck %s
// RUN: %if ptxas %{ gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_90a libdevice=none" -o %t %}

!plain = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!s32 = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = swizzle_32b, l2promo = none, oob = zero, interleave = none>
!s64 = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>
!s128 = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

// What each swizzle wants: 128 bytes, or what its pattern repeats after.
// CHECK: gpu_async.binary @swizzles
// CHECK-DAG: .shared .align 128 .b8 plain[256];
// CHECK-DAG: .shared .align 256 .b8 w32[256];
// CHECK-DAG: .shared .align 512 .b8 w64[512];
// CHECK-DAG: .shared .align 1024 .b8 w128[1024];
// CHECK-DAG: .shared .align 16 .b8 other[128];
// CHECK-DAG: .shared .align 8 .b8 __mbarrier[8];
// CHECK-DAG: .shared .align 2048 .b8 more[256];
gpu.module @swizzles {
  memref.global "private" @plain : memref<8x8xf32, 3> {alignment = 4 : i64}
  memref.global "private" @w32 : memref<8x8xf32, #gpu.address_space<workgroup>>
  memref.global "private" @w64 : memref<8x16xf32, 3>
  memref.global "private" @w128 : memref<8x32xf32, 3>
  memref.global "private" @other : memref<32xf32, 3>
  memref.global "private" @more : memref<8x8xf32, 3> {alignment = 2048 : i64}
  gpu.func @f(%a: !plain, %b: !s32, %c: !s64, %d: !s128, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %bar = nvgpu.mbarrier.create -> !bar
    %pa = memref.get_global @plain : memref<8x8xf32, 3>
    %pb = memref.get_global @w32 : memref<8x8xf32, #gpu.address_space<workgroup>>
    %pc = memref.get_global @w64 : memref<8x16xf32, 3>
    %pd = memref.get_global @w128 : memref<8x32xf32, 3>
    %pe = memref.get_global @other : memref<32xf32, 3>
    %pf = memref.get_global @more : memref<8x8xf32, 3>
    nvgpu.tma.async.load %a[%c0, %c0], %bar[%c0] to %pa : !plain, !bar -> memref<8x8xf32, 3>
    nvgpu.tma.async.load %b[%c0, %c0], %bar[%c0] to %pb : !s32, !bar -> memref<8x8xf32, #gpu.address_space<workgroup>>
    nvgpu.tma.async.store %pc to %c[%c0, %c0] : memref<8x16xf32, 3> -> !s64
    %wd = nvgpu.warpgroup.generate.descriptor %pd, %d : memref<8x32xf32, 3>, !s128 -> !nvgpu.warpgroup.descriptor<tensor = memref<8x32xf32, 3>>
    nvgpu.tma.async.load %d[%c0, %c0], %bar[%c0] to %pd : !s128, !bar -> memref<8x32xf32, 3>
    nvgpu.tma.async.load %a[%c0, %c0], %bar[%c0] to %pf : !plain, !bar -> memref<8x8xf32, 3>
    %v = memref.load %pe[%i] : memref<32xf32, 3>
    memref.store %v, %pe[%c0] : memref<32xf32, 3>
    gpu.return
  }
}

// -----

// Attributions and dynamic memory; the offset in it is the program's.
!plain = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!s128 = !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
// CHECK: gpu_async.binary @memories
// CHECK-DAG: .shared .align 4 .b8 {{[^;]*}}[12];
// CHECK-DAG: .shared .align 128 .b8 {{[^;]*}}[256];
// CHECK-DAG: .extern .shared .align 1024 .b8 {{[^;]*}}[];
gpu.module @memories {
  gpu.func @f(%a: !plain, %d: !s128, %x: memref<?xf32>) workgroup(%w0 : memref<3xf32, #gpu.address_space<workgroup>>, %w1 : memref<8x8xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c2048 = arith.constant 2048 : index
    %bar = nvgpu.mbarrier.create -> !bar
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %view = memref.view %dynamic[%c2048][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<8x32xf32, #gpu.address_space<workgroup>>
    nvgpu.tma.async.load %d[%c0, %c0], %bar[%c0] to %view : !s128, !bar -> memref<8x32xf32, #gpu.address_space<workgroup>>
    nvgpu.tma.async.load %a[%c0, %c0], %bar[%c0] to %w1 : !plain, !bar -> memref<8x8xf32, #gpu.address_space<workgroup>>
    %tid = gpu.thread_id x
    %u = memref.load %x[%tid] : memref<?xf32>
    memref.store %u, %w0[%tid] : memref<3xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %v = memref.load %w0[%c2] : memref<3xf32, #gpu.address_space<workgroup>>
    memref.store %v, %x[%c2] : memref<?xf32>
    %w = memref.load %view[%c0, %c0] : memref<8x32xf32, #gpu.address_space<workgroup>>
    memref.store %w, %x[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

// Dynamic memory that no such instruction takes.
// CHECK: gpu_async.binary @dynamic
// CHECK: .extern .shared .align 16 .b8 {{[^;]*}}[];
gpu.module @dynamic {
  gpu.func @f(%x: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %dynamic = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %view = memref.view %dynamic[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    %w = memref.load %view[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %w, %x[%c0] : memref<?xf32>
    gpu.return
  }
}

// -----

// Through views, loops, branches, selects and functions.
!plain = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<8x8xf32, strided<[8, 1], offset: ?>, 3>
// CHECK: gpu_async.binary @ways
// CHECK-DAG: .shared .align 128 .b8 looped[512];
// CHECK-DAG: .shared .align 128 .b8 chosen[256];
// CHECK-DAG: .shared .align 128 .b8 branched[256];
// CHECK-DAG: .shared .align 128 .b8 passed[256];
// CHECK-DAG: .shared .align 128 .b8 returned[256];
// CHECK-DAG: .shared .align 16 .b8 indices[256];
// CHECK-DAG: .shared .align 16 .b8 unused[256];
gpu.module @ways {
  memref.global "private" @looped : memref<16x8xf32, 3>
  memref.global "private" @chosen : memref<8x8xf32, 3>
  memref.global "private" @branched : memref<8x8xf32, 3>
  memref.global "private" @passed : memref<8x8xf32, 3>
  memref.global "private" @returned : memref<8x8xf32, 3>
  memref.global "private" @indices : memref<64xi32, 3>
  memref.global "private" @unused : memref<8x8xf32, 3>
  func.func private @get() -> memref<8x8xf32, 3> attributes {no_inline} {
    %r = memref.get_global @returned : memref<8x8xf32, 3>
    return %r : memref<8x8xf32, 3>
  }
  func.func private @copy(%d: !plain, %to: memref<8x8xf32, 3>) attributes {no_inline} {
    %c0 = arith.constant 0 : index
    %bar = nvgpu.mbarrier.create -> !bar
    nvgpu.tma.async.load %d[%c0, %c0], %bar[%c0] to %to : !plain, !bar -> memref<8x8xf32, 3>
    return
  }
  gpu.func @f(%d: !plain, %n: index, %c: i1, %x: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bar = nvgpu.mbarrier.create -> !bar
    %indices = memref.get_global @indices : memref<64xi32, 3>
    %at = memref.load %indices[%n] : memref<64xi32, 3>
    %row = arith.index_cast %at : i32 to index
    %looped = memref.get_global @looped : memref<16x8xf32, 3>
    %first = memref.subview %looped[%row, 0] [8, 8] [1, 1] : memref<16x8xf32, 3> to !tile
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%tile = %first) -> !tile {
      nvgpu.tma.async.load %d[%c0, %c0], %bar[%c0] to %tile : !plain, !bar -> !tile
      %next = memref.subview %looped[%i, 0] [8, 8] [1, 1] : memref<16x8xf32, 3> to !tile
      scf.yield %next : !tile
    }
    %chosen = memref.get_global @chosen : memref<8x8xf32, 3>
    %cast = memref.cast %chosen : memref<8x8xf32, 3> to !tile
    %either = scf.if %c -> !tile {
      scf.yield %cast : !tile
    } else {
      scf.yield %last : !tile
    }
    nvgpu.tma.async.load %d[%c0, %c0], %bar[%c0] to %either : !plain, !bar -> !tile
    %passed = memref.get_global @passed : memref<8x8xf32, 3>
    %returned = func.call @get() : () -> memref<8x8xf32, 3>
    %which = arith.select %c, %passed, %returned : memref<8x8xf32, 3>
    func.call @copy(%d, %which) : (!plain, memref<8x8xf32, 3>) -> ()
    %branched = memref.get_global @branched : memref<8x8xf32, 3>
    cf.cond_br %c, ^load(%branched : memref<8x8xf32, 3>), ^load(%branched : memref<8x8xf32, 3>)
  ^load(%b: memref<8x8xf32, 3>):
    nvgpu.tma.async.load %d[%c0, %c0], %bar[%c0] to %b : !plain, !bar -> memref<8x8xf32, 3>
    %unused = memref.get_global @unused : memref<8x8xf32, 3>
    %v = memref.load %unused[%c0, %c0] : memref<8x8xf32, 3>
    memref.store %v, %unused[%n, %c0] : memref<8x8xf32, 3>
    memref.store %at, %indices[%c0] : memref<64xi32, 3>
    gpu.return
  }
}

// -----

// The LLVM dialect: a descriptor that is a mere pointer may swizzle in any way.
// CHECK: gpu_async.binary @pointers
// CHECK-DAG: .shared .align 1024 .b8 any[1024];
// CHECK-DAG: .shared .align 128 .b8 known[1024];
// CHECK-DAG: .shared .align 16 .b8 bulk[1024];
// CHECK-DAG: .shared .align 16 .b8 rows[1024];
// CHECK-DAG: .shared .align 32 .b8 fragment[1024];
// CHECK-DAG: .shared .align 8 .b8 piece[1024];
// CHECK-DAG: .shared .align 16 .b8 left[1024];
!plain = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @pointers {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32} : i64
  llvm.mlir.global internal @any() {addr_space = 3 : i32} : !llvm.array<256 x f32>
  llvm.mlir.global internal @known() {addr_space = 3 : i32} : !llvm.array<256 x f32>
  llvm.mlir.global internal @bulk() {addr_space = 3 : i32} : !llvm.array<256 x f32>
  llvm.mlir.global internal @rows() {addr_space = 3 : i32} : !llvm.array<256 x f32>
  llvm.mlir.global internal @fragment() {addr_space = 3 : i32} : !llvm.array<256 x f32>
  llvm.mlir.global internal @piece() {addr_space = 3 : i32} : !llvm.array<256 x f32>
  llvm.mlir.global internal @left() {addr_space = 3 : i32} : !llvm.array<256 x f32>
  gpu.func @f(%map: !llvm.ptr, %d: !plain, %from: !llvm.ptr<1>, %i: i64, %n: i32, %x: memref<?xi32>) kernel {
    %c0 = arith.constant 0 : index
    %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %any = llvm.mlir.addressof @any : !llvm.ptr<3>
    %moved = llvm.getelementptr %any[%i] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f32
    %to = llvm.addrspacecast %moved : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, box[%n, %n] : !llvm.ptr<7>, !llvm.ptr
    %known = llvm.mlir.addressof @known : !llvm.ptr<3>
    %map2 = builtin.unrealized_conversion_cast %d : !plain to !llvm.ptr
    %to2 = llvm.addrspacecast %known : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.tensor.shared.cluster.global %to2, %map2, %bar, box[%n, %n] : !llvm.ptr<7>, !llvm.ptr
    %bulk = llvm.mlir.addressof @bulk : !llvm.ptr<3>
    %cluster = llvm.addrspacecast %bulk : !llvm.ptr<3> to !llvm.ptr<7>
    nvvm.cp.async.bulk.shared.cluster.global %cluster, %from, %bar, %n : !llvm.ptr<7>, !llvm.ptr<1>
    %rows = llvm.mlir.addressof @rows : !llvm.ptr<3>
    %v = nvvm.ldmatrix %rows {eltType = #nvvm.ld_st_matrix_elt_type<b16>, num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>} : (!llvm.ptr<3>) -> i32
    memref.store %v, %x[%c0] : memref<?xi32>
    %fragment = llvm.mlir.addressof @fragment : !llvm.ptr<3>
    %w = nvvm.wmma.load %fragment, %n {eltype = #nvvm.mma_type<f16>, frag = #nvvm.mma_frag<a>, k = 16 : i32, layout = #nvvm.mma_layout<row>, m = 16 : i32, n = 16 : i32} : (!llvm.ptr<3>) -> !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
    %e = llvm.extractvalue %w[0] : !llvm.struct<(vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>, vector<2xf16>)>
    llvm.store %e, %map : vector<2xf16>, !llvm.ptr
    %piece = llvm.mlir.addressof @piece : !llvm.ptr<3>
    nvvm.cp.async.shared.global %piece, %from, 8, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    %left = llvm.mlir.addressof @left : !llvm.ptr<3>
    %l = llvm.load volatile %left : !llvm.ptr<3> -> i32
    llvm.store %l, %map : i32, !llvm.ptr
    gpu.return
  }
}

// -----

// Where an address comes out of memory it may be any.
!plain = !nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
// CHECK: gpu_async.binary @loaded
// CHECK-DAG: .shared .align 128 .b8 one[256];
// CHECK-DAG: .shared .align 128 .b8 two[256];
gpu.module @loaded {
  llvm.mlir.global internal @bar() {addr_space = 3 : i32} : i64
  memref.global "private" @one : memref<8x8xf32, 3>
  llvm.mlir.global internal @two() {addr_space = 3 : i32} : !llvm.array<64 x f32>
  gpu.func @f(%d: !plain, %slot: !llvm.ptr, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %one = memref.get_global @one : memref<8x8xf32, 3>
    %tid = gpu.thread_id x
    %bar = llvm.mlir.addressof @bar : !llvm.ptr<3>
    %u = llvm.load %slot : !llvm.ptr -> f32
    memref.store %u, %one[%tid, %c0] : memref<8x8xf32, 3>
    gpu.barrier
    %v = memref.load %one[%c0, %c0] : memref<8x8xf32, 3>
    llvm.store volatile %v, %slot : f32, !llvm.ptr
    %two = llvm.mlir.addressof @two : !llvm.ptr<3>
    llvm.store volatile %two, %slot : !llvm.ptr<3>, !llvm.ptr
    %at = llvm.load volatile %slot : !llvm.ptr -> !llvm.ptr<3>
    %to = llvm.addrspacecast %at : !llvm.ptr<3> to !llvm.ptr<7>
    %map = builtin.unrealized_conversion_cast %d : !plain to !llvm.ptr
    nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %map, %bar, box[%n, %n] : !llvm.ptr<7>, !llvm.ptr
    gpu.return
  }
}
