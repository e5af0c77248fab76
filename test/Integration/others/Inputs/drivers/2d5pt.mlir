// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host's side of xdsl/2d5pt.mlir, which compare.py puts into its module: one
// step of heat diffusion on 256 x 256 points with a border of two.
func.func @run(%u: memref<260x260xf32>, %v: memref<260x260xf32>) {
  %back = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %per_step = arith.constant 64.0 : f32
  %near = arith.constant 16.0 : f32
  %here = arith.constant -32.0 : f32
  %diffusivity = arith.constant 0.75 : f32
  %source = arith.constant 0.5 : f32
  %step = arith.constant 0.015625 : f32
  %from = gpu.alloc () : memref<260x260xf32>
  %to = gpu.alloc () : memref<260x260xf32>
  %unused = gpu.alloc () : memref<260x260xindex>
  gpu.memcpy %from, %u : memref<260x260xf32>, memref<260x260xf32>
  gpu.memcpy %to, %v : memref<260x260xf32>, memref<260x260xf32>
  gpu.launch_func @apply_kernel_kernel::@apply_kernel_kernel blocks in (%c2, %c256, %c1) threads in (%c128, %c1, %c1)
    args(%c128 : index, %c0 : index, %c1 : index, %from : memref<260x260xf32>, %back : index, %per_step : f32, %near : f32,
         %here : f32, %diffusivity : f32, %source : f32, %step : f32, %to : memref<260x260xf32>, %unused : memref<260x260xindex>)
  gpu.memcpy %v, %to : memref<260x260xf32>, memref<260x260xf32>
  gpu.dealloc %from : memref<260x260xf32>
  gpu.dealloc %to : memref<260x260xf32>
  gpu.dealloc %unused : memref<260x260xindex>
  return
}
