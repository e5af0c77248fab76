// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exchanges between threads that GPUs are not given.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none" -verify-diagnostics

gpu.module @k {
  gpu.func @f(%x: memref<64xi32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    // expected-error @+1 {{'gpu.all_reduce' op that is not 'uniform' is not supported for nvptx:sm_90; where all threads of the block reach it, say so}}
    %r = gpu.all_reduce add %v {} : (i32) -> (i32)
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @f(%x: memref<64xi32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    // expected-error @+1 {{op that is not 'uniform' is not supported for nvptx:sm_90; where all threads of the subgroup reach it, say so}}
    %r = gpu.subgroup_reduce add %v : (i32) -> i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @f(%x: memref<64xf32>) kernel
      attributes {known_block_size = array<i32: 33, 1, 1>} {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    // expected-error @+1 {{op in subgroups that may lack threads is not supported for nvptx:sm_90; it is where the kernel's known_block_size is a multiple of 32 threads}}
    %r = gpu.subgroup_reduce add %v uniform : (f32) -> f32
    memref.store %r, %x[%t] : memref<64xf32>
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @f(%x: memref<64xi32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    // expected-error @+1 {{op from the first active lane is not supported for nvptx:sm_90}}
    %r = gpu.subgroup_broadcast %v, first_active_lane : i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @divergent(%x: memref<64xi32>, %n: index) kernel {
    %from = arith.constant 1 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %c = arith.cmpi ult, %t, %n : index
    scf.if %c {
      // expected-error @+1 {{op that only some threads of a subgroup may reach is not supported for nvptx:sm_90; use gpu.shuffle where the subgroup's first 'width' lanes do}}
      %r = gpu.subgroup_broadcast %v, specific_lane %from : i32
      memref.store %r, %x[%t] : memref<64xi32>
    }
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @calls(%x: memref<64xi32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    %r = func.call @anywhere(%v) : (i32) -> i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
  func.func private @anywhere(%v: i32) -> i32 {
    %from = arith.constant 1 : i32
    // expected-error @+1 {{op that only some threads of a subgroup may reach is not supported for nvptx:sm_90}}
    %r = gpu.subgroup_broadcast %v, specific_lane %from : i32
    return %r : i32
  }
}

// -----

gpu.module @k {
  gpu.func @f(%x: memref<64xi128>, %from: i32) kernel {
    %w = arith.constant 32 : i32
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi128>
    // expected-error @+1 {{is not supported for nvptx:sm_90: values of type 'i128'}}
    %r, %valid = gpu.shuffle idx %v, %from, %w : i128
    memref.store %r, %x[%t] : memref<64xi128>
    gpu.return
  }
}

// -----

gpu.module @k {
  gpu.func @f(%x: memref<64xi32>) kernel {
    %t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xi32>
    // expected-error @+1 {{is wider than a subgroup of 32 threads (nvptx:sm_90)}}
    %r, %valid = gpu.rotate %v, 1, 64 : i32
    memref.store %r, %x[%t] : memref<64xi32>
    gpu.return
  }
}
