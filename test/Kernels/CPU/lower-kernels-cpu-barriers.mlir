// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels for the cpu device are cut at their barriers.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels=targets=cpu | FileCheck %s

// The second piece reads what others wrote. %v is kept in 4 bytes a thread, the
// address is computed again; accesses in both are independent.
// CHECK-LABEL: llvm.func internal @k_swap_region_0(
// CHECK: llvm.store {{.*}}access_groups = [#[[A:.*]]]
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @k_swap_region_1(
// CHECK: llvm.store {{.*}}access_groups = [#[[B:.*]]]
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @k_swap_thread(
// CHECK: llvm.call @k_swap_region_0(
// CHECK: llvm.br {{.*}}loop_annotation
// CHECK: llvm.call @k_swap_region_1(
// CHECK: llvm.br {{.*}}loop_annotation
// CHECK-LABEL: llvm.func internal @k_swap_block(
// CHECK-COUNT-1: llvm.call @k_swap_thread(
// CHECK-NEXT: llvm.return
// CHECK: #gpu_async.cpu_kernel<@k_swap_block workgroup = 256 thread = 4{{[^>]*}}>
gpu.module @k {
  gpu.func @swap(%x: memref<?xf32>)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c63 = arith.constant 63 : index
    %t = gpu.thread_id x
    %i = gpu.global_id x
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %o = arith.subi %c63, %t : index
    %w = memref.load %s[%o] : memref<64xf32, #gpu.address_space<workgroup>>
    %sum = arith.addf %v, %w : f32
    memref.store %sum, %x[%i] : memref<?xf32>
    gpu.return
  }
}

// -----

// The block runs the loop; the guard is the bound of the loop over x.
// CHECK-LABEL: llvm.func internal @r_sum_region_0(
// CHECK-NOT: llvm.cond_br
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @r_sum_thread(
// CHECK: llvm.intr.umin(
// CHECK: llvm.call @r_sum_region_0(
// CHECK: #gpu_async.cpu_kernel<@r_sum_block workgroup = 256{{[^>]*}}>
gpu.module @r {
  gpu.func @sum()
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %t = gpu.thread_id x
    scf.while (%i = %c32) : (index) -> index {
      %more = arith.cmpi ugt, %i, %c0 : index
      scf.condition(%more) %i : index
    } do {
    ^bb0(%i: index):
      %on = arith.cmpi ult, %t, %i : index
      scf.if %on {
        %o = arith.addi %t, %i : index
        %a = memref.load %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
        %b = memref.load %s[%o] : memref<64xf32, #gpu.address_space<workgroup>>
        %c = arith.addf %a, %b : f32
        memref.store %c, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %half = arith.shrui %i, %c1 : index
      scf.yield %half : index
    }
    gpu.return
  }
}

// -----

// Threads may disagree about the condition: each keeps a byte that says whether
// it takes part, and the block skips what none of them runs.
// CHECK-LABEL: llvm.func internal @d_early_region_0(
// CHECK: llvm.store {{.*}} : i8, !llvm.ptr
// CHECK-LABEL: llvm.func internal @d_early_region_1(
// CHECK: llvm.load {{.*}} : !llvm.ptr -> i8
// CHECK: llvm.cond_br
// CHECK-LABEL: llvm.func internal @d_early_thread(
// CHECK: llvm.call @d_early_region_0(
// CHECK: llvm.or
// CHECK: llvm.cond_br
// CHECK: llvm.call @d_early_region_1(
// CHECK: #gpu_async.cpu_kernel<@d_early_block workgroup = 256 thread = 1{{[^>]*}}>
gpu.module @d {
  gpu.func @early(%x: memref<?xf32>, %n: index)
      workgroup(%s: memref<64xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %i = gpu.global_id x
    %in = arith.cmpi ult, %i, %n : index
    cf.cond_br %in, ^go, ^end
  ^go:
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %s[%t] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %w = memref.load %s[%c0] : memref<64xf32, #gpu.address_space<workgroup>>
    memref.store %w, %x[%i] : memref<?xf32>
    cf.br ^end
  ^end:
    gpu.return
  }
}

// -----

// No barrier, but a loop that is better run around the loop over x: B is read
// along x.
// CHECK-LABEL: llvm.func internal @m_plain_region_1(
// CHECK-NOT: llvm.cond_br
// CHECK: llvm.return
// CHECK: #gpu_async.cpu_kernel<@m_plain_block thread = 4{{[^>]*}}>
gpu.module @m {
  gpu.func @plain(%a: memref<64x64xf32>, %b: memref<64x64xf32>,
                  %c: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %i = gpu.global_id y
    %j = gpu.global_id x
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%s = %zero) -> f32 {
      %x = memref.load %a[%i, %k] : memref<64x64xf32>
      %y = memref.load %b[%k, %j] : memref<64x64xf32>
      %p = arith.mulf %x, %y : f32
      %t = arith.addf %s, %p : f32
      scf.yield %t : f32
    }
    memref.store %sum, %c[%i, %j] : memref<64x64xf32>
    gpu.return
  }
}

// -----

// All launches have 16 threads in x: vectors for them, without a loop. A size
// that an attribute promises is checked.
// CHECK-DAG: #[[NO:.*]] = #llvm.loop_unroll<disable = true>
// CHECK-DAG: #[[ALL:.*]] = #llvm.loop_unroll<full = true>
// CHECK-DAG: #[[REST:.*]] = #llvm.loop_annotation<unroll = #[[ALL]],
// CHECK-DAG: #[[VECTOR:.*]] = #llvm.loop_vectorize<disable = true, followupVectorized = #[[REST]]>
// CHECK: #llvm.loop_annotation<vectorize = #[[VECTOR]], unroll = #[[NO]],
// CHECK-LABEL: llvm.func internal @n_agreed_block(
// CHECK: llvm.mlir.constant(16 : i64)
// CHECK-NOT: @gpuasync_cpu_assert_fail
// CHECK-LABEL: llvm.func internal @n_promised_block(
// CHECK: llvm.icmp "ne"
// CHECK: llvm.call @gpuasync_cpu_assert_fail(
gpu.module @n {
  gpu.func @agreed(%a: memref<64xf32>, %v: f32) kernel {
    %t = gpu.thread_id x
    memref.store %v, %a[%t] : memref<64xf32>
    gpu.return
  }
  gpu.func @promised(%a: memref<64xf32>, %v: f32) kernel attributes {known_block_size = array<i32: 16, 1, 1>} {
    %t = gpu.thread_id x
    memref.store %v, %a[%t] : memref<64xf32>
    gpu.return
  }
}
func.func @main(%a: memref<64xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  gpu_async.launch @n::@agreed blocks in (%c1, %c1, %c1) threads in (%c16, %c1, %c1) args(%a : memref<64xf32>, %v : f32)
  gpu_async.launch @n::@agreed blocks in (%c16, %c1, %c1) threads in (%c16, %c1, %c1) args(%a : memref<64xf32>, %v : f32)
  return
}
