// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// With a CUDA toolkit: a cubin besides the PTX, and math from libdevice.
// The toolkit is NVIDIA's own and need not be there.
// REQUIRES: ptxas
// RUN: gpu-opt %s -gpu-async-lower-kernels=targets=nvptx:sm_90 | FileCheck %s
// RUN: gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=none" | FileCheck %s --check-prefix=NONE
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_90 ptxas=/no/such/ptxas" 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not gpu-opt %s -gpu-async-lower-kernels="targets=nvptx:sm_20" 2>&1 | FileCheck %s --check-prefix=OLD

// CHECK: #gpu_async.image<ptx, "sm_90"
// CHECK-SAME: #gpu_async.image<cubin, "sm_90" data = "\7FELF
// NONE: #gpu_async.image<ptx, "sm_90"
// NONE-NOT: cubin
// MISSING: [[#@LINE+2]]:1: error: ptxas=/no/such/ptxas cannot be executed
// OLD: [[#@LINE+1]]:1: error: gpu.module @k for nvptx:sm_20: {{.*}}ptxas failed (ptxas=none leaves PTX only): {{.*}}sm_20
gpu.module @k {
  gpu.func @f(%x: memref<f64>) kernel {
    %v = memref.load %x[] : memref<f64>
    %e = math.exp %v : f64
    memref.store %e, %x[] : memref<f64>
    gpu.return
  }
}
