// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Boxes of a tensor that the copy engine brings into workgroup memory, one after
// the other on one barrier: in the middle, and over two edges, where it reads
// zeros. A row of a box begins at a multiple of 16 bytes, else the H100 reports
// an illegal instruction. The descriptor is made anew in a loop, of another part
// of the tensor each time.
// REQUIRES: tma
// RUN: gpu-runner --device=cuda %s | FileCheck %s
// RUN: gpu-runner --device=cuda --max-streams=1 %s | FileCheck %s

// x[i, j] = 100 * i + j. A round shows x from row 3 on, then from row 7 on.
// CHECK: [304, 305, 306, 307, 308, 309, 310, 311]
// CHECK: [404, 405, 406, 407, 408, 409, 410, 411]
// CHECK: [504, 505, 506, 507, 508, 509, 510, 511]
// CHECK: [604, 605, 606, 607, 608, 609, 610, 611]
// CHECK: [3548, 3549, 3550, 3551, 0, 0, 0, 0]
// CHECK: [3648, 3649, 3650, 3651, 0, 0, 0, 0]
// CHECK: [0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: [0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: [704, 705, 706, 707, 708, 709, 710, 711]
// CHECK: [804, 805, 806, 807, 808, 809, 810, 811]
// CHECK: [904, 905, 906, 907, 908, 909, 910, 911]
// CHECK: [1004, 1005, 1006, 1007, 1008, 1009, 1010, 1011]
// CHECK: [3548, 3549, 3550, 3551, 0, 0, 0, 0]
// CHECK: [3648, 3649, 3650, 3651, 0, 0, 0, 0]
// CHECK: [0, 0, 0, 0, 0, 0, 0, 0]
// CHECK: [0, 0, 0, 0, 0, 0, 0, 0]
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x8xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = l2promo_128b, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!tile = memref<4x8xf32, #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
gpu.module @k {
  // One warp; the boxes begin at (0, 4) and (%last, 48) of what the map shows.
  gpu.func @boxes(%round: index, %map: !map, %last: index, %out: memref<2x2x4x8xf32>) workgroup(
      %tile : !tile) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %c48 = arith.constant 48 : index
    %bytes = arith.constant 128 : index
    %ticks = arith.constant 10000000 : index
    %even = arith.constant false
    %odd = arith.constant true
    %tid = gpu.thread_id x
    %i = arith.divui %tid, %c8 : index
    %j = arith.remui %tid, %c8 : index
    %isFirst = arith.cmpi eq, %tid, %c0 : index
    %bar = nvgpu.mbarrier.create -> !bar
    nvgpu.mbarrier.init %bar[%c0], %c1, predicate = %isFirst : !bar
    nvvm.fence.mbarrier.init
    nvgpu.tma.prefetch.descriptor %map, predicate = %isFirst : !map
    gpu.barrier
    scf.if %isFirst {
      nvgpu.mbarrier.arrive.expect_tx %bar[%c0], %bytes : !bar
      nvgpu.tma.async.load %map[%c4, %c0], %bar[%c0] to %tile : !map, !bar -> !tile
    }
    nvgpu.mbarrier.try_wait.parity %bar[%c0], %even, %ticks : !bar
    %v = memref.load %tile[%i, %j] : !tile
    memref.store %v, %out[%round, %c0, %i, %j] : memref<2x2x4x8xf32>
    // All have read the first box before the second comes.
    gpu.barrier
    scf.if %isFirst {
      nvgpu.mbarrier.arrive.expect_tx %bar[%c0], %bytes : !bar
      nvgpu.tma.async.load %map[%c48, %last], %bar[%c0] to %tile : !map, !bar -> !tile
    }
    nvgpu.mbarrier.try_wait.parity %bar[%c0], %odd, %ticks : !bar
    %w = memref.load %tile[%i, %j] : !tile
    memref.store %w, %out[%round, %c1, %i, %j] : memref<2x2x4x8xf32>
    gpu.return
  }
}

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c32 = arith.constant 32 : index
  %c35 = arith.constant 35 : index
  %c37 = arith.constant 37 : index
  %c52 = arith.constant 52 : index
  %c100 = arith.constant 100 : index
  %h = memref.alloc() : memref<37x52xf32>
  scf.for %i = %c0 to %c37 step %c1 {
    scf.for %j = %c0 to %c52 step %c1 {
      %i100 = arith.muli %i, %c100 : index
      %ij = arith.addi %i100, %j : index
      %n = arith.index_cast %ij : index to i32
      %f = arith.sitofp %n : i32 to f32
      memref.store %f, %h[%i, %j] : memref<37x52xf32>
    }
  }
  %g = memref.alloc() : memref<2x2x4x8xf32>
  %x = gpu.alloc () : memref<37x52xf32>
  %y = gpu.alloc () : memref<2x2x4x8xf32>
  gpu.memcpy %x, %h : memref<37x52xf32>, memref<37x52xf32>
  scf.for %round = %c0 to %c2 step %c1 {
    %r4 = arith.muli %round, %c4 : index
    %row = arith.addi %r4, %c3 : index
    %rows = arith.subi %c37, %row : index
    %last = arith.subi %c35, %row : index
    %part = memref.subview %x[%row, 0][%rows, 52][1, 1] : memref<37x52xf32> to memref<?x52xf32, strided<[52, 1], offset: ?>>
    %u = memref.cast %part : memref<?x52xf32, strided<[52, 1], offset: ?>> to memref<*xf32>
    %map = nvgpu.tma.create.descriptor %u box[%c4, %c8] : memref<*xf32> -> !map
    gpu.launch_func @k::@boxes blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
        args(%round : index, %map : !map, %last : index, %y : memref<2x2x4x8xf32>)
  }
  gpu.memcpy %g, %y : memref<2x2x4x8xf32>, memref<2x2x4x8xf32>
  gpu.dealloc %x : memref<37x52xf32>
  gpu.dealloc %y : memref<2x2x4x8xf32>
  %flat = memref.collapse_shape %g [[0, 1, 2], [3]] : memref<2x2x4x8xf32> into memref<16x8xf32>
  %print = memref.cast %flat : memref<16x8xf32> to memref<*xf32>
  call @printMemrefF32(%print) : (memref<*xf32>) -> ()
  memref.dealloc %h : memref<37x52xf32>
  memref.dealloc %g : memref<2x2x4x8xf32>
  return
}

func.func private @printMemrefF32(memref<*xf32>)
}
