// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How threads exchange values on GPUs, by ops and memory: what upstream leaves
// out or does wrong.
// REQUIRES: lld
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none libdevice=none" | FileCheck %s
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_75 ptxas=none libdevice=none" | FileCheck %s --check-prefix=OLD
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=amdgcn:gfx90a" | FileCheck %s --check-prefix=AMD

// Values of any type are shuffled in words of 32 bits.
// CHECK-LABEL: gpu_async.binary @words
// CHECK-COUNT-9: shfl.sync.idx.b32
// CHECK-NOT: shfl.sync
// AMD-LABEL: gpu_async.binary @words
gpu.module @words {
  gpu.func @bit(%x: memref<64xi1>, %from: i32) kernel {
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi1>
    %r, %valid = gpu.shuffle idx %v, %from, %w : i1
    memref.store %r, %x[%t] : memref<64xi1>
    gpu.return
  }
  gpu.func @half(%x: memref<64xf16>, %from: i32) kernel {
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf16>
    %r, %valid = gpu.shuffle idx %v, %from, %w : f16
    memref.store %r, %x[%t] : memref<64xf16>
    gpu.return
  }
  gpu.func @wide(%x: memref<64xf64>, %from: i32) kernel {
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf64>
    %r, %valid = gpu.shuffle idx %v, %from, %w : f64
    memref.store %r, %x[%t] : memref<64xf64>
    gpu.return
  }
  gpu.func @vector(%x: memref<64xvector<4xi32>>, %from: i32) kernel {
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xvector<4xi32>>
    %r, %valid = gpu.shuffle idx %v, %from, %w : vector<4xi32>
    memref.store %r, %x[%t] : memref<64xvector<4xi32>>
    gpu.return
  }
  gpu.func @broadcast(%x: memref<64xi32>, %from: i32) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r = gpu.subgroup_broadcast %v, specific_lane %from : i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
}

// -----

