// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A library's function is called between two entries of the runtime, unless the
// first says no, with its arguments as in C.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime | FileCheck %s

// CHECK: llvm.func @axpy(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64, !llvm.ptr, !llvm.ptr, i64, i64, i64, f32, i64, !llvm.ptr) -> i32
func.func private @axpy(memref<?xf32> {llvm.readonly}, memref<?xf32, 1>, f32, index, !llvm.ptr) attributes {gpu_async.nonblocking}

// CHECK-LABEL: llvm.func @calls(
// CHECK:         %[[S:.+]] = llvm.call @gpuasync_stream_create(
// CHECK:         llvm.store %[[S]], %[[STREAMS:.+]] : !llvm.ptr, !llvm.ptr
// CHECK:         %[[CALL:.+]] = llvm.call @gpuasync_call_begin(%[[FRAME:.+]], %[[STREAMS]], %{{.+}}, %[[SITE:.+]]) {gpu_async.after = array<i64: 3>, gpu_async.id = 4 : i64} : (!llvm.ptr, !llvm.ptr, i32, i32) -> !llvm.ptr
// CHECK:         %[[OK:.+]] = llvm.icmp "ne" %[[CALL]], %{{.+}} : !llvm.ptr
// CHECK-NEXT:    llvm.cond_br %[[OK]], ^[[DO:bb[0-9]+]], ^[[REST:bb[0-9]+]]
// CHECK:       ^[[DO]]:
// CHECK-NEXT:    %[[RESULT:.+]] = llvm.call @axpy(%[[CALL]], %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}})
// CHECK-NEXT:    llvm.call @gpuasync_call_end(%[[FRAME]], %[[RESULT]], %[[SITE]])
// CHECK-NEXT:    llvm.br ^[[REST]]
// CHECK:       ^[[REST]]:
// What is taken apart for a call serves what comes behind it.
// CHECK-NOT:     extractvalue
// CHECK:         llvm.call @gpuasync_call_begin(
// CHECK:         llvm.call @axpy(
// CHECK:         llvm.call @gpuasync_stream_synchronize(
func.func @calls(%x: memref<?xf32>, %y: memref<?xf32, 1>, %a: f32, %n: index, %p: !llvm.ptr) {
  %s = gpu_async.stream.create
  gpu_async.call on %s id(4 after [3]) @axpy(%x : memref<?xf32>, %y : memref<?xf32, 1>, %a : f32, %n : index, %p : !llvm.ptr)
  gpu_async.call on %s @axpy(%x : memref<?xf32>, %y : memref<?xf32, 1>, %a : f32, %n : index, %p : !llvm.ptr)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// One that is replayable the runtime calls, by a function that takes the
// arguments from memory: 8 bytes for each, of which none is left open.
// CHECK: llvm.func @scale(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64, i64, f32, i32) -> i32
func.func private @scale(memref<?xf32>, f32, i32) attributes {gpu_async.nonblocking, gpu_async.replayable}

// CHECK-LABEL: llvm.func @replayable(
// CHECK-DAG:     %[[ARGUMENTS:.+]] = llvm.alloca %{{.+}} x !llvm.array<56 x i8>
// CHECK-DAG:     %[[STREAM:.+]] = llvm.call @gpuasync_stream_create(
// CHECK-DAG:     %[[FUNCTION:.+]] = llvm.mlir.addressof @_gpuasync_unpacked_scale
// CHECK-DAG:     %[[BITS:.+]] = llvm.bitcast %{{.+}} : f32 to i32
// CHECK-DAG:     %[[WORD:.+]] = llvm.zext %[[BITS]] : i32 to i64
// CHECK-DAG:     llvm.store %[[STREAM]], %[[STREAMS:.+]] : !llvm.ptr, !llvm.ptr
// CHECK-DAG:     llvm.store %[[WORD]], %{{.+}} : i64, !llvm.ptr
// CHECK:         llvm.call @gpuasync_call_replayable(%{{.+}}, %[[STREAMS]], %{{.+}}, %[[FUNCTION]], %[[ARGUMENTS]], %{{.+}}, %{{.+}}) {gpu_async.after = array<i64: 0>, gpu_async.id = 1 : i64}
// CHECK-NOT:     llvm.call @scale
// CHECK:         llvm.call @gpuasync_stream_synchronize(
func.func @replayable(%x: memref<?xf32>, %a: f32, %n: i32) {
  %s = gpu_async.stream.create
  gpu_async.call on %s id(1 after [0]) @scale(%x : memref<?xf32>, %a : f32, %n : i32)
  gpu_async.call on %s id(2 after [1]) @scale(%x : memref<?xf32>, %a : f32, %n : i32)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// CHECK:       llvm.func internal @_gpuasync_unpacked_scale(%[[CALL:.+]]: !llvm.ptr, %[[FROM:.+]]: !llvm.ptr) -> i32
// CHECK:         %[[A:.+]] = llvm.load %{{.+}} : !llvm.ptr -> f32
// CHECK:         llvm.getelementptr %[[FROM]][48]
// CHECK:         %[[N:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i32
// CHECK:         %[[RESULT:.+]] = llvm.call @scale(%[[CALL]], %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %[[A]], %[[N]])
// CHECK:         llvm.return %[[RESULT]] : i32

// Errors name the function.
// CHECK: gpu_async.call @axpy
