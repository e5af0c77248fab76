// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A descriptor is made on the host at once; work by it comes after the
// allocation of its tensor, and the host waits for it where it touches that.
// RUN: gpu-opt %s -convert-gpu-to-gpu-async | FileCheck %s

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>

module attributes {gpu.container_module} {
gpu.module @k {
  memref.global "private" @tile : memref<8x16xf32, 3> = uninitialized {alignment = 128 : i64}
  gpu.func @store(%d: !map) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x16xf32, 3>
    nvgpu.tma.async.store %tile to %d[%c0, %c0] : memref<8x16xf32, 3> -> !map
    gpu.return
  }
}

// CHECK-LABEL: func @allocated
func.func @allocated() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // CHECK: %{{.+}}, [[T:%.+]] = gpu_async.alloc async
  %x, %t = gpu.alloc async () : memref<64x64xf32>
  %u = memref.cast %x : memref<64x64xf32> to memref<*xf32>
  // CHECK-NOT: gpu_async.wait [
  // CHECK: nvgpu.tma.create.descriptor
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  // CHECK: [[R:%.+]] = gpu_async.wait async
  %r = gpu.wait async
  // CHECK: [[L:%.+]] = gpu_async.launch async {{\[}}[[R]], [[T]]{{\]}} @k::@store
  %l = gpu.launch_func async [%r] @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // CHECK: gpu_async.dealloc async {{\[}}[[L]]{{\]}}
  %f = gpu.dealloc async [%l] %x : memref<64x64xf32>
  gpu.wait [%f]
  return
}

// CHECK-LABEL: func @host
func.func @host() -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = gpu.alloc host_shared () : memref<64x64xf32>
  %y = gpu.alloc () : memref<64x64xf32>
  %u = memref.cast %x : memref<64x64xf32> to memref<*xf32>
  %v = memref.cast %y : memref<64x64xf32> to memref<*xf32>
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  %r = gpu.wait async
  // CHECK: [[L:%.+]] = gpu_async.launch async {{.*}} @k::@store
  %l = gpu.launch_func async [%r] @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // Making one, of this tensor or another, is no reason to wait.
  // CHECK-NOT: gpu_async.wait [
  // CHECK: nvgpu.tma.create.descriptor
  // CHECK-NOT: gpu_async.wait [
  // CHECK: nvgpu.tma.create.descriptor
  %e = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  %g = nvgpu.tma.create.descriptor %v box[%c8, %c16] : memref<*xf32> -> !map
  // Nobody else waits for the store.
  // CHECK: gpu_async.wait {{\[}}[[L]]{{\]}}
  // CHECK-NEXT: memref.load
  %w = memref.load %x[%c0, %c0] : memref<64x64xf32>
  return %w : f32
}
}