// A rotation is a shuffle whose lanes are computed. It waits for the lanes below
// its width only: the others may be elsewhere.
// CHECK-LABEL: gpu_async.binary @turn
// CHECK: %laneid
// CHECK: setp.lt.u32
// CHECK-SAME: %r{{[0-9]+}}, 16;
// CHECK-SAME: selp.b32
// CHECK-SAME: %[[LANES:r[0-9]+]], 65535,
// CHECK-SAME: shfl.sync.idx.b32
// CHECK-SAME: , 31, %[[LANES]];
// AMD-LABEL: gpu_async.binary @turn
gpu.module @turn {
  gpu.func @f(%x: memref<64xf32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    %r, %valid = gpu.rotate %v, 3, 16 : f32
    memref.store %r, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

// What the chip has an instruction for needs no full subgroups there.
// CHECK-LABEL: gpu_async.binary @sums
// CHECK: redux.sync.add.s32
// CHECK-COUNT-5: shfl.sync.bfly.b32
// CHECK-COUNT-10: shfl.sync.bfly.b32
// CHECK-NOT: shfl.sync
// OLD-LABEL: gpu_async.binary @sums
// OLD-NOT: redux.sync
// OLD-COUNT-20: shfl.sync.bfly.b32
// AMD-LABEL: gpu_async.binary @sums
gpu.module @sums {
  gpu.func @integer(%x: memref<64xi32>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r = gpu.subgroup_reduce add %v uniform : (i32) -> i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
  gpu.func @float(%x: memref<64xf32>) kernel
      attributes {known_block_size = array<i32: 16, 4, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    %r = gpu.subgroup_reduce add %v uniform : (f32) -> f32
    memref.store %r, %x[%t] : memref<64xf32>
    gpu.return
  }
  gpu.func @wide(%x: memref<64xi64>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi64>
    %r = gpu.subgroup_reduce maxui %v uniform : (i64) -> i64
    memref.store %r, %x[%t] : memref<64xi64>
    gpu.return
  }
}

// -----

// A reduction of the block inside structured control flow.
// CHECK-LABEL: gpu_async.binary @inside
// CHECK: bar.sync
// AMD-LABEL: gpu_async.binary @inside
gpu.module @inside {
  gpu.func @f(%x: memref<64xi1>, %n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %n step %c1 {
      %v = memref.load %x[%t] : memref<64xi1>
      %r = gpu.all_reduce or %v uniform {} : (i1) -> (i1)
      memref.store %r, %x[%t] : memref<64xi1>
    }
    gpu.return
  }
}

// -----

// A shuffle up in fewer threads than a warp is computed: upstream takes the last
// of the warp for the first threads.
// CHECK-LABEL: gpu_async.binary @up
// CHECK: shfl.sync.up.b32
// CHECK-NOT: shfl.sync.up
// CHECK: shfl.sync.idx.b32
gpu.module @up {
  gpu.func @a(%x: memref<64xi32>, %any: i32) kernel {
    %w = arith.constant 32 : i32
    %last = arith.constant 31 : i32
    %by = arith.andi %any, %last : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r, %valid = gpu.shuffle up %v, %by, %w : i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
  gpu.func @b(%x: memref<64xi32>, %by: i32) kernel {
    %w = arith.constant 16 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r, %valid = gpu.shuffle up %v, %by, %w : i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
}

// -----

// So is one by an offset that may be more than a lane: NVIDIA's instruction
// looks at its lowest five bits, and says that the result is valid. It says so
// too of lanes behind the width.
// CHECK-LABEL: gpu_async.binary @far
// CHECK: .visible .entry a
// CHECK-NOT: shfl.sync.bfly
// CHECK: setp.lt.u32
// CHECK: shfl.sync.idx.b32
// CHECK: .visible .entry b
// CHECK: shfl.sync.bfly.b32
// CHECK: .visible .entry c
// CHECK-NOT: shfl.sync.bfly
// CHECK: setp.lt.u32 {{.*}}, 16;
// CHECK: shfl.sync.idx.b32
gpu.module @far {
  gpu.func @a(%x: memref<64xi32>, %y: memref<64xi1>, %by: i32) kernel {
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r, %valid = gpu.shuffle xor %v, %by, %w : i32
    memref.store %r, %x[%t] : memref<64xi32>
    memref.store %valid, %y[%t] : memref<64xi1>
    gpu.return
  }
  gpu.func @b(%x: memref<64xi32>, %n: i32) kernel {
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %by = arith.remui %n, %w : i32
    %r, %valid = gpu.shuffle xor %v, %by, %w : i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
  gpu.func @c(%x: memref<64xi32>, %y: memref<64xi1>) kernel {
    %w = arith.constant 16 : i32
    %c1 = arith.constant 1 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r, %valid = gpu.shuffle xor %v, %c1, %w : i32
    memref.store %r, %x[%t] : memref<64xi32>
    memref.store %valid, %y[%t] : memref<64xi1>
    gpu.return
  }
}

// -----

// Dynamic shared memory begins after the static one.
// CHECK-LABEL: gpu_async.binary @dynamic
// CHECK: .extern .shared .align 16 .b8 __dynamic_shmem__0[];
gpu.module @dynamic {
  gpu.func @f(%x: memref<64xi32>)
      workgroup(%s: memref<64xi32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %d = memref.view %bytes[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xi32, #gpu.address_space<workgroup>>
    %v = memref.load %x[%t] : memref<64xi32>
    memref.store %v, %s[%t] : memref<64xi32, #gpu.address_space<workgroup>>
    memref.store %v, %d[%t] : memref<64xi32, #gpu.address_space<workgroup>>
    gpu.barrier
    %a = memref.load %s[%c0] : memref<64xi32, #gpu.address_space<workgroup>>
    %b = memref.load %d[%c0] : memref<64xi32, #gpu.address_space<workgroup>>
    %r = arith.addi %a, %b : i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
}
