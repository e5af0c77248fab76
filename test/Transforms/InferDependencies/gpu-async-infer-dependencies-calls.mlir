// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What declarations of library functions say, and what calls of others wait for.
// RUN: gpu-opt %s --gpu-async-infer-dependencies --canonicalize | FileCheck %s

func.func private @copy(memref<8xf32> {llvm.readonly}, memref<8xf32> {llvm.writeonly})
func.func private @update(memref<8xf32> {llvm.readonly}, memref<8xf32>)
func.func private @unknown(memref<8xf32>)
func.func private @pointer(memref<8xf32> {llvm.readonly}, !llvm.ptr {llvm.readonly})
func.func private @draw(memref<8xf32> {llvm.writeonly}) attributes {gpu_async.serial = "generator"}
func.func private @seed(i64) attributes {gpu_async.serial = "generator"}

// Two that read one buffer are not ordered; one that updates it comes after both.
// CHECK-LABEL: func.func @declared
func.func @declared() {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc
  // CHECK: %[[Z:.*]], %[[TZ:.*]] = gpu_async.alloc
  %x = gpu_async.alloc () : memref<8xf32>
  %y = gpu_async.alloc () : memref<8xf32>
  %z = gpu_async.alloc () : memref<8xf32>
  // CHECK: %[[A:.*]] = gpu_async.call async [%[[TX]], %[[TY]]] @copy(%[[X]]
  gpu_async.call @copy(%x : memref<8xf32>, %y : memref<8xf32>)
  // CHECK: %[[B:.*]] = gpu_async.call async [%[[TX]], %[[TZ]]] @copy(%[[X]]
  gpu_async.call @copy(%x : memref<8xf32>, %z : memref<8xf32>)
  // CHECK: %[[C:.*]] = gpu_async.call async [%[[A]], %[[TX]], %[[B]]] @update(%[[Y]] : memref<8xf32>, %[[X]]
  gpu_async.call @update(%y : memref<8xf32>, %x : memref<8xf32>)
  // CHECK: %[[D:.*]] = gpu_async.dealloc async [%[[C]]] %[[Y]]
  gpu_async.dealloc %y : memref<8xf32>
  // CHECK: %[[E:.*]] = gpu_async.dealloc async [%[[B]]] %[[Z]]
  gpu_async.dealloc %z : memref<8xf32>
  // CHECK: %[[F:.*]] = gpu_async.dealloc async [%[[C]]] %[[X]]
  gpu_async.dealloc %x : memref<8xf32>
  return
}

// Without attributes it comes after all, and all that follows after it.
// CHECK-LABEL: func.func @barrier
func.func @barrier(%v: f32) {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc
  %x = gpu_async.alloc () : memref<8xf32>
  %y = gpu_async.alloc () : memref<8xf32>
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[TX]]]
  gpu_async.memset %x, %v : memref<8xf32>, f32
  // CHECK: %[[B:.*]] = gpu_async.call async [%[[TY]], %[[A]]] @unknown(%[[Y]]
  gpu_async.call @unknown(%y : memref<8xf32>)
  // CHECK: %[[C:.*]] = gpu_async.memset async [%[[B]]] %[[X]]
  gpu_async.memset %x, %v : memref<8xf32>, f32
  gpu_async.dealloc %x : memref<8xf32>
  gpu_async.dealloc %y : memref<8xf32>
  return
}

// A pointer that is read may lead to what another op has written.
// CHECK-LABEL: func.func @pointers
func.func @pointers(%v: f32, %p: !llvm.ptr) {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc
  %x = gpu_async.alloc () : memref<8xf32>
  %y = gpu_async.alloc () : memref<8xf32>
  // CHECK: %[[A:.*]] = gpu_async.memset async [%[[TX]]]
  gpu_async.memset %x, %v : memref<8xf32>, f32
  // CHECK: %[[B:.*]] = gpu_async.call async [%[[TY]], %[[A]]] @pointer(
  gpu_async.call @pointer(%y : memref<8xf32>, %p : !llvm.ptr)
  gpu_async.dealloc %x : memref<8xf32>
  gpu_async.dealloc %y : memref<8xf32>
  return
}

// Of one name they keep their order, whatever they touch.
// CHECK-LABEL: func.func @serial
func.func @serial(%n: i64) {
  // CHECK: %[[X:.*]], %[[TX:.*]] = gpu_async.alloc
  // CHECK: %[[Y:.*]], %[[TY:.*]] = gpu_async.alloc
  %x = gpu_async.alloc () : memref<8xf32>
  %y = gpu_async.alloc () : memref<8xf32>
  // CHECK: %[[A:.*]] = gpu_async.call async [%[[TX]]] @draw(%[[X]]
  gpu_async.call @draw(%x : memref<8xf32>)
  // CHECK: %[[B:.*]] = gpu_async.call async [%[[A]], %[[TY]]] @draw(%[[Y]]
  gpu_async.call @draw(%y : memref<8xf32>)
  // CHECK: %[[C:.*]] = gpu_async.call async [%[[B]]] @seed(
  gpu_async.call @seed(%n : i64)
  gpu_async.dealloc %x : memref<8xf32>
  gpu_async.dealloc %y : memref<8xf32>
  return
}
