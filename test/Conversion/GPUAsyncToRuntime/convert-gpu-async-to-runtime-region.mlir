// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Regions: a call for each that is one fragment, and calls around those of what
// is inside else. Each region has sites of its own, also where two are at one
// place of the source. Commands are described in the test of fragments.
// RUN: gpu-opt %s --convert-scf-to-cf --convert-gpu-async-to-runtime=on-error=status | FileCheck %s
// RUN: gpu-opt %s --convert-scf-to-cf --convert-gpu-async-to-runtime=on-error=status --canonicalize --cse | FileCheck %s --check-prefix=CF

gpu_async.binary @k kernels [#gpu_async.kernel<"f", params = []>] images []

// CHECK-LABEL: llvm.func @straight
// CHECK: llvm.call @gpuasync_stream_create
// CHECK-NOT: llvm.br
// CHECK: %[[A:.*]] = llvm.mlir.addressof @_gpuasync_fragment :
// CHECK: llvm.call @gpuasync_region_run(%{{.*}}, %[[A]], %[[LANES:.*]], %[[BLOCK:.*]])
// CHECK: %[[B:.*]] = llvm.mlir.addressof @_gpuasync_fragment_2 :
// CHECK: llvm.call @gpuasync_region_run(%{{.*}}, %[[B]], %[[LANES]], %[[BLOCK]])
// CHECK-NOT: gpuasync_region_
// CHECK: llvm.call @gpuasync_stream_synchronize
// CHECK: @_gpuasync_commands(dense<[1, 0, 0, 2, {{.*}}, 1, 0, 0, 3,
// CHECK: @_gpuasync_fragment()
// CHECK: insertvalue {{.*}}[2]
// CHECK-NEXT: constant(1 : i32)
// CHECK-NEXT: insertvalue {{.*}}[3]
// CHECK: @_gpuasync_commands_1(dense<[1, 0, 0, 5,
// CHECK: @_gpuasync_fragment_2()
// CHECK: insertvalue {{.*}}[2]
// CHECK-NEXT: constant(4 : i32)
// CHECK-NEXT: insertvalue {{.*}}[3]
func.func @straight(%c1: index) {
  %s = gpu_async.stream.create
  gpu_async.region {
    gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) loc("one":1:1)
    gpu_async.launch on %s id(1) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) loc("one":1:1)
  } loc("one":1:1)
  gpu_async.region {
    gpu_async.launch on %s id(2) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) loc("one":1:1)
  } loc("one":1:1)
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return
}

// A loop inside is one of the function's then, with its check of the frame; on
// the way out after an error nothing ends the region.
// CF-LABEL: llvm.func @loop
// CF: llvm.call @gpuasync_region_begin
// CF-NEXT: llvm.br
// CF: llvm.call @gpuasync_region_add
// CF: %[[FAILED:.*]] = llvm.load
// CF: llvm.icmp "ne" %[[FAILED]]
// CF-NEXT: llvm.cond_br %{{.*}} weights([1, 2000]), ^[[ERROR:.*]], ^
// CF: llvm.call @gpuasync_region_end
// CF-NEXT: llvm.br ^[[AFTER:.*]](%[[SUM:.*]] : i64)
// CF: ^[[AFTER]](%[[RESULT:.*]]: i64):
// CF: llvm.call @gpuasync_stream_synchronize
// CF: llvm.store %[[RESULT]], %arg1
// CF: ^[[ERROR]]:
// CF-NEXT: llvm.call @gpuasync_frame_leave
// CF-NEXT: llvm.return
func.func @loop(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %s = gpu_async.stream.create
  %r = gpu_async.region -> index {
    %v = scf.for %i = %c0 to %n step %c1 iter_args(%x = %c0) -> index {
      gpu_async.launch on %s id(0) @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      %y = arith.addi %x, %i : index
      scf.yield %y : index
    }
    gpu_async.yield %v : index
  }
  gpu_async.stream.synchronize %s
  gpu_async.stream.destroy %s idle
  return %r : index
}
