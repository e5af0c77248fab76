// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A constant array is a module of the program, behind those with kernels, which
// functions that reach it load at frame enter; equal arrays have equal hashes,
// others do not. An argument that stays is found by its address and its bytes.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="on-error=status" --canonicalize --cse | FileCheck %s

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [4]>] images [#gpu_async.image<ptx, "sm_90" data = "p">]

// CHECK-DAG: llvm.mlir.global private constant @v(
// CHECK-DAG: llvm.mlir.global private constant @w(
memref.global "private" constant @v : memref<2x3xcomplex<f32>> = dense<(1.0, 2.0)>
memref.global "private" constant @w : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
memref.global "private" constant @same : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
memref.global "private" constant @unused : memref<4xf32> = dense<2.0>

// CHECK-LABEL: llvm.func @constants(
func.func @constants(%s: !gpu_async.stream, %y: memref<4xf32>) {
  // CHECK: llvm.mlir.addressof @_gpuasync_function_constants
  // CHECK: llvm.call @gpuasync_frame_enter
  // CHECK: llvm.call @gpuasync_constant(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) : (!llvm.ptr, i32, i32, i32) -> !llvm.ptr
  %w = gpu_async.constant @w : memref<4xf32>
  // CHECK: llvm.call @gpuasync_memcpy(
  gpu_async.memcpy on %s %y, %w : memref<4xf32>, memref<4xf32>
  func.call @callee(%s) : (!gpu_async.stream) -> ()
  return
}

func.func private @callee(%s: !gpu_async.stream) {
  %v = gpu_async.constant @v : memref<2x3xcomplex<f32>>
  %same = gpu_async.constant @same : memref<4xf32>
  %m = gpu_async.alloc on %s () : memref<2x3xcomplex<f32>>
  gpu_async.memcpy on %s %m, %v : memref<2x3xcomplex<f32>>, memref<2x3xcomplex<f32>>
  %n = gpu_async.alloc on %s () : memref<4xf32>
  gpu_async.memcpy on %s %n, %same : memref<4xf32>, memref<4xf32>
  return
}

// CHECK-LABEL: llvm.func @resident(
// CHECK-SAME: %[[ALIGNED:[^:]+]]: !llvm.ptr, %[[OFFSET:[^:]+]]: i64, %[[N:[^:]+]]: i64, %{{[^:]+}}: i64,
func.func @resident(%x: memref<?xf32, strided<[1], offset: ?>>, %s: !gpu_async.stream, %y: memref<?xf32>) {
  // CHECK: [[BYTES:%.+]] = llvm.call @gpuasync_extent(
  // CHECK: [[START:%.+]] = llvm.getelementptr {{(inbounds )?}}%[[ALIGNED]][%[[OFFSET]]]
  // CHECK: [[COPY:%.+]] = llvm.call @gpuasync_resident(%{{.+}}, %{{.+}}, [[START]], [[BYTES]], %{{.+}}) : (!llvm.ptr, i32, !llvm.ptr, i64, i32) -> !llvm.ptr
  %c = gpu_async.resident %x : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32>
  // CHECK: llvm.call @gpuasync_memcpy(%{{.+}}, %{{.+}}, %{{.+}}, [[COPY]], [[BYTES]],
  gpu_async.memcpy on %s %y, %c : memref<?xf32>, memref<?xf32>
  return
}

// Those that are used, in the order of their use, behind the kernels; each is its
// whole memory.
// CHECK: @_gpuasync_modules_of_constants(dense<[1, 2, 3]> : tensor<3xi32>)
// CHECK: @_gpuasync_images_w
// CHECK: llvm.mlir.constant([[LOW:-?[0-9]+]] : i64)
// CHECK: llvm.mlir.constant(16 : i64)
// CHECK: llvm.mlir.addressof @w
// CHECK: llvm.mlir.constant(6 : i32)
// CHECK: llvm.return
// CHECK: @_gpuasync_images_v
// CHECK-NOT: [[LOW]] : i64
// CHECK: llvm.mlir.constant(48 : i64)
// CHECK: @_gpuasync_images_same
// CHECK: [[LOW]] : i64
// CHECK-NOT: @_gpuasync_images_unused
