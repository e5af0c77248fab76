// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory that a function is given goes in and out inside of a region. A call of
// a function with device work is a border, and none once it was inlined.
// DEFINE: %{io} = -e f --input=4xf32=1,2,3,4 --input=4xf32 --output= --output=-
// RUN: gpu-runner --device=cpu %s %{io} | FileCheck %s
// RUN: gpu-runner --device=cpu --play=stream --repeat=4 %s %{io} | FileCheck %s
// RUN: gpu-opt --inline %s -o %t.mlir
// RUN: gpu-runner --device=cpu --play=graph --print-ir-after=stream %t.mlir %{io} 2>&1 | FileCheck %s --check-prefixes=IR,CHECK --implicit-check-not=gpu_async.memcpy --implicit-check-not=gpu_async.region
// RUN: gpu-runner --device=cpu --play=auto --repeat=20 %t.mlir %{io} | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda --play=graph --repeat=10 %s %{io} | FileCheck %s %}
// RUN: %if cuda %{ gpu-runner --device=cuda --play=auto --repeat=40 %t.mlir %{io} | FileCheck %s %}

// IR: func.func @f
// IR: gpu_async.region
// IR-NEXT: gpu_async.memcpy
// IR: gpu_async.launch
// IR: gpu_async.launch
// IR: gpu_async.memcpy
// IR-NEXT: }
// IR: gpu_async.stream.synchronize

// CHECK: {{arg.1.}}: 4xf32=4 8 12 16

module attributes {gpu.container_module} {
gpu.module @k {
  gpu.func @twice(%x: memref<4xf32>) kernel {
    %i = gpu.thread_id x
    %v = memref.load %x[%i] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %x[%i] : memref<4xf32>
    gpu.return
  }
}
func.func private @layer(%x: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  gpu.launch_func @k::@twice blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%x : memref<4xf32>)
  return
}
func.func @f(%in: memref<4xf32>, %out: memref<4xf32>) {
  %x = gpu.alloc () : memref<4xf32>
  gpu.memcpy %x, %in : memref<4xf32>, memref<4xf32>
  func.call @layer(%x) : (memref<4xf32>) -> ()
  func.call @layer(%x) : (memref<4xf32>) -> ()
  gpu.memcpy %out, %x : memref<4xf32>, memref<4xf32>
  gpu.dealloc %x : memref<4xf32>
  return
}
}
