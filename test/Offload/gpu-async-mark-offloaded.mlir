// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --gpu-async-mark-offloaded | FileCheck %s
// RUN: gpu-opt %s --gpu-async-mark-offloaded --remarks-filter=gpu-async-mark-offloaded --remark-format=emitRemark 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK

// REMARK-COUNT-4: remark: [Passed] Offloaded | Category:gpu-async-mark-offloaded
// REMARK-NOT: remark

// CHECK: func.func @tensor({{.*}}) attributes {gpu_async.offloaded} {
func.func @tensor(%x: tensor<4xf32>) {
  return
}

// CHECK: func.func @linalg({{.*}}) attributes {gpu_async.offloaded} {
func.func @linalg(%x: memref<4xf32>, %v: f32) {
  linalg.fill ins(%v : f32) outs(%x : memref<4xf32>)
  return
}

// CHECK: func.func @parallel({{.*}}) attributes {gpu_async.offloaded} {
func.func @parallel(%x: memref<4xf32>, %v: f32) {
  affine.parallel (%i) = (0) to (4) {
    memref.store %v, %x[%i] : memref<4xf32>
  }
  return
}

// Work within another op counts.
// CHECK: func.func @nested({{.*}}) attributes {gpu_async.offloaded} {
func.func @nested(%x: memref<4xf32>, %v: f32, %c: i1) {
  scf.if %c {
    scf.forall (%i) in (4) {
      memref.store %v, %x[%i] : memref<4xf32>
    }
  }
  return
}

// A function of numbers has no work, and loses a mark.
// CHECK: func.func @numbers({{.*}}) -> f32 {
func.func @numbers(%x: memref<4xf32>, %i: index) -> f32 attributes {gpu_async.offloaded} {
  %v = memref.load %x[%i] : memref<4xf32>
  return %v : f32
}

// A function that gives a device work itself stays as it is.
// CHECK: func.func @device_work({{.*}}) {
func.func @device_work(%v: f32) {
  %m = gpu.alloc () : memref<4xf32>
  linalg.fill ins(%v : f32) outs(%m : memref<4xf32>)
  gpu.dealloc %m : memref<4xf32>
  return
}

// Kernels call these two.
// CHECK: func.func private @in_kernel({{.*}}) {
func.func private @in_kernel(%x: memref<4xf32>, %v: f32) {
  linalg.fill ins(%v : f32) outs(%x : memref<4xf32>)
  call @by_another(%x, %v) : (memref<4xf32>, f32) -> ()
  return
}
// CHECK: func.func private @by_another({{.*}}) {
func.func private @by_another(%x: memref<4xf32>, %v: f32) {
  linalg.fill ins(%v : f32) outs(%x : memref<4xf32>)
  return
}
func.func @launches(%x: memref<4xf32>, %v: f32) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    func.call @in_kernel(%x, %v) : (memref<4xf32>, f32) -> ()
    gpu.terminator
  }
  return
}

// There is nothing in a declaration.
// CHECK: func.func private @declared(tensor<4xf32>){{$}}
func.func private @declared(tensor<4xf32>)
