// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ten kernels, each on what the one before made, each into a buffer of its own.
// bench/cuda/GraphPrograms.cpp has the same by hand.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    // y = x * factor + term
    gpu.func @step(%x: memref<1024xf32>, %y: memref<1024xf32>, %factor: f32, %term: f32) kernel {
      %b = gpu.block_id x
      %t = gpu.thread_id x
      %size = arith.constant 256 : index
      %first = arith.muli %b, %size : index
      %i = arith.addi %first, %t : index
      %v = memref.load %x[%i] : memref<1024xf32>
      %m = arith.mulf %v, %factor : f32
      %s = arith.addf %m, %term : f32
      memref.store %s, %y[%i] : memref<1024xf32>
      gpu.return
    }
  }

  func.func @steps10(%in: memref<1024xf32>, %out: memref<1024xf32>) {
    %c1 = arith.constant 1 : index
    %grid = arith.constant 4 : index
    %size = arith.constant 256 : index
    %factor0 = arith.constant 0.5 : f32
    %factor1 = arith.constant 0.25 : f32
    %factor2 = arith.constant 0.75 : f32
    %term0 = arith.constant 1.0 : f32
    %term1 = arith.constant 2.0 : f32
    %term2 = arith.constant 3.0 : f32
    %term3 = arith.constant 4.0 : f32
    %term4 = arith.constant 5.0 : f32
    %r0 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%in : memref<1024xf32>, %r0 : memref<1024xf32>, %factor0 : f32, %term0 : f32)
    %r1 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r0 : memref<1024xf32>, %r1 : memref<1024xf32>, %factor1 : f32, %term1 : f32)
    gpu.dealloc %r0 : memref<1024xf32>
    %r2 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r1 : memref<1024xf32>, %r2 : memref<1024xf32>, %factor2 : f32, %term2 : f32)
    gpu.dealloc %r1 : memref<1024xf32>
    %r3 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r2 : memref<1024xf32>, %r3 : memref<1024xf32>, %factor0 : f32, %term3 : f32)
    gpu.dealloc %r2 : memref<1024xf32>
    %r4 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r3 : memref<1024xf32>, %r4 : memref<1024xf32>, %factor1 : f32, %term4 : f32)
    gpu.dealloc %r3 : memref<1024xf32>
    %r5 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r4 : memref<1024xf32>, %r5 : memref<1024xf32>, %factor2 : f32, %term0 : f32)
    gpu.dealloc %r4 : memref<1024xf32>
    %r6 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r5 : memref<1024xf32>, %r6 : memref<1024xf32>, %factor0 : f32, %term1 : f32)
    gpu.dealloc %r5 : memref<1024xf32>
    %r7 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r6 : memref<1024xf32>, %r7 : memref<1024xf32>, %factor1 : f32, %term2 : f32)
    gpu.dealloc %r6 : memref<1024xf32>
    %r8 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r7 : memref<1024xf32>, %r8 : memref<1024xf32>, %factor2 : f32, %term3 : f32)
    gpu.dealloc %r7 : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%r8 : memref<1024xf32>, %out : memref<1024xf32>, %factor0 : f32, %term4 : f32)
    gpu.dealloc %r8 : memref<1024xf32>
    return
  }
}
