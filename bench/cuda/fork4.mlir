// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One kernel, four branches of two kernels on what it made, and the sum of theirs; a
// buffer for each. Nothing says that the branches are independent.
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
    gpu.func @sum4(%a: memref<1024xf32>, %b: memref<1024xf32>, %c: memref<1024xf32>, %d: memref<1024xf32>, %y: memref<1024xf32>) kernel {
      %block = gpu.block_id x
      %t = gpu.thread_id x
      %size = arith.constant 256 : index
      %first = arith.muli %block, %size : index
      %i = arith.addi %first, %t : index
      %va = memref.load %a[%i] : memref<1024xf32>
      %vb = memref.load %b[%i] : memref<1024xf32>
      %vc = memref.load %c[%i] : memref<1024xf32>
      %vd = memref.load %d[%i] : memref<1024xf32>
      %ab = arith.addf %va, %vb : f32
      %abc = arith.addf %ab, %vc : f32
      %abcd = arith.addf %abc, %vd : f32
      memref.store %abcd, %y[%i] : memref<1024xf32>
      gpu.return
    }
  }

  func.func @fork4(%in: memref<1024xf32>, %out: memref<1024xf32>) {
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
    %root = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%in : memref<1024xf32>, %root : memref<1024xf32>, %factor0 : f32, %term0 : f32)
    %a0 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%root : memref<1024xf32>, %a0 : memref<1024xf32>, %factor1 : f32, %term1 : f32)
    %b0 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%a0 : memref<1024xf32>, %b0 : memref<1024xf32>, %factor2 : f32, %term2 : f32)
    gpu.dealloc %a0 : memref<1024xf32>
    %a1 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%root : memref<1024xf32>, %a1 : memref<1024xf32>, %factor0 : f32, %term3 : f32)
    %b1 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%a1 : memref<1024xf32>, %b1 : memref<1024xf32>, %factor1 : f32, %term4 : f32)
    gpu.dealloc %a1 : memref<1024xf32>
    %a2 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%root : memref<1024xf32>, %a2 : memref<1024xf32>, %factor2 : f32, %term0 : f32)
    %b2 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%a2 : memref<1024xf32>, %b2 : memref<1024xf32>, %factor0 : f32, %term1 : f32)
    gpu.dealloc %a2 : memref<1024xf32>
    %a3 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%root : memref<1024xf32>, %a3 : memref<1024xf32>, %factor1 : f32, %term2 : f32)
    %b3 = gpu.alloc () : memref<1024xf32>
    gpu.launch_func @kernels::@step blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%a3 : memref<1024xf32>, %b3 : memref<1024xf32>, %factor2 : f32, %term3 : f32)
    gpu.dealloc %a3 : memref<1024xf32>
    gpu.dealloc %root : memref<1024xf32>
    gpu.launch_func @kernels::@sum4 blocks in (%grid, %c1, %c1) threads in (%size, %c1, %c1)
        args(%b0 : memref<1024xf32>, %b1 : memref<1024xf32>, %b2 : memref<1024xf32>, %b3 : memref<1024xf32>, %out : memref<1024xf32>)
    gpu.dealloc %b0 : memref<1024xf32>
    gpu.dealloc %b1 : memref<1024xf32>
    gpu.dealloc %b2 : memref<1024xf32>
    gpu.dealloc %b3 : memref<1024xf32>
    return
  }
}
