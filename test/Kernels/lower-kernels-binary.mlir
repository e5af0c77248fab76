// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A ready gpu.binary becomes images; the kernels come from its metadata, else
// from the launches, with unknown parameters.
// RUN: gpu-opt %s -gpu-async-lower-kernels | FileCheck %s

// CHECK: gpu_async.binary @b
// CHECK-SAME: kernels [#gpu_async.kernel<"f", params = [8, 4]>]
// CHECK-SAME: images [#gpu_async.image<ptx, "sm_80" data = "text">, #gpu_async.image<cubin, "sm_90" data = "bytes">]
gpu.binary @b [
  #gpu.object<#nvvm.target<chip = "sm_80">, kernels = #gpu.kernel_table<[#gpu.kernel_metadata<"f", !llvm.func<void (ptr, i32)>>]>, assembly = "text\00">,
  #gpu.object<#nvvm.target<chip = "sm_90">, bin = "bytes">]

// CHECK: gpu_async.binary @c
// CHECK-SAME: kernels [#gpu_async.kernel<"g">]
// CHECK-SAME: images [#gpu_async.image<fatbin, "sm_90" data = "fat">]
gpu.binary @c [#gpu.object<#nvvm.target<chip = "sm_90">, "fat">]
func.func @main() {
  %c1 = arith.constant 1 : index
  %t = gpu_async.launch async @c::@g blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  return
}
