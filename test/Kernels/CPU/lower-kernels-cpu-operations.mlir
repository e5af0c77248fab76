// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels=targets=cpu | FileCheck %s

// A kernel says how many operations its threads run at most, and what they keep
// on the stack. Loops of known length are counted; both sides of a branch are.
// CHECK: #gpu_async.cpu_kernel<@k_known_block stack = 64 operations = [[COUNT:[0-9]+]] : i64>
gpu.module @k {
  gpu.func @known(%x: memref<?xf32>, %at: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c100 = arith.constant 100 : index
    %own = memref.alloca() : memref<16xf32>
    %v = memref.load %x[%at] : memref<?xf32>
    scf.for %i = %c0 to %c100 step %c1 {
      %j = arith.andi %i, %at : index
      memref.store %v, %own[%j] : memref<16xf32>
    }
    %w = memref.load %own[%at] : memref<16xf32>
    memref.store %w, %x[%at] : memref<?xf32>
    gpu.return
  }
}

// -----

// Others are computed of a launch: sizes, numbers, the ids' bounds.
// CHECK-LABEL: llvm.func internal @k_tile_operations(
// CHECK: %[[ROWS:.*]] = llvm.sitofp
// CHECK: llvm.intr.minimum(%[[ROWS]], %{{.*}})
// CHECK: llvm.return %{{.*}} : f64
// CHECK-LABEL: llvm.func internal @k_tile_operations_count(%arg0: !llvm.ptr, %arg1: !llvm.ptr) -> f64
// CHECK: llvm.call @k_tile_operations(
// CHECK: #gpu_async.cpu_kernel<@k_tile_block operations = @k_tile_operations_count>
gpu.module @k {
  gpu.func @tile(%x: memref<?x?xf32>, %n: i32) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %rows = memref.dim %x, %c0 : memref<?x?xf32>
    %block = gpu.block_id x
    %first = arith.muli %block, %c64 : index
    %left = arith.subi %rows, %first : index
    %own = arith.minsi %left, %c64 : index
    %columns = arith.index_cast %n : i32 to index
    scf.for %i = %c0 to %own step %c1 {
      %row = arith.addi %first, %i : index
      scf.for %j = %c0 to %columns step %c1 {
        memref.store %zero, %x[%row, %j] : memref<?x?xf32>
      }
    }
    gpu.return
  }
}

// -----

// No bound is known of a loop that ends where memory says, nor of one that
// begins there; -1 bytes: an address is kept, so that each round may need its
// own memory.
// CHECK: #gpu_async.cpu_kernel<@k_loaded_block>
// CHECK-SAME: #gpu_async.cpu_kernel<@k_begins_block>
// CHECK-SAME: #gpu_async.cpu_kernel<@k_kept_block stack = -1 operations =
gpu.module @k {
  gpu.func @loaded(%x: memref<?xf32>, %ends: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %t = gpu.thread_id x
    %end = memref.load %ends[%t] : memref<?xindex>
    scf.for %i = %c0 to %end step %c1 {
      memref.store %zero, %x[%i] : memref<?xf32>
    }
    gpu.return
  }
  gpu.func @begins(%x: memref<?xf32>, %ends: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %begin = memref.load %ends[%c0] : memref<?xindex>
    scf.for %i = %begin to %c1 step %c1 {
      memref.store %zero, %x[%i] : memref<?xf32>
    }
    gpu.return
  }
  gpu.func @kept(%x: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    scf.for %i = %c0 to %c9 step %c1 {
      %own = memref.alloca() : memref<4xf32>
      %address = memref.extract_aligned_pointer_as_index %own : memref<4xf32> -> index
      memref.store %address, %x[%i] : memref<?xindex>
    }
    gpu.return
  }
}
