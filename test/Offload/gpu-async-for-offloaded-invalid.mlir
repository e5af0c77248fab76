// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// It stops at the first function that fails. The later one would fail, too.
// RUN: gpu-opt %s --pass-pipeline="builtin.module(gpu-async-for-offloaded{pipelines=func.func(gpu-async-launch-tiles{device=gpu})})" -verify-diagnostics

func.func @first(%n: index, %v: f32, %i: index) attributes {gpu_async.offloaded} {
  scf.forall (%k) in (4) {
    // expected-error @below {{a kernel cannot allocate memory whose size has no bound that is known before the program runs}}
    %m = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %m[%i] : memref<?xf32>
  }
  return
}
func.func @later(%n: index, %v: f32, %i: index) attributes {gpu_async.offloaded} {
  scf.forall (%k) in (4) {
    %m = memref.alloc(%n) : memref<?xf32>
    memref.store %v, %m[%i] : memref<?xf32>
  }
  return
}
