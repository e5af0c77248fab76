// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A straight-line function with both ways to report errors, and the tables of
// its program.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime --verify-roundtrip | FileCheck %s --check-prefixes=ABORT,CHECK
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="on-error=status" | FileCheck %s --check-prefixes=STATUS,CHECK
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="aot-destructor" | FileCheck %s --check-prefix=AOT
// RUN: gpu-opt %s --convert-gpu-async-to-runtime="on-error=status packed-wrappers" | mlir-translate --mlir-to-llvmir | opt -S -passes=verify -o /dev/null

// CHECK-NOT: gpu_async.binary
gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = [8, 8, 8, 8, 8, 4]>] images [
  #gpu_async.image<ptx, "sm_90" data = "ptx text">,
  #gpu_async.image<cpu, "" functions = [#gpu_async.cpu_kernel<@k_f_block workgroup = 64 may_block = true>]>]
llvm.func internal @k_f_block(!llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {sym_visibility = "private"} {
^bb0(%ctx: !llvm.ptr, %params: !llvm.ptr, %workgroup: !llvm.ptr):
  llvm.return
}

// ABORT-LABEL: llvm.func @main(
// ABORT-SAME:    ) -> i32
// STATUS-LABEL: llvm.func @main(
// STATUS-SAME:    %[[OUT:[a-z0-9]+]]: !llvm.ptr) -> !llvm.ptr
// CHECK:         %[[FRAME:.+]] = llvm.alloca %{{.*}} x !llvm.array<512 x i8> {alignment = 16 : i64}
// CHECK:         %[[FUNCTION:.+]] = llvm.mlir.addressof @_gpuasync_function_main
// CHECK:         %[[ENTERED:.+]] = llvm.call @gpuasync_frame_enter(%[[FRAME]], %[[FUNCTION]])
// CHECK:         %[[FAILED:.+]] = llvm.icmp "ne" %[[ENTERED]]
// CHECK:         llvm.cond_br %[[FAILED]] weights([1, 2000]), ^[[ERROR:bb[0-9]+]], ^
// CHECK:         %[[STREAM:.+]] = llvm.call @gpuasync_stream_create(%[[FRAME]], %[[DEVICE:[^ ]+]], %{{.*}})
// CHECK:         %[[MEMORY:.+]] = llvm.call @gpuasync_alloc(%[[FRAME]], %[[DEVICE]], %[[STREAM]],
// CHECK-SAME:      -> !llvm.ptr
// CHECK:         llvm.call @gpuasync_memcpy(%[[FRAME]], %[[STREAM]],
// CHECK:         llvm.call @gpuasync_launch(%[[FRAME]], %[[STREAM]], %{{.*}}, %{{.*}}) {gpu_async.after = array<i64: 1, 2>, gpu_async.id = 3 : i64}
// CHECK:         llvm.call @gpuasync_memcpy(%[[FRAME]], %[[STREAM]],
// CHECK:         llvm.call @gpuasync_dealloc(%[[FRAME]], %[[DEVICE]], %[[STREAM]],
// CHECK:         %[[WAITED:.+]] = llvm.call @gpuasync_stream_synchronize(%[[FRAME]],
// CHECK:         %[[FAILED2:.+]] = llvm.icmp "ne" %[[WAITED]]
// CHECK:         llvm.cond_br %[[FAILED2]] weights([1, 2000]), ^[[ERROR]], ^
// CHECK:         llvm.call @gpuasync_stream_destroy(%[[FRAME]], %[[STREAM]],
// ABORT:         llvm.call @gpuasync_frame_leave_or_abort(%[[FRAME]])
// ABORT:         llvm.return %{{.*}} : i32
// ABORT:       ^[[ERROR]]:
// ABORT:         llvm.call @gpuasync_frame_leave_or_abort(%[[FRAME]])
// ABORT-NEXT:    llvm.unreachable
// STATUS:        %[[LEFT:.+]] = llvm.call @gpuasync_frame_leave(%[[FRAME]])
// STATUS:        %[[OK:.+]] = llvm.icmp "eq" %[[LEFT]]
// STATUS:        llvm.cond_br %[[OK]]
// STATUS:        llvm.store %{{.*}}, %[[OUT]] : i32, !llvm.ptr
// STATUS:        llvm.return %[[LEFT]] : !llvm.ptr
// STATUS:      ^[[ERROR]]:
// STATUS-NEXT:   %[[STATUS:.+]] = llvm.call @gpuasync_frame_leave(%[[FRAME]])
// STATUS-NEXT:   llvm.return %[[STATUS]] : !llvm.ptr
func.func @main(%host: memref<?xf32>) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %i = arith.constant 7 : i32
  %n = memref.dim %host, %c0 : memref<?xf32>
  %s = gpu_async.stream.create
  %x = gpu_async.alloc on %s (%n) : memref<?xf32, 1>
  gpu_async.memcpy on %s %x, %host : memref<?xf32, 1>, memref<?xf32>
  gpu_async.launch on %s id(3 after [1, 2]) @k::@f blocks in (%n, %c1, %c1)
    threads in (%c32, %c1, %c1) args(%x : memref<?xf32, 1>, %i : i32)
  gpu_async.memcpy on %s %host, %x : memref<?xf32>, memref<?xf32, 1>
  gpu_async.dealloc on %s %x : memref<?xf32, 1>
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return %i : i32
}

// The tables.
// CHECK-DAG: @_gpuasync_offsets_k_f(dense<[0, 8, 16, 24, 32, 40]> : tensor<6xi32>)
// CHECK-DAG: @_gpuasync_sizes_k_f(dense<[8, 8, 8, 8, 8, 4]> : tensor<6xi32>)
// CHECK-DAG: @_gpuasync_modules_of_main(dense<0> : tensor<1xi32>)
// CHECK-DAG: llvm.mlir.constant("{{.*}}\00gpu_async.launch @k::@f\00{{.*}}")
// CHECK-DAG: llvm.mlir.global internal unnamed_addr constant @_gpuasync_image_k("ptx text\00") {addr_space = 0 : i32, alignment = 16 : i64}
// CHECK-DAG: llvm.mlir.addressof @k_f_block
// CHECK-DAG: llvm.mlir.global internal @_gpuasync_slot()
// CHECK-DAG: llvm.mlir.global external constant @_gpuasync_program()

// AOT:     llvm.mlir.global internal constant @_gpuasync_program()
// AOT:     llvm.func internal @_gpuasync_release()
// AOT:       llvm.mlir.addressof @_gpuasync_program
// AOT:       llvm.call @gpuasync_program_release_or_abort
// AOT:     llvm.mlir.global_dtors dtors = [@_gpuasync_release], priorities = [65535 : i32]
