// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// math.isinf, isnan, isfinite and isnormal of any type of float, on each target. What
// they compute is in test/Integration/cpu/floats.test.
// RUN: gpu-opt %s --gpu-async-lower-kernels=targets=cpu | FileCheck %s
// RUN: gpu-opt %s --gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none" | FileCheck %s --check-prefix=GPU
// RUN: gpu-opt %s --gpu-async-lower-kernels=targets=amdgcn:gfx90a | FileCheck %s --check-prefix=GPU

// GPU-LABEL: gpu_async.binary @ieee
gpu.module @ieee {
  // CHECK-LABEL: llvm.func internal @ieee_scalars_thread
  gpu.func @scalars(%h: f16, %b: bf16, %s: f32, %d: f64, %out: memref<4xi1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    // The bits without the sign are more than those of infinity.
    // CHECK-DAG: %[[INFINITY:.*]] = llvm.mlir.constant(31744 : i16) : i16
    // CHECK: llvm.icmp "ugt" %{{.*}}, %[[INFINITY]] : i16
    %0 = math.isnan %h : f16
    memref.store %0, %out[%c0] : memref<4xi1>
    // CHECK: llvm.icmp "ule" %{{.*}} : i16
    %1 = math.isfinite %b : bf16
    memref.store %1, %out[%c1] : memref<4xi1>
    // CHECK: llvm.icmp "eq" %{{.*}} : i32
    %2 = math.isinf %s : f32
    memref.store %2, %out[%c2] : memref<4xi1>
    // CHECK: llvm.sub
    // CHECK-NEXT: llvm.icmp "ule" %{{.*}} : i64
    %3 = math.isnormal %d : f64
    memref.store %3, %out[%c3] : memref<4xi1>
    gpu.return
  }

  // CHECK-LABEL: llvm.func internal @ieee_vectors_thread
  gpu.func @vectors(%in: memref<2xvector<2x4xf32>>, %out: memref<2xvector<2x4xi1>>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %v = memref.load %in[%c0] : memref<2xvector<2x4xf32>>
    // CHECK-COUNT-2: llvm.icmp "ule" %{{.*}} : vector<4xi32>
    %0 = math.isnormal %v : vector<2x4xf32>
    memref.store %0, %out[%c0] : memref<2xvector<2x4xi1>>
    // CHECK-COUNT-2: llvm.icmp "eq" %{{.*}} : vector<4xi32>
    %1 = math.isinf %v : vector<2x4xf32>
    memref.store %1, %out[%c1] : memref<2xvector<2x4xi1>>
    gpu.return
  }
}

// Without infinities, and with one number that is not one.
gpu.module @small [#gpu_async.cpu] {
  // CHECK-LABEL: llvm.func internal @small_finite_thread
  gpu.func @finite(%x: f8E4M3FN, %y: f8E4M3FNUZ, %out: memref<3xi1>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    // CHECK-DAG: %[[FALSE:.*]] = llvm.mlir.constant(false) : i1
    // CHECK-DAG: %[[LARGEST:.*]] = llvm.mlir.constant(126 : i8) : i8
    // CHECK-DAG: %[[NAN:.*]] = llvm.mlir.constant(-128 : i8) : i8
    // CHECK: %[[BYTE:.*]] = llvm.zext %[[FALSE]] : i1 to i8
    // CHECK: llvm.store %[[BYTE]]
    %0 = math.isinf %x : f8E4M3FN
    memref.store %0, %out[%c0] : memref<3xi1>
    // CHECK: llvm.icmp "ugt" %{{.*}}, %[[LARGEST]] : i8
    %1 = math.isnan %x : f8E4M3FN
    memref.store %1, %out[%c1] : memref<3xi1>
    // CHECK: llvm.icmp "eq" %{{.*}}, %[[NAN]] : i8
    %2 = math.isnan %y : f8E4M3FNUZ
    memref.store %2, %out[%c2] : memref<3xi1>
    gpu.return
  }
}
