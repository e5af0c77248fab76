// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program of upstream's own integration test for CUDA (async.execute, whose
// tokens become events and coroutines), through upstream's gpu-async-region.
// Upstream's mlir-runner is not built with sanitizers, so it cannot load our library there.
// UNSUPPORTED: sanitizer
// The object for the cpu device is linked by a program of the system.
// REQUIRES: linker
// RUN: gpu-opt %s --gpu-async-region --gpu-module-to-binary=format=bin --gpu-to-llvm --reconcile-unrealized-casts \
// RUN:   --async-to-async-runtime --async-runtime-ref-counting --convert-async-to-llvm --convert-func-to-llvm \
// RUN:   --convert-arith-to-llvm --convert-cf-to-llvm --finalize-memref-to-llvm --reconcile-unrealized-casts -o %t.mlir
// RUN: env GPU_ASYNC_DEVICE=cpu mlir-runner %t.mlir --entry-point-result=void -O0 \
// RUN:   --shared-libs=%gpuasync_lib/libgpuasync_mgpu.so,%mlir_lib/libmlir_async_runtime.so,%mlir_lib/libmlir_runner_utils.so | FileCheck %s

// CHECK: [84, 84]
module attributes {gpu.container_module} {
  gpu.module @kernels [#gpu_async.cpu] {
    gpu.func @copy(%to: memref<2xi32>, %from: memref<2xi32>) kernel {
      %i = gpu.thread_id x
      %v = memref.load %from[%i] : memref<2xi32>
      memref.store %v, %to[%i] : memref<2xi32>
      gpu.return
    }
    gpu.func @add(%to: memref<2xi32>, %a: memref<2xi32>, %b: memref<2xi32>) kernel {
      %i = gpu.thread_id x
      %x = memref.load %a[%i] : memref<2xi32>
      %y = memref.load %b[%i] : memref<2xi32>
      %v = arith.addi %x, %y : i32
      memref.store %v, %to[%i] : memref<2xi32>
      gpu.return
    }
  }
  func.func private @printMemrefI32(memref<*xi32>)
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %v = arith.constant 42 : i32
    %b0 = memref.alloc() : memref<2xi32>
    %b1 = memref.alloc() : memref<2xi32>
    memref.store %v, %b0[%c0] : memref<2xi32>
    memref.store %v, %b0[%c1] : memref<2xi32>
    %host = memref.cast %b1 : memref<2xi32> to memref<*xi32>
    gpu.host_register %host : memref<*xi32>
    %x, %f0 = async.execute -> !async.value<memref<2xi32>> {
      %d = gpu.alloc () : memref<2xi32>
      gpu.memcpy %d, %b0 : memref<2xi32>, memref<2xi32>
      async.yield %d : memref<2xi32>
    }
    %y, %f1 = async.execute [%x](%f0 as %m: !async.value<memref<2xi32>>) -> !async.value<memref<2xi32>> {
      %d = gpu.alloc () : memref<2xi32>
      gpu.launch_func @kernels::@copy blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
          args(%d : memref<2xi32>, %m : memref<2xi32>)
      async.yield %d : memref<2xi32>
    }
    %z, %f2 = async.execute [%x](%f0 as %m: !async.value<memref<2xi32>>) -> !async.value<memref<2xi32>> {
      %d = gpu.alloc () : memref<2xi32>
      gpu.launch_func @kernels::@copy blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
          args(%d : memref<2xi32>, %m : memref<2xi32>)
      async.yield %d : memref<2xi32>
    }
    %w = async.execute [%y, %z](%f1 as %m: !async.value<memref<2xi32>>, %f2 as %n: !async.value<memref<2xi32>>) {
      gpu.launch_func @kernels::@add blocks in (%c1, %c1, %c1) threads in (%c2, %c1, %c1)
          args(%b1 : memref<2xi32>, %m : memref<2xi32>, %n : memref<2xi32>)
      async.yield
    }
    async.await %w : !async.token
    call @printMemrefI32(%host) : (memref<*xi32>) -> ()
    return
  }
}
