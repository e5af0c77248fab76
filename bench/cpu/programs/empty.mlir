// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches of an empty kernel, one block of 32 threads: ten in a chain with one
// host wait at the end, and one that has finished when the host goes on.

module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @empty() kernel {
      gpu.return
    }
  }

  func.func @chain10() {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %t0 = gpu.wait async
    %t1 = gpu.launch_func async [%t0] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t2 = gpu.launch_func async [%t1] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t3 = gpu.launch_func async [%t2] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t4 = gpu.launch_func async [%t3] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t5 = gpu.launch_func async [%t4] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t6 = gpu.launch_func async [%t5] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t7 = gpu.launch_func async [%t6] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t8 = gpu.launch_func async [%t7] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t9 = gpu.launch_func async [%t8] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    %t10 = gpu.launch_func async [%t9] @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    gpu.wait [%t10]
    return
  }

  func.func @sync1() {
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    gpu.launch_func @kernels::@empty blocks in (%c1, %c1, %c1) threads in (%c32, %c1, %c1)
    return
  }
}
