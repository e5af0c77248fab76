// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops that begin at the thread's own place are run by the block, around the loops
// over its threads, and so are loops inside ifs on places.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels=targets=cpu | FileCheck %s

// The block counts for its first thread; the end of the array bounds the loop over x.
// CHECK-LABEL: llvm.func internal @k_stride_region_0(
// CHECK-NOT: llvm.icmp
// CHECK: llvm.load {{.*}}access_groups
// CHECK: llvm.store {{.*}}access_groups
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @k_stride_thread(
// CHECK-SAME: %[[N:arg10]]: i64, %{{[^:]*}}: f32
// CHECK: ^bb1(%[[J:.*]]: i64):
// CHECK-NEXT: llvm.icmp "slt" %[[J]], %[[N]]
// CHECK: %[[LEFT:.*]] = llvm.sub %[[N]], %[[J]]
// CHECK-NEXT: %[[END:.*]] = llvm.intr.umin(%{{.*}}, %[[LEFT]])
// CHECK: llvm.icmp "slt" %{{.*}}, %[[END]]
// CHECK: llvm.call @k_stride_region_0({{.*}}%[[J]]
// CHECK-NOT: llvm.call
// CHECK: llvm.return
gpu.module @k {
  gpu.func @stride(%x: memref<?xf32>, %y: memref<?xf32>, %n: index, %a: f32) kernel {
    %i = gpu.global_id x
    %d = gpu.block_dim x
    %g = gpu.grid_dim x
    %s = arith.muli %d, %g : index
    scf.for %at = %i to %n step %s {
      %v = memref.load %x[%at] : memref<?xf32>
      %w = arith.mulf %v, %a : f32
      memref.store %w, %y[%at] : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// With blocks of a known size whole rounds have a loop of their own. What a loop
// carries has an element for each thread, which those that are done leave alone.
// CHECK-LABEL: llvm.func internal @c_carried_region_0(
// CHECK: llvm.store {{.*}} : f32
// CHECK-LABEL: llvm.func internal @c_carried_region_1(
// CHECK-NOT: llvm.icmp
// CHECK-DAG: %[[SUM:.*]] = llvm.load %[[OWN:[0-9]+]] {
// CHECK-DAG: %[[V:.*]] = llvm.load
// CHECK: %[[NEXT:.*]] = llvm.fadd %[[SUM]], %[[V]]
// CHECK: llvm.store %[[NEXT]], %[[OWN]]
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @c_carried_thread(
// CHECK: llvm.icmp "eq"
// CHECK-COUNT-2: llvm.call @c_carried_region_1(
// CHECK-NOT: llvm.call @c_carried_region_1(
// CHECK: llvm.call @c_carried_region_2(
// CHECK: #gpu_async.cpu_kernel<@c_carried_block thread = 4{{[^>]*}}>
gpu.module @c {
  gpu.func @carried(%x: memref<?xf32>, %y: memref<?xf32>, %n: i32, %a: f32) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c64 = arith.constant 64 : i32
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    %r = scf.for unsigned %at = %i to %n step %c64 iter_args(%sum = %a) -> f32 : i32 {
      %k = arith.index_castui %at : i32 to index
      %v = memref.load %x[%k] : memref<?xf32>
      %next = arith.addf %sum, %v : f32
      scf.yield %next : f32
    }
    memref.store %r, %y[%t] : memref<?xf32>
    gpu.return
  }
}

// -----

// Other distances from the first thread are asked for, but not in whole rounds.
// CHECK-LABEL: llvm.func internal @l_linear_region_0(
// CHECK-SAME: %[[MOST:arg[0-9]+]]: i64
// CHECK: llvm.icmp "ule" %{{.*}}, %[[MOST]]
// CHECK-LABEL: llvm.func internal @l_linear_thread(
// CHECK: %[[ALL:.*]] = llvm.mlir.constant(-1 : index)
// CHECK: llvm.icmp "ule"
// CHECK: llvm.call @l_linear_region_0(%[[ALL]],
// CHECK-NOT: llvm.call @l_linear_region_0(%[[ALL]],
// CHECK: llvm.call @l_linear_region_0(
gpu.module @l {
  gpu.func @linear(%x: memref<?xf32>, %n: index, %a: f32) kernel {
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %dx = gpu.block_dim x
    %dy = gpu.block_dim y
    %s = arith.muli %dx, %dy : index
    %l = arith.muli %ty, %dx : index
    %i = arith.addi %l, %tx : index
    scf.for %at = %i to %n step %s {
      memref.store %a, %x[%at] : memref<?xf32>
    }
    gpu.return
  }
}

// -----

// Two loops over a tile bound the loops over y and x; a loop of all threads inside an if
// on their places is run around these threads.
// CHECK-LABEL: llvm.func internal @t_tile_region_0(
// CHECK-NOT: llvm.icmp
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @t_tile_thread(
// CHECK: %[[UPY:.*]] = llvm.intr.umin
// CHECK: %[[UPX:.*]] = llvm.intr.umin
// CHECK: llvm.icmp "slt" %{{.*}}, %[[UPY]]
// CHECK: llvm.icmp "slt" %{{.*}}, %[[UPX]]
// CHECK: llvm.call @t_tile_region_0(
// CHECK-LABEL: llvm.func internal @t_guarded_region_0(
// CHECK-NOT: llvm.icmp
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @t_guarded_thread(
// CHECK: llvm.call @t_guarded_region_0(
gpu.module @t {
  gpu.func @tile(%x: memref<?x?xf32>, %h: index, %w: index, %a: f32) kernel {
    %tx = gpu.thread_id x
    %ty = gpu.thread_id y
    %dx = gpu.block_dim x
    %dy = gpu.block_dim y
    scf.for %i = %ty to %h step %dy {
      scf.for %j = %tx to %w step %dx {
        memref.store %a, %x[%i, %j] : memref<?x?xf32>
      }
    }
    gpu.return
  }
  gpu.func @guarded(%x: memref<?x?xf32>, %w: index, %a: f32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %j = gpu.global_id x
    %in = arith.cmpi slt, %j, %w : index
    scf.if %in {
      scf.for %k = %c0 to %w step %c1 {
        memref.store %a, %x[%k, %j] : memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// Left to the threads: bounds and steps of their own, sums that may wrap around, accesses
// that are no neighbours', private memory, loops that may not end.
// CHECK-NOT: _region_
// CHECK: gpu_async.binary @a
gpu.module @a {
  gpu.func @bound(%x: memref<?xf32>, %m: memref<?xindex>, %s: index, %a: f32) kernel {
    %t = gpu.thread_id x
    %n = memref.load %m[%t] : memref<?xindex>
    scf.for %at = %t to %n step %s {
      memref.store %a, %x[%at] : memref<?xf32>
    }
    gpu.return
  }
  gpu.func @step(%x: memref<?xf32>, %m: memref<?xindex>, %n: index, %a: f32) kernel {
    %t = gpu.thread_id x
    %s = memref.load %m[%t] : memref<?xindex>
    scf.for %at = %t to %n step %s {
      memref.store %a, %x[%at] : memref<?xf32>
    }
    gpu.return
  }
  gpu.func @wraps(%x: memref<?xf32>, %base: i32, %n: i32, %s: i32, %a: f32) kernel {
    %t = gpu.thread_id x
    %i = arith.index_cast %t : index to i32
    %first = arith.addi %base, %i : i32
    scf.for %at = %first to %n step %s : i32 {
      %k = arith.index_cast %at : i32 to index
      memref.store %a, %x[%k] : memref<?xf32>
    }
    gpu.return
  }
  gpu.func @rows(%x: memref<?x64xf32>, %n: index, %s: index, %a: f32) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    scf.for %at = %t to %n step %s {
      memref.store %a, %x[%at, %c0] : memref<?x64xf32>
    }
    gpu.return
  }
  gpu.func @private(%x: memref<?xf32>, %n: index, %s: index)
      private(%own: memref<4xf32, 5>) kernel {
    %c0 = arith.constant 0 : index
    %t = gpu.thread_id x
    scf.for %at = %t to %n step %s {
      %v = memref.load %x[%at] : memref<?xf32>
      %o = memref.load %own[%c0] : memref<4xf32, 5>
      %w = arith.addf %v, %o : f32
      memref.store %w, %own[%c0] : memref<4xf32, 5>
      memref.store %w, %x[%at] : memref<?xf32>
    }
    gpu.return
  }
  gpu.func @waits(%x: memref<?xi32>, %n: index, %s: index) kernel {
    %zero = arith.constant 0 : i32
    %t = gpu.thread_id x
    scf.for %at = %t to %n step %s {
      scf.while : () -> () {
        %v = memref.load %x[%at] : memref<?xi32>
        %more = arith.cmpi ne, %v, %zero : i32
        scf.condition(%more)
      } do {
        scf.yield
      }
    }
    gpu.return
  }
}

// -----

// What all threads read before any of them writes the block reads, so that it can
// run loops whose accesses depend on it, such as a scatter of rows: a thread has a
// column. Views at the threads' own places are looked through.
// CHECK-LABEL: llvm.func internal @s_scatter_region_0(
// CHECK-NOT: -> i32
// CHECK-COUNT-2: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load
// CHECK: llvm.return
// CHECK-LABEL: llvm.func internal @s_scatter_thread(
// CHECK: llvm.load {{.*}} -> i32
// CHECK: llvm.call @s_scatter_region_0(
gpu.module @s {
  gpu.func @scatter(%x: memref<100x64xf32>, %rows: memref<?xi32>, %u: memref<?x64xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %column = memref.subview %x[0, %t] [100, 1] [1, 1] : memref<100x64xf32> to memref<100x1xf32, strided<[64, 1], offset: ?>>
    scf.for %i = %c0 to %n step %c1 {
      %r = memref.load %rows[%i] : memref<?xi32>
      %row = arith.index_cast %r : i32 to index
      %old = memref.load %column[%row, %c0] : memref<100x1xf32, strided<[64, 1], offset: ?>>
      %v = memref.load %u[%i, %t] : memref<?x64xf32>
      %sum = arith.addf %old, %v : f32
      memref.store %sum, %column[%row, %c0] : memref<100x1xf32, strided<[64, 1], offset: ?>>
    }
    gpu.return
  }
}

// -----

// Behind a write of a thread each of them reads for itself.
// CHECK-LABEL: llvm.func internal @w_written_region_0(
// CHECK: llvm.load {{.*}} -> f32
// CHECK: llvm.store
// CHECK: llvm.load {{.*}} -> f32
// CHECK: llvm.store
// CHECK-LABEL: llvm.func internal @w_written_thread(
// CHECK-COUNT-1: llvm.load {{.*}} -> f32
// CHECK-NOT: llvm.load
// CHECK: llvm.call @w_written_region_0(
gpu.module @w {
  gpu.func @written(%x: memref<64xf32>, %last: memref<1xf32>, %n: index) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    scf.for %i = %c0 to %n step %c1 {
      %before = memref.load %last[%c0] : memref<1xf32>
      %v = memref.load %x[%t] : memref<64xf32>
      %a = arith.addf %v, %before : f32
      memref.store %a, %x[%t] : memref<64xf32>
      %behind = memref.load %last[%c0] : memref<1xf32>
      %b = arith.mulf %a, %behind : f32
      memref.store %b, %x[%t] : memref<64xf32>
    }
    gpu.return
  }
}

// -----

// What a reduction of the subgroups becomes writes, too.
// CHECK-LABEL: llvm.func internal @r_reduced_region_1(
// CHECK: llvm.load {{.*}} -> i64
gpu.module @r {
  gpu.func @reduced(%x: memref<64xi32>, %n: memref<1xindex>) kernel
      attributes {known_block_size = array<i32: 64, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %s = gpu.subgroup_reduce add %v uniform : (i32) -> i32
    %most = memref.load %n[%c0] : memref<1xindex>
    scf.for %i = %c0 to %most step %c1 {
      gpu.barrier
      memref.store %s, %x[%t] : memref<64xi32>
    }
    gpu.return
  }
}
