// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file --gpu-async-report-host-work -verify-diagnostics | FileCheck %s
// RUN: gpu-opt %s -split-input-file --gpu-async-report-host-work=place=off 2>&1 | FileCheck %s --check-prefix=OFF --implicit-check-not=warning:
// RUN: not gpu-opt %s -split-input-file --gpu-async-report-host-work=mode=error 2>&1 >/dev/null | FileCheck %s --check-prefix=ERROR

// ERROR: [[@LINE+6]]:3: error: runs on the host: no kernel can be made of it
// OFF: [[@LINE+5]]:3: remark: runs on the host
// The mark goes.
// CHECK: func.func @marked(%{{.*}}: memref<4xf32>, %{{.*}}: f32) {
func.func @marked(%x: memref<4xf32>, %v: f32) attributes {gpu_async.offloaded} {
  // expected-remark @below {{runs on the host: no kernel can be made of it}}
  linalg.fill ins(%v : f32) outs(%x : memref<4xf32>)
  return
}

// -----

// ERROR: [[@LINE+6]]:3: error: runs on the host
func.func @device_work(%x: memref<4xf32>, %v: f32) {
  // expected-note @below {{the function gives the device work itself, so the rest of it is taken as it is: move what kernels are to be made of into a function of its own}}
  %m = gpu.alloc () : memref<4xf32>
  gpu.dealloc %m : memref<4xf32>
  // expected-remark @below {{runs on the host: no kernel can be made of it}}
  linalg.fill ins(%v : f32) outs(%x : memref<4xf32>)
  return
}

// -----

// Kernels do it, and what they call.
func.func @launches(%x: memref<4xf32>, %v: f32, %c: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c, %gy = %c, %gz = %c) threads(%tx, %ty, %tz) in (%sx = %c, %sy = %c, %sz = %c) {
    linalg.fill ins(%v : f32) outs(%x : memref<4xf32>)
    func.call @called(%x, %v) : (memref<4xf32>, f32) -> ()
    gpu.terminator
  }
  return
}
func.func private @called(%x: memref<4xf32>, %v: f32) {
  linalg.fill ins(%v : f32) outs(%x : memref<4xf32>)
  return
}

// -----

// expected-warning @below {{argument 0 is to stay on the device (gpu_async.resident), but no kernel that is made of linalg ops, tensors or parallel loops reads it}}
func.func @resident(%x: memref<4xf32> {gpu_async.resident}) {
  return
}
