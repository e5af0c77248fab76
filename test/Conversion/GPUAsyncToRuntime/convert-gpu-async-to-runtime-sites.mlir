// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of sites: file, op, line, column, id, module, kernel, reserved. The
// texts come behind the numbers, and a site names them by their distance from
// itself.
// RUN: gpu-opt %s --convert-gpu-async-to-runtime --canonicalize | FileCheck %s

gpu_async.binary @other kernels [#gpu_async.kernel<"g", params = []>] images [#gpu_async.image<ptx, "sm_90" data = "p">]
gpu_async.binary @k kernels [#gpu_async.kernel<"e", params = []>, #gpu_async.kernel<"f", params = []>] images [#gpu_async.image<ptx, "sm_90" data = "p">]

// What cannot be told apart is one: the waits of one op; and the texts.
// CHECK-LABEL: llvm.func @sites(
// CHECK-DAG:     %[[CREATE:.+]] = llvm.mlir.constant(2 : i32)
// CHECK-DAG:     %[[WAIT:.+]] = llvm.mlir.constant(3 : i32)
// CHECK-DAG:     %[[LAUNCH:.+]] = llvm.mlir.constant(4 : i32)
// CHECK:         llvm.call @gpuasync_stream_create({{.*}}, %[[CREATE]])
// CHECK:         llvm.call @gpuasync_stream_wait({{.*}}, %[[WAIT]])
// CHECK:         llvm.call @gpuasync_stream_wait({{.*}}, %[[WAIT]])
// CHECK:         llvm.call @gpuasync_launch({{[^,]*}}, {{[^,]*}}, %[[LAUNCH]], {{.*}}gpu_async.id = 9
func.func @sites(%a: !gpu_async.event, %b: !gpu_async.event) {
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create loc("f.mlir":5:3)
  gpu_async.stream.wait %s, %a loc("f.mlir":7:3)
  gpu_async.stream.wait %s, %b loc("f.mlir":7:3)
  gpu_async.launch on %s id(9) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) loc("g.mlir":8:3)
  gpu_async.event.destroy %a loc("f.mlir":7:3)
  gpu_async.event.destroy %b loc("f.mlir":7:3)
  gpu_async.stream.destroy %s loc(unknown)
  return
} loc("f.mlir":4:1)

// The table goes on over functions.
// CHECK-LABEL: llvm.func @another(
// CHECK-DAG:     %[[CREATE:.+]] = llvm.mlir.constant(2 : i32)
// CHECK-DAG:     %[[DESTROY:.+]] = llvm.mlir.constant(7 : i32)
// CHECK:         llvm.call @gpuasync_stream_create({{.*}}, %[[CREATE]])
// CHECK:         llvm.call @gpuasync_stream_destroy({{.*}}, %[[DESTROY]])
func.func @another() {
  %s = gpu_async.stream.create loc("f.mlir":5:3)
  gpu_async.stream.destroy %s loc("f.mlir":6:3)
  return
}

// Eight sites of 32 bytes: the texts of the first begin 256 bytes after it.
// CHECK:       llvm.mlir.global internal constant @_gpuasync_sites() {{.*}}!llvm.struct<(array<64 x i32>, array<188 x i8>)>
// CHECK-DAG:     %[[POOL:.+]] = llvm.mlir.constant("f.mlir\00token argument 0 of @sites\00token argument 1 of @sites\00gpu_async.stream.create\00gpu_async.stream.wait\00g.mlir\00gpu_async.launch @k::@f\00gpu_async.event.destroy\00\00gpu_async.stream.destroy\00")
// CHECK-DAG:     %[[NUMBERS:.+]] = llvm.mlir.constant(dense<[256, 263, 4, 1, -1, 0, 0, 0, 224, 258, 4, 1, -1, 0, 0, 0, 192, 253, 5, 3, -1, 0, 0, 0, 160, 245, 7, 3, -1, 0, 0, 0, 235, 242, 8, 3, 9, 1, 1, 0, 96, 234, 7, 3, -1, 0, 0, 0, 226, 227, 0, 0, -1, 0, 0, 0, 32, 195, 6, 3, -1, 0, 0, 0]> : tensor<64xi32>)
// CHECK:         llvm.insertvalue %[[NUMBERS]], %{{.*}}[0]
// CHECK:         llvm.insertvalue %[[POOL]], %{{.*}}[1]
// CHECK:       @_gpuasync_program()
// CHECK-DAG:     llvm.mlir.addressof @_gpuasync_sites
// CHECK-DAG:     llvm.mlir.constant(8 : i32)
