// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The nvptx target without a CUDA toolkit, and several targets in one program.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels="targets=cpu,nvptx:sm_90 ptxas=none libdevice=none" --verify-roundtrip | FileCheck %s

// Several targets: one table of kernels, one image each; the kernels were
// copied before anything of an ISA was in them.
// CHECK: llvm.func internal @k_f_block(
// CHECK: gpu_async.binary @k
// CHECK-SAME: kernels [#gpu_async.kernel<"f", params = [8, 4, 8, 8, 8, 8, 8, 8]>]
// CHECK-SAME: #gpu_async.image<ptx, "sm_80" data = "
// CHECK-SAME: .target sm_80
// CHECK-SAME: .visible .entry f(
// CHECK-SAME: #gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@k_f_block runs = true{{[^>]*}}>]>
// CHECK-SAME: #gpu_async.image<ptx, "sm_90" data = "
// CHECK-SAME: .target sm_90
// CHECK-SAME: .visible .entry f(
// A complex number is one parameter of eight bytes.
// CHECK-SAME: .param .u64 f_param_7
// CHECK-NOT: cubin
gpu.module @k [#nvvm.target<chip = "sm_80">] {
  gpu.func @f(%n: index, %a: f32, %x: memref<?xf32>, %z: complex<f32>) kernel {
    %i = gpu.global_id x
    %re = complex.re %z : complex<f32>
    %v = memref.load %x[%i] : memref<?xf32>
    %p = math.fma %a, %v, %re : f32
    memref.store %p, %x[%i] : memref<?xf32>
    gpu.return
  }
}

// -----

// Expansions take the place of libdevice; printf and assert call what the
// driver has. Device functions are not visible.
// CHECK: #gpu_async.image<ptx, "sm_90" data = "
// CHECK-NOT: __nv_
// CHECK-NOT: _mlir_ciface
// CHECK: vprintf
// CHECK-SAME: __assertfail
// CHECK-SAME: .visible .entry f(
// CHECK-SAME: sqrt.rn.f32
// CHECK-NOT: __nv_
gpu.module @m {
  func.func @helper(%x: f32) -> f32 {
    %e = math.exp %x : f32
    %l = math.log10 %e : f32
    %s = math.sqrt %l : f32
    return %s : f32
  }
  gpu.func @f(%x: memref<f32>) kernel {
    %v = memref.load %x[] : memref<f32>
    %r = func.call @helper(%v) : (f32) -> f32
    %zero = arith.constant 0.0 : f32
    %ok = arith.cmpf oge, %r, %zero : f32
    cf.assert %ok, "negative"
    gpu.printf "%f\n", %r : f32
    memref.store %r, %x[] : memref<f32>
    gpu.return
  }
}

// -----

// Ops that upstream's lowering leaves out.
// CHECK: gpu_async.binary @o
// CHECK-SAME: atom.
gpu.module @o {
  gpu.func @f(%x: memref<?xf32>, %n: memref<?xindex>) kernel {
    %c0 = arith.constant 0 : index
    %size = gpu.subgroup_size : index
    %count = gpu.num_subgroups : index
    %id = gpu.subgroup_id : index
    %a = arith.addi %size, %count : index
    %b = arith.addi %a, %id : index
    memref.store %b, %n[%c0] : memref<?xindex>
    %old = memref.generic_atomic_rmw %x[%c0] : memref<?xf32> {
    ^bb0(%v: f32):
      %w = arith.mulf %v, %v : f32
      memref.atomic_yield %w : f32
    }
    gpu.return
  }
}
