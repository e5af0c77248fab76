// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// More private memory than a thread has is an error at what asks for most of
// it, also in functions that kernels call, on each target.
// RUN: gpu-opt %s -split-input-file -gpu-async-lower-kernels=targets=cpu -verify-diagnostics
// RUN: sed 's/4194304 are allowed on the cpu device/524288 are allowed on NVIDIA devices/' %s > %t.mlir
// RUN: gpu-opt %t.mlir -split-input-file "-gpu-async-lower-kernels=targets=nvptx:sm_80 ptxas=none" -verify-diagnostics

gpu.module @k {
  // expected-note @below {{the kernel}}
  gpu.func @own(%x: memref<?xf32>, %at: index) kernel {
    // expected-error @below {{kernel @own has 5600000 bytes of private memory for each thread, where 4194304 are allowed on the cpu device: allocate it before the launch, with a part for each thread}}
    %large = memref.alloca() : memref<1000000xf32>
    %small = memref.alloca() : memref<400000xf32>
    %v = memref.load %x[%at] : memref<?xf32>
    memref.store %v, %large[%at] : memref<1000000xf32>
    memref.store %v, %small[%at] : memref<400000xf32>
    %w = memref.load %large[%at] : memref<1000000xf32>
    %u = memref.load %small[%at] : memref<400000xf32>
    memref.store %w, %x[%at] : memref<?xf32>
    memref.store %u, %x[%at] : memref<?xf32>
    gpu.return
  }
}

// -----

gpu.module @k {
  func.func @f(%x: memref<?xf32>, %at: index) {
    // expected-error @below {{kernel @calls has 6400000 bytes of private memory}}
    %large = memref.alloca() : memref<800000xf32>
    %v = memref.load %x[%at] : memref<?xf32>
    memref.store %v, %large[%at] : memref<800000xf32>
    %w = memref.load %large[%at] : memref<800000xf32>
    memref.store %w, %x[%at] : memref<?xf32>
    return
  }
  // expected-note @below {{the kernel}}
  gpu.func @calls(%x: memref<?xf32>, %at: index) kernel {
    func.call @f(%x, %at) : (memref<?xf32>, index) -> ()
    func.call @f(%x, %at) : (memref<?xf32>, index) -> ()
    gpu.return
  }
}
