// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tensor map is encoded into stack memory and is a value from there on, which
// launches pass by value at a multiple of 64 bytes.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="on-error=status" --canonicalize --cse | FileCheck %s

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = swizzle_64b, l2promo = l2promo_128b, oob = nan, interleave = none>
!bytes = !nvgpu.tensormap.descriptor<tensor = memref<64xi8, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [4, 128, 8, 128]>] images [#gpu_async.image<ptx, "sm_90" data = "p">]

// CHECK-LABEL: llvm.func @static(
func.func @static(%s: !gpu_async.stream, %x: memref<64x48xf32>, %n: index, %i: i32, %j: i64) {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // CHECK-DAG: [[PARAMS:%.+]] = llvm.alloca %{{.+}} x !llvm.array<384 x i8> {alignment = 16 : i64}
  // CHECK-DAG: [[P64:%.+]] = llvm.getelementptr [[PARAMS]][64]
  // CHECK-DAG: [[P192:%.+]] = llvm.getelementptr [[PARAMS]][192]
  // CHECK-DAG: [[P256:%.+]] = llvm.getelementptr [[PARAMS]][256]
  // CHECK-DAG: [[MAP:%.+]] = llvm.alloca %{{.+}} x !llvm.array<128 x i8> {alignment = 64 : i64}
  // CHECK-DAG: [[FORMAT:%.+]] = llvm.mlir.addressof @_gpuasync_tensor_format :
  // CHECK-DAG: [[FRAME:%.+]] = llvm.alloca %{{.+}} x !llvm.array<512 x i8>
  // CHECK: llvm.call @gpuasync_frame_enter([[FRAME]],
  %u = memref.cast %x : memref<64x48xf32> to memref<*xf32>
  // The cast to an unranked memref is gone, and its stack slot with it.
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.call @gpuasync_tensor_map_encode([[FRAME]], %{{.+}}, [[MAP]], %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, [[FORMAT]], %{{.+}})
  // CHECK: [[D:%.+]] = llvm.load [[MAP]] {alignment = 64 : i64} : !llvm.ptr -> !llvm.array<16 x i64>
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  // CHECK: llvm.call @gpuasync_tensor_map_encode({{.*}}[[FORMAT]],
  // CHECK: [[E:%.+]] = llvm.load [[MAP]]
  %e = nvgpu.tma.create.descriptor %u box[%n, %n] : memref<*xf32> -> !map
  // CHECK: llvm.store [[E]], [[P64]]
  // CHECK: llvm.store %{{.+}}, [[P192]]
  // CHECK: llvm.store [[D]], [[P256]]
  // CHECK: llvm.call @gpuasync_launch
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%i : i32, %e : !map, %j : i64, %d : !map)
  return
}

// Offset, sizes and strides of what is known at run time only.
// CHECK-LABEL: llvm.func @dynamic(
// CHECK-SAME: %[[ALIGNED:[^:]+]]: !llvm.ptr, %[[OFFSET:[^:]+]]: i64, %[[N:[^:]+]]: i64, %[[M:[^:]+]]: i64, %[[S:[^:]+]]: i64, %[[T:[^:]+]]: i64)
func.func @dynamic(%x: memref<?x?xf32, strided<[?, ?], offset: ?>>) {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %u = memref.cast %x : memref<?x?xf32, strided<[?, ?], offset: ?>> to memref<*xf32>
  // CHECK: [[BASE:%.+]] = llvm.getelementptr {{(inbounds )?}}%[[ALIGNED]][%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // CHECK: llvm.store %[[N]], [[SIZES:%.+]] : i64
  // CHECK: llvm.store %[[M]],
  // CHECK: llvm.store %[[S]], [[STRIDES:%.+]] : i64
  // CHECK: llvm.store %[[T]],
  // CHECK: llvm.call @gpuasync_tensor_map_encode(%{{.+}}, %{{.+}}, %{{.+}}, [[BASE]], [[SIZES]], [[STRIDES]],
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  return
}

