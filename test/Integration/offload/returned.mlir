// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A memref argument that is returned is the caller's memory.
// RUN: gpu-runner --device=cpu --check --leak-check=error -e doubled %s --input=5xf32=1 --offload=error | FileCheck %s --check-prefix=DOUBLED
// RUN: gpu-opt %s --gpu-async-offload=device=gpu -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --check --leak-check=error -e doubled %t.gpu.mlir --input=5xf32=1 | FileCheck %s --check-prefix=DOUBLED
// RUN: gpu-runner --device=cpu --check -e empty %s --input=0xi32 | FileCheck %s --check-prefix=EMPTY --allow-empty
// RUN: FileCheck %s --input-file=%t.gpu.mlir

// DOUBLED: result[0]: 5xf32=2 2 2 2 2
// DOUBLED-NEXT: result[1]: i64=5

// CHECK-LABEL: func.func @doubled
// CHECK-SAME: (%[[A:[a-z0-9]+]]: memref<?xf32>)
// CHECK: gpu.memcpy %[[A]],
// CHECK-NOT: clone
// CHECK: return %[[A]], %
func.func @doubled(%a: memref<?xf32>) -> (memref<?xf32>, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, %c0 : memref<?xf32>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %v = memref.load %a[%i] : memref<?xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %a[%i] : memref<?xf32>
  }
  return %a, %n : memref<?xf32>, index
}

// Of an array without elements nothing is registered.
// EMPTY-NOT: error
func.func @empty(%a: memref<?xi32>) {
  %u = memref.cast %a : memref<?xi32> to memref<*xi32>
  gpu.host_register %u : memref<*xi32>
  gpu.host_unregister %u : memref<*xi32>
  return
}
