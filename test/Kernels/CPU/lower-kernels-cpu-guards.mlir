// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cpu device saves: masks of ifs on places, locks of atomics on memory of
// the block, gathers of shuffles.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels=targets=cpu | FileCheck %s

// The end of an array bounds the loop over x; the thread asks nothing.
// CHECK-LABEL: llvm.func internal @k_end_region_0(
// CHECK-NOT: llvm.icmp
// CHECK: llvm.store {{.*}}access_groups
// CHECK-NEXT: llvm.return
// CHECK-LABEL: llvm.func internal @k_end_thread(
// CHECK: llvm.icmp "ugt"
// CHECK: llvm.select
// CHECK-COUNT-1: llvm.call @k_end_region_0(
// CHECK-NOT: llvm.call
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @k_end_block(
// CHECK: llvm.call @k_end_thread(
gpu.module @k {
  gpu.func @end(%x: memref<?xf32>, %n: index, %v: f32) kernel {
    %i = gpu.global_id x
    %in = arith.cmpi ult, %i, %n : index
    scf.if %in {
      memref.store %v, %x[%i] : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// With blocks of a known size, whole rows have a loop of their own. What all
// threads agree about is asked once.
// CHECK-LABEL: llvm.func internal @s_inside_region_0(
// CHECK-NOT: llvm.icmp
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @s_inside_thread(
// CHECK-COUNT-2: llvm.call @s_inside_region_0(
// CHECK-NOT: llvm.call
// CHECK: llvm.return
gpu.module @s {
  gpu.func @inside(%x: memref<?x?xindex>, %n: index, %on: i1) kernel
      attributes {known_block_size = array<i32: 64, 4, 1>} {
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %i = gpu.global_id x
    %j = gpu.global_id y
    %last = arith.subi %n, %c1 : index
    %a = arith.cmpi uge, %i, %c1 : index
    %b = arith.cmpi ugt, %last, %i : index
    %c = arith.cmpi slt, %j, %n : index
    %ab = arith.andi %a, %b : i1
    %abc = arith.andi %ab, %c : i1
    %all = arith.andi %abc, %on : i1
    scf.if %all {
      memref.store %t, %x[%j, %i] : memref<?x?xindex>
    }
    gpu.return
  }
}

// -----

// In 32 bits a place may wrap around, unless the program says that it does not;
// and 0 - 1 is the largest of all.
// CHECK-LABEL: llvm.func internal @w_narrow_thread(
// CHECK: llvm.icmp "slt"
// CHECK: llvm.cond_br
// CHECK-LABEL: llvm.func internal @w_promised_region_0(
// CHECK-NOT: llvm.icmp
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @w_below_thread(
// CHECK: llvm.icmp "ult"
// CHECK: llvm.cond_br
gpu.module @w {
  gpu.func @narrow(%x: memref<?xf32>, %n: i32, %v: f32) kernel {
    %g = gpu.global_id x
    %i = arith.index_cast %g : index to i32
    %in = arith.cmpi slt, %i, %n : i32
    scf.if %in {
      memref.store %v, %x[%g] : memref<?xf32>
    }
    gpu.return
  }
  gpu.func @promised(%x: memref<?xf32>, %base: i32, %n: i32, %v: f32) kernel {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    %g = arith.addi %base, %i overflow<nsw> : i32
    %in = arith.cmpi slt, %g, %n : i32
    scf.if %in {
      memref.store %v, %x[%t] : memref<?xf32>
    }
    gpu.return
  }
  gpu.func @below(%x: memref<?xf32>, %n: index, %v: f32) kernel {
    %c1 = arith.constant 1 : index
    %i = gpu.global_id x
    %j = arith.subi %i, %c1 : index
    %in = arith.cmpi ult, %j, %n : index
    scf.if %in {
      memref.store %v, %x[%i] : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// One thread of the host runs the block; other blocks see the other array. The
// accesses are not independent of other threads'.
// CHECK-LABEL: llvm.func internal @a_count_region_0(
// CHECK: %[[OLD:.*]] = llvm.load %[[AT:.*]] : !llvm.ptr -> i32
// CHECK: %[[NEW:.*]] = llvm.add %[[OLD]]
// CHECK: llvm.store %[[NEW]], %[[AT]] : i32
// CHECK: llvm.store {{.*}} : f32, !llvm.ptr
// CHECK: llvm.atomicrmw add
// CHECK-NOT: in_order
gpu.module @a {
  gpu.func @count(%x: memref<?xi32>)
      workgroup(%s: memref<64xi32, #gpu.address_space<workgroup>>,
                %f: memref<1xf32, 3>) kernel {
    %one = arith.constant 1 : i32
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %i = gpu.global_id x
    %old = memref.atomic_rmw addi %one, %s[%t] : (i32, memref<64xi32, #gpu.address_space<workgroup>>) -> i32
    %before = memref.generic_atomic_rmw %f[%c0] : memref<1xf32, 3> {
    ^bb0(%v: f32):
      %sum = arith.addf %v, %v : f32
      memref.atomic_yield %sum : f32
    }
    %seen = memref.atomic_rmw addi %old, %x[%i] : (i32, memref<?xi32>) -> i32
    gpu.barrier
    gpu.return
  }
}

// -----

// Lanes 0 to 30 get the next one's value, the last keeps its own. Without the
// block's size there might be half a subgroup.
// CHECK-LABEL: llvm.func internal @v_known_thread(
// CHECK: llvm.shufflevector {{.*}} [1, 2, 3, {{.*}}, 30, 31, 31] : vector<32xf32>
// CHECK-LABEL: llvm.func internal @v_unknown_thread(
// CHECK-NOT: shufflevector
// CHECK: llvm.return
gpu.module @v {
  gpu.func @known(%x: memref<?xf32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<?xf32>
    %next, %valid = gpu.shuffle down %v, %c1, %c32 : f32
    memref.store %next, %x[%t] : memref<?xf32>
    gpu.return
  }
  gpu.func @unknown(%x: memref<?xf32>) kernel {
    %c1 = arith.constant 1 : i32
    %c32 = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<?xf32>
    %next, %valid = gpu.shuffle down %v, %c1, %c32 : f32
    memref.store %next, %x[%t] : memref<?xf32>
    gpu.return
  }
}
