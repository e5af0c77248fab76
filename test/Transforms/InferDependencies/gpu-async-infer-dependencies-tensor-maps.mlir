// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A descriptor leads to its tensor: kernels that copy by it read or write that
// memory, and nothing else.
// RUN: gpu-opt %s -gpu-async-infer-dependencies | FileCheck %s

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
gpu.module @k {
  memref.global "private" @tile : memref<8x16xf32, 3> = uninitialized {alignment = 128 : i64}
  gpu.func @load(%d: !map, %out: memref<8x16xf32>) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x16xf32, 3>
    %b = nvgpu.mbarrier.create -> !bar
    nvgpu.tma.prefetch.descriptor %d : !map
    nvgpu.tma.fence.descriptor %d : !map
    nvgpu.tma.async.load %d[%c0, %c0], %b[%c0] to %tile : !map, !bar -> memref<8x16xf32, 3>
    %v = memref.load %tile[%c0, %c0] : memref<8x16xf32, 3>
    memref.store %v, %out[%c0, %c0] : memref<8x16xf32>
    gpu.return
  }
  func.func @put(%d: !map) {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x16xf32, 3>
    nvgpu.tma.async.store %tile to %d[%c0, %c0] : memref<8x16xf32, 3> -> !map
    return
  }
  gpu.func @store(%d: !map) kernel {
    func.call @put(%d) : (!map) -> ()
    gpu.return
  }
  gpu.func @prefetch(%d: !map) kernel {
    nvgpu.tma.prefetch.descriptor %d : !map
    gpu.return
  }
  gpu.func @touch(%x: memref<64x64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0, %c0] : memref<64x64xf32>
    memref.store %v, %x[%c0, %c0] : memref<64x64xf32>
    gpu.return
  }
}

// Two loads of one tensor at the same time; a write after both.
// CHECK-LABEL: func @loads
func.func @loads(%x: memref<64x64xf32> {llvm.noalias}, %a: memref<8x16xf32> {llvm.noalias},
                 %b: memref<8x16xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  // CHECK: [[UP:%.+]] = gpu_async.launch async @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<64x64xf32>)
  %u = memref.cast %x : memref<64x64xf32> to memref<*xf32>
  // The descriptor itself waits for nothing.
  // CHECK-NOT: gpu_async.wait
  // CHECK: nvgpu.tma.create.descriptor
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  // CHECK-NOT: gpu_async.wait
  // CHECK: [[A:%.+]] = gpu_async.launch async {{\[}}[[UP]]{{\]}} @k::@load
  gpu_async.launch @k::@load blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map, %a : memref<8x16xf32>)
  // CHECK: [[B:%.+]] = gpu_async.launch async {{\[}}[[UP]]{{\]}} @k::@load
  gpu_async.launch @k::@load blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map, %b : memref<8x16xf32>)
  // CHECK: gpu_async.launch async {{\[}}[[UP]], [[A]], [[B]]{{\]}} @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<64x64xf32>)
  return
}

// Stores go one after the other, also through a helper; prefetching orders nothing.
// CHECK-LABEL: func @stores
func.func @stores(%x: memref<64x64xf32> {llvm.noalias}, %h: memref<64x64xf32>) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %u = memref.cast %x : memref<64x64xf32> to memref<*xf32>
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  // CHECK: [[A:%.+]] = gpu_async.launch async @k::@store
  gpu_async.launch @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // CHECK: [[P:%.+]] = gpu_async.launch async @k::@prefetch
  gpu_async.launch @k::@prefetch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // CHECK: [[B:%.+]] = gpu_async.launch async {{\[}}[[A]]{{\]}} @k::@store
  gpu_async.launch @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // CHECK: gpu_async.memcpy async {{\[}}[[B]]{{\]}}
  gpu_async.memcpy %h, %x : memref<64x64xf32>, memref<64x64xf32>
  return
}

