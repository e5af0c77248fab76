// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes that are open in the types, but not in what the function does with them.
// RUN: rm -rf %t.cache
// DEFINE: %{run} = env GPU_ASYNC_CACHE=on GPU_ASYNC_CACHE_DIR=%t.cache gpu-runner --device=cpu %s

// RUN: not %{run} --input=2x3xf32 --input=4x5xf32 --input=2x5xf32 2>&1 | FileCheck %s --check-prefix=ROWS
// ROWS: error: --input 1 of 3: '4x5xf32' has the size 4 in dimension 0, but linalg.matmul at {{.*}}sizes.mlir:[[@LINE+11]]:3 needs 3, as in dimension 1 of --input 0
// RUN: not %{run} --input=2x3xf32 --input=random:1:3x5 --input=2x6xf32 2>&1 | FileCheck %s --check-prefix=COLUMNS
// COLUMNS: error: --input 2 of 3: '2x6xf32' has the size 6 in dimension 1, but linalg.matmul at {{.*}} needs 5, as in dimension 1 of --input 1
// RUN: %{run} --input=2x3xf32=1 --input=3x5xf32=1 --input=2x5xf32 --output=arg2=- --stats 2>&1 | FileCheck %s --check-prefixes=FITS,MISS
// FITS: arg[2]: 2x5xf32=[3 3 3 3 3][3 3 3 3 3]
// MISS: "program": "miss"
// RUN: %{run} --input=0x3xf32 --input=3x5xf32 --input=0x5xf32 --stats 2>&1 | FileCheck %s --check-prefix=HIT
// HIT: "program": "hit"
// RUN: not %{run} --input=2x3xf32 --input=4x5xf32 --input=2x5xf32 2>&1 | FileCheck %s --check-prefix=CACHED
// CACHED: error: --input 1 of 3: '4x5xf32' has the size 4 in dimension 0, but linalg.matmul at
func.func @main(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// RUN: not %{run} -e constant --input=3xf32 2>&1 | FileCheck %s --check-prefix=CONSTANT
// CONSTANT: error: --input 0 of 1: '3xf32' has the size 3 in dimension 0, but linalg.exp at {{.*}} needs 4{{$}}
func.func @constant(%a: memref<?xf32>, %b: memref<4xf32> {gpu_async.result = 0 : i64}) {
  linalg.exp ins(%a : memref<?xf32>) outs(%b : memref<4xf32>)
  return
}

// What no call runs for certain says nothing.
// RUN: %{run} -e maybe --input=3xf32 --input=4xf32 --input=0
func.func @maybe(%a: memref<?xf32>, %b: memref<?xf32>, %c: i1) {
  scf.if %c {
    linalg.exp ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)
  }
  return
}
