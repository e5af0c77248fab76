// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Races through a descriptor are races on its tensor.
// RUN: gpu-opt %s -gpu-async-print-hazards -o /dev/null 2>&1 | FileCheck %s
// RUN: gpu-opt %s -gpu-async-print-hazards -o /dev/null 2>&1 | count 2

!map = !nvgpu.tensormap.descriptor<tensor = memref<8x16xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>

module attributes {gpu.container_module} {
gpu.module @k {
  memref.global "private" @tile : memref<8x16xf32, 3> = uninitialized {alignment = 128 : i64}
  gpu.func @load(%d: !map) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x16xf32, 3>
    %b = nvgpu.mbarrier.create -> !bar
    nvgpu.tma.async.load %d[%c0, %c0], %b[%c0] to %tile : !map, !bar -> memref<8x16xf32, 3>
    gpu.return
  }
  gpu.func @store(%d: !map) kernel {
    %c0 = arith.constant 0 : index
    %tile = memref.get_global @tile : memref<8x16xf32, 3>
    nvgpu.tma.async.store %tile to %d[%c0, %c0] : memref<8x16xf32, 3> -> !map
    gpu.return
  }
}

func.func @races(%x: memref<64x64xf32> {llvm.noalias}, %h: memref<64x64xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %u = memref.cast %x : memref<64x64xf32> to memref<*xf32>
  %d = nvgpu.tma.create.descriptor %u box[%c8, %c16] : memref<*xf32> -> !map
  // Readers do not race.
  %a = gpu_async.launch async @k::@load blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  %b = gpu_async.memcpy async %h, %x : memref<64x64xf32>, memref<64x64xf32>
  // CHECK: hazard in @races: write-after-read of argument 0: gpu_async.launch at loc("{{.*}}":[[@LINE+1]]:8) is not ordered after gpu_async.memcpy at loc("{{.*}}":[[@LINE-1]]:8)
  %c = gpu_async.launch async [%a] @k::@store blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  // CHECK: hazard in @races: read-after-write of argument 0: gpu_async.launch at loc("{{.*}}":[[@LINE+1]]:8) is not ordered after gpu_async.launch at loc("{{.*}}":[[@LINE-1]]:8)
  %e = gpu_async.launch async [%b] @k::@load blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%d : !map)
  gpu_async.wait [%c, %e]
  return
}
}