// Boxes stay within their tensor: views that do not overlap are independent.
// CHECK-LABEL: func @views
func.func @views(%x: memref<64x64xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %top = memref.subview %x[0, 0][32, 64][1, 1] : memref<64x64xf32> to memref<32x64xf32, strided<[64, 1]>>
  %low = memref.subview %x[32, 0][32, 64][1, 1] : memref<64x64xf32> to memref<32x64xf32, strided<[64, 1], offset: 2048>>
  %u = memref.cast %top : memref<32x64xf32, strided<[64, 1]>> to memref<*xf32>
  %v = memref.cast %low : memref<32x64xf32, strided<[64, 1], offset: 2048>> to memref<*xf32>
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  %e = nvgpu.tma.create.descriptor %v box[%c8, %c16] : memref<*xf32> -> !map
  // CHECK: [[A:%.+]] = gpu_async.launch async @k::@store
  gpu_async.launch @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // CHECK: [[B:%.+]] = gpu_async.launch async @k::@store
  gpu_async.launch @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%e : !map)
  // CHECK: gpu_async.launch async {{\[}}[[A]], [[B]]{{\]}} @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<64x64xf32>)
  return
}

// Either of two; one that comes from nobody knows where.
// CHECK-LABEL: func @chosen
func.func @chosen(%x: memref<64x64xf32> {llvm.noalias}, %y: memref<64x64xf32> {llvm.noalias},
                  %z: memref<64x64xf32> {llvm.noalias}, %c: i1) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %u = memref.cast %x : memref<64x64xf32> to memref<*xf32>
  %v = memref.cast %y : memref<64x64xf32> to memref<*xf32>
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  %e = nvgpu.tma.create.descriptor %v box[%c8, %c16] : memref<*xf32> -> !map
  %either = arith.select %c, %d, %e : !map
  // CHECK: [[A:%.+]] = gpu_async.launch async @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<64x64xf32>)
  // CHECK: [[Z:%.+]] = gpu_async.launch async @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%z : memref<64x64xf32>)
  // CHECK: [[S:%.+]] = gpu_async.launch async {{\[}}[[A]]{{\]}} @k::@store
  gpu_async.launch @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%either : !map)
  // CHECK: [[T:%.+]] = gpu_async.launch async {{\[}}[[S]]{{\]}} @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<64x64xf32>)
  %unknown = func.call @elsewhere() : () -> !map
  // CHECK: call @elsewhere
  // CHECK: [[U:%.+]] = gpu_async.launch async{{.*}} @k::@store
  gpu_async.launch @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%unknown : !map)
  // CHECK: gpu_async.launch async {{\[}}[[U]]{{\]}} @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%z : memref<64x64xf32>)
  return
}
func.func private @elsewhere() -> !map

// What callers say of a private function's arguments holds for descriptors too.
// CHECK-LABEL: func private @passed
func.func private @passed(%d: !map, %x: memref<64x64xf32>, %y: memref<64x64xf32>) {
  %c1 = arith.constant 1 : index
  // CHECK: [[A:%.+]] = gpu_async.launch async @k::@store
  gpu_async.launch @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // CHECK: gpu_async.launch async {{\[}}[[A]]{{\]}} @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<64x64xf32>)
  // CHECK: gpu_async.launch async @k::@touch
  gpu_async.launch @k::@touch blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%y : memref<64x64xf32>)
  return
}
func.func @passes(%x: memref<64x64xf32> {llvm.noalias}, %y: memref<64x64xf32> {llvm.noalias}) {
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %u = memref.cast %x : memref<64x64xf32> to memref<*xf32>
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  func.call @passed(%d, %x, %y) : (!map, memref<64x64xf32>, memref<64x64xf32>) -> ()
  return
}

// Stack memory is not left before the copies by a descriptor are done.
// CHECK-LABEL: func @stack
func.func @stack() {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %x = memref.alloca() : memref<64x64xf32>
  %u = memref.cast %x : memref<64x64xf32> to memref<*xf32>
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  // CHECK: [[A:%.+]] = gpu_async.launch async @k::@store
  gpu_async.launch @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // CHECK: gpu_async.wait {{\[}}[[A]]{{\]}}
  // CHECK: return
  return
}
}
