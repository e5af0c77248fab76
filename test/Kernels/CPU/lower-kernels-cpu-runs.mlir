// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that one call runs for several blocks: those whose threads ask for
// nothing in x but their place in the whole grid, and share nothing with their
// block.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels=targets=cpu --verify-roundtrip | FileCheck %s

// The loop over x goes on through the blocks of the run, and stops at the end of
// the array.
// CHECK-LABEL: llvm.func internal @k_inside_thread(
// CHECK-SAME: %[[BLOCKS:arg[0-9]+]]: i64, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr, %{{[^:]*}}: !llvm.ptr)
// CHECK: %[[IDS:.*]] = llvm.mul %{{.*}}, %[[BLOCKS]] : i64
// CHECK: llvm.intr.umin(%{{.*}}, %[[IDS]])
// CHECK-COUNT-1: llvm.call @k_inside_region_0(
// CHECK-NOT: llvm.call
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @k_inside_block(
// CHECK: llvm.getelementptr inbounds %{{.*}}[88]
// CHECK: llvm.call @k_inside_thread(
// CHECK: functions = [#gpu_async.cpu_kernel<@k_inside_block runs = true{{[^>]*}}>]
gpu.module @k {
  gpu.func @inside(%x: memref<?x?xf32>, %n: index, %v: f32) kernel
      attributes {known_block_size = array<i32: 64, 4, 1>} {
    %i = gpu.global_id x
    %j = gpu.global_id y
    %in = arith.cmpi ult, %i, %n : index
    scf.if %in {
      memref.store %v, %x[%j, %i] : memref<?x?xf32>
    }
    gpu.return
  }
}

// -----

// The place by hand, in either order, in 32 bits and with the size as a number.
// CHECK: functions = [#gpu_async.cpu_kernel<@p_sum_block runs = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@p_narrow_block runs = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@p_number_block runs = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@p_atomic_block runs = true{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@p_rows_block runs = true{{[^>]*}}>]
gpu.module @p {
  gpu.func @sum(%x: memref<?xindex>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %d = gpu.block_dim x
    %s = arith.muli %d, %b : index
    %i = arith.addi %t, %s : index
    memref.store %d, %x[%i] : memref<?xindex>
    gpu.return
  }
  gpu.func @narrow(%x: memref<?xi32>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %d = gpu.block_dim x
    %t32 = arith.index_cast %t : index to i32
    %b32 = arith.index_cast %b : index to i32
    %d32 = arith.index_cast %d : index to i32
    %s = arith.muli %b32, %d32 : i32
    %i32 = arith.addi %s, %t32 : i32
    %i = arith.index_cast %i32 : i32 to index
    memref.store %i32, %x[%i] : memref<?xi32>
    gpu.return
  }
  gpu.func @number(%x: memref<?xf32>, %v: f32) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c128 = arith.constant 128 : index
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %s = arith.muli %b, %c128 : index
    %i = arith.addi %s, %t : index
    memref.store %v, %x[%i] : memref<?xf32>
    gpu.return
  }
  gpu.func @atomic(%x: memref<?xi32>, %y: memref<1xi32>) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.global_id x
    %v = memref.load %x[%i] : memref<?xi32>
    %old = memref.atomic_rmw addi %v, %y[%c0] : (i32, memref<1xi32>) -> i32
    gpu.return
  }
  gpu.func @rows(%x: memref<?xindex>) kernel {
    %t = gpu.thread_id y
    %b = gpu.block_id y
    memref.store %t, %x[%b] : memref<?xindex>
    gpu.return
  }
}

// -----

// These know their block: by an id of its own, by its memory, by its threads, by
// what is said of it when they fail; or they hold loops.
// CHECK: functions = [#gpu_async.cpu_kernel<@n_thread_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_block_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_start_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_other_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_signed_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_lane_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_memory_block workgroup = 4{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_meet_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_fail_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_print_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_loop_block{{[^>]*}}>,
// CHECK-SAME: #gpu_async.cpu_kernel<@n_call_block{{[^>]*}}>]
gpu.module @n {
  gpu.func @thread(%x: memref<?xindex>) kernel {
    %i = gpu.global_id x
    %t = gpu.thread_id x
    memref.store %t, %x[%i] : memref<?xindex>
    gpu.return
  }
  gpu.func @block(%x: memref<?xindex>) kernel {
    %i = gpu.global_id x
    %b = gpu.block_id x
    memref.store %b, %x[%i] : memref<?xindex>
    gpu.return
  }
  gpu.func @start(%x: memref<?xindex>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %d = gpu.block_dim x
    %s = arith.muli %d, %b : index
    %i = arith.addi %t, %s : index
    memref.store %s, %x[%i] : memref<?xindex>
    gpu.return
  }
  gpu.func @other(%x: memref<?xindex>) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>} {
    %c64 = arith.constant 64 : index
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %s = arith.muli %b, %c64 : index
    %i = arith.addi %s, %t : index
    memref.store %i, %x[%i] : memref<?xindex>
    gpu.return
  }
  gpu.func @signed(%x: memref<?xindex>) kernel {
    %t = gpu.thread_id x
    %b = gpu.block_id x
    %d = gpu.block_dim x
    %t32 = arith.index_cast %t : index to i32
    %t8 = arith.trunci %t32 : i32 to i8
    %te = arith.extsi %t8 : i8 to i32
    %tw = arith.index_cast %te : i32 to index
    %s = arith.muli %d, %b : index
    %i = arith.addi %tw, %s : index
    memref.store %i, %x[%i] : memref<?xindex>
    gpu.return
  }
  gpu.func @lane(%x: memref<?xindex>) kernel {
    %i = gpu.global_id x
    %l = gpu.lane_id
    memref.store %l, %x[%i] : memref<?xindex>
    gpu.return
  }
  gpu.func @memory(%x: memref<?xf32>)
      workgroup(%s: memref<1xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %i = gpu.global_id x
    %v = memref.load %s[%c0] : memref<1xf32, #gpu.address_space<workgroup>>
    memref.store %v, %x[%i] : memref<?xf32>
    gpu.return
  }
  gpu.func @meet(%x: memref<?xf32>, %v: f32) kernel {
    %i = gpu.global_id x
    gpu.barrier
    memref.store %v, %x[%i] : memref<?xf32>
    gpu.return
  }
  gpu.func @fail(%x: memref<?xf32>, %v: f32, %n: index) kernel {
    %i = gpu.global_id x
    %in = arith.cmpi ult, %i, %n : index
    cf.assert %in, "inside"
    memref.store %v, %x[%i] : memref<?xf32>
    gpu.return
  }
  gpu.func @print() kernel {
    %i = gpu.global_id x
    gpu.printf "%d\n", %i : index
    gpu.return
  }
  gpu.func @loop(%x: memref<?xf32>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %z = arith.constant 0.0 : f32
    %i = gpu.global_id x
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%s = %z) -> f32 {
      %v = memref.load %x[%k] : memref<?xf32>
      %t = arith.addf %s, %v : f32
      scf.yield %t : f32
    }
    memref.store %r, %x[%i] : memref<?xf32>
    gpu.return
  }
  func.func @place() -> index {
    %i = gpu.thread_id x
    return %i : index
  }
  gpu.func @call(%x: memref<?xindex>) kernel {
    %i = gpu.global_id x
    %t = func.call @place() : () -> index
    memref.store %t, %x[%i] : memref<?xindex>
    gpu.return
  }
}