// Of an unranked memref everything is in memory, the rank too.
// CHECK-LABEL: llvm.func @unranked(
// CHECK-SAME: %[[RANK:[^:]+]]: i64, %[[DESC:[^:]+]]: !llvm.ptr)
func.func @unranked(%x: memref<*xi8>) {
  %c64 = arith.constant 64 : index
  // CHECK: [[AT1:%.+]] = llvm.getelementptr %[[DESC]][1] : (!llvm.ptr) -> !llvm.ptr, i64
  // CHECK: [[ALIGNED:%.+]] = llvm.load [[AT1]]
  // CHECK: [[AT2:%.+]] = llvm.getelementptr %[[DESC]][2] : (!llvm.ptr) -> !llvm.ptr, i64
  // CHECK: [[OFFSET:%.+]] = llvm.load [[AT2]]
  // CHECK: [[BASE:%.+]] = llvm.getelementptr [[ALIGNED]]{{\[}}[[OFFSET]]{{\]}} : (!llvm.ptr, i64) -> !llvm.ptr, i8
  // CHECK: [[SIZES:%.+]] = llvm.getelementptr %[[DESC]][3] : (!llvm.ptr) -> !llvm.ptr, i64
  // CHECK: [[STRIDES:%.+]] = llvm.getelementptr [[SIZES]][%[[RANK]]] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  // CHECK: [[RANK32:%.+]] = llvm.trunc %[[RANK]] : i64 to i32
  // CHECK: llvm.call @gpuasync_tensor_map_encode(%{{.+}}, %{{.+}}, %{{.+}}, [[BASE]], [[SIZES]], [[STRIDES]], [[RANK32]],
  %d = nvgpu.tma.create.descriptor %x box[%c64] : memref<*xi8> -> !bytes
  return
}

// A value in loops and calls: each keeps its own, though all are encoded in one
// place.
// CHECK-LABEL: llvm.func @loop(
func.func @loop(%s: !gpu_async.stream, %x: memref<64x48xf32>, %n: index, %i: i32, %j: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // CHECK: llvm.alloca %{{.+}} x !llvm.array<128 x i8> {alignment = 64 : i64}
  %u = memref.cast %x : memref<64x48xf32> to memref<*xf32>
  %first = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  cf.br ^head(%c0, %first : index, !map)
// CHECK: ^{{.+}}({{.+}}: i64, [[OLD:%.+]]: !llvm.array<16 x i64>):
^head(%k: index, %old: !map):
  %more = arith.cmpi slt, %k, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  // CHECK-NOT: llvm.alloca
  // CHECK: llvm.call @gpuasync_tensor_map_encode
  // CHECK: [[NEW:%.+]] = llvm.load %{{.+}} {alignment = 64 : i64}
  %new = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  // CHECK: llvm.call @same([[FRAME:%.+]], [[NEW]]) : (!llvm.ptr, !llvm.array<16 x i64>) -> !llvm.array<16 x i64>
  %same = func.call @same(%new) : (!map) -> !map
  // CHECK: llvm.store [[OLD]],
  gpu_async.launch on %s @k::@f blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%i : i32, %old : !map, %j : i64, %same : !map)
  %next = arith.addi %k, %c1 : index
  cf.br ^head(%next, %same : index, !map)
^exit:
  return
}
func.func private @same(%d: !map) -> !map {
  %s = gpu_async.stream.create
  gpu_async.stream.destroy %s
  return %d : !map
}

// One format for equal ones: f32, rank 2, swizzle 64 bytes, L2 128 bytes, NaN.
// CHECK: llvm.mlir.global internal constant @_gpuasync_tensor_format(dense<[7, 2, 0, 2, 2, 1]> : tensor<6xi32>)
// CHECK-NOT: dense<[7, 2, 0, 2, 2, 1]>
// CHECK: llvm.mlir.global internal constant @_gpuasync_tensor_format_{{[0-9]+}}(dense<[0, 1, 0, 0, 0, 0]> : tensor<6xi32>)
// CHECK-NOT: dense<[7, 2, 0, 2, 2, 1]>

// The kernel's table has the same offsets.
// CHECK: llvm.mlir.global internal constant @_gpuasync_offsets_k_f(dense<[0, 64, 192, 256]> : tensor<4xi32>)
