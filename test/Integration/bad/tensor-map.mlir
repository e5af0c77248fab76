// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tensor map on a device that has none, and one of a shape that no device has.
// RUN: not gpu-runner --device=cpu %s 2>&1 | FileCheck %s
// RUN: %if tma %{ not gpu-runner --device=cuda -e odd %s 2>&1 | FileCheck %s --check-prefix=ODD %}

!map = !nvgpu.tensormap.descriptor<tensor = memref<4x8xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
func.func @main() {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = gpu.alloc () : memref<37x52xf32>
  %u = memref.cast %x : memref<37x52xf32> to memref<*xf32>
  // CHECK: tensor-map.mlir:[[@LINE+1]]:8: error: nvgpu.tma.create.descriptor: this device has no tensor map descriptors
  %d = nvgpu.tma.create.descriptor %u box[%c4, %c8] : memref<*xf32> -> !map
  gpu.dealloc %x : memref<37x52xf32>
  return
}

func.func @odd() {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %x = gpu.alloc () : memref<37x53xf32>
  %u = memref.cast %x : memref<37x53xf32> to memref<*xf32>
  // ODD: tensor-map.mlir:[[@LINE+1]]:8: error: nvgpu.tma.create.descriptor: cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE (1){{.*}}; a tensor of 37 x 53 elements at {{.*}} with outer strides of (212) bytes, a box of 4 x 8: address and outer strides must be multiples of 16 bytes
  %d = nvgpu.tma.create.descriptor %u box[%c4, %c8] : memref<*xf32> -> !map
  gpu.dealloc %x : memref<37x53xf32>
  return
}
