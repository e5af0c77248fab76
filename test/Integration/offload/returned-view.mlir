// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A view of a memref argument that is returned is one of the caller's memory where
// the device reaches that; where it is copied, it would be one of the copy.
// RUN: gpu-runner --device=cpu --leak-check=error -e part %s --input=5xf32=1 | FileCheck %s
// RUN: not gpu-opt %s --gpu-async-offload=device=gpu 2>&1 | FileCheck %s --check-prefix=GPU
// CHECK: result[0]: 2xf32=1 1
// GPU: returned-view.mlir:[[@LINE+6]]:3: error: takes memory that a kernel touches and that would be on the device: copy it to memory of its own first
func.func @part(%a: memref<5xf32>) -> memref<2xf32, strided<[1], offset: 1>> {
  %b = memref.alloc() : memref<5xf32>
  linalg.map {math.exp} ins(%a : memref<5xf32>) outs(%b : memref<5xf32>)
  memref.dealloc %b : memref<5xf32>
  %s = memref.subview %a[1] [2] [1] : memref<5xf32> to memref<2xf32, strided<[1], offset: 1>>
  return %s : memref<2xf32, strided<[1], offset: 1>>
}
