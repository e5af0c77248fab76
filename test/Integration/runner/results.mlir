// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What becomes of a function of tensors: results of constant sizes are memory
// that the caller passes (gpu_async.result), others are returned and freed by it.
// DEFINE: %{run} = gpu-runner --device=cpu %s

// RUN: %{run} --input=3xf32=1,2,3 --input=7 | FileCheck %s
// RUN: rm -rf %t.cache
// RUN: env GPU_ASYNC_CACHE=on GPU_ASYNC_CACHE_DIR=%t.cache %{run} --input=3xf32=1,2,3 --input=7 --stats 2>&1 | FileCheck %s --check-prefixes=CHECK,MISS
// RUN: env GPU_ASYNC_CACHE=on GPU_ASYNC_CACHE_DIR=%t.cache %{run} --input=3xf32=1,2,3 --input=7 --stats 2>&1 | FileCheck %s --check-prefixes=CHECK,HIT
// CHECK: result[0]: 3xf32=2 4 6
// CHECK-NEXT: result[1]: i32=7
// CHECK-NEXT: result[2]: f64=3
// MISS: "program": "miss"
// HIT: "program": "hit"

// Each call gets the memory as if new, and all of it knows its end.
// RUN: %{run} --input=3xf32=1,2,3 --input=7 --repeat=3 --expect=3xf32=2,4,6 --expect=7 --expect=result2=3 | FileCheck %s --check-prefix=EQUAL
// EQUAL: result[0]: error 0
// EQUAL-NEXT: result[1]: error 0
// EQUAL-NEXT: result[2]: error 0
// RUN: %{run} --check --input=3xf32=1,2,3 --input=7 | FileCheck %s
// RUN: not %{run} -e behind 2>&1 | FileCheck %s --check-prefix=BEHIND
// BEHIND: error: gpu_async.memcpy: the destination exceeds result 0 (2xi32): 12 bytes at offset 0 of 8
// RUN: %{run} -e left | FileCheck %s --check-prefix=LEFT
// LEFT: result[0]: 2xf32={{-?}}nan {{-?}}nan
// RUN: not %{run} --input=3xf32=1,2,3 2>&1 | FileCheck %s --check-prefix=COUNT
// COUNT: error: @main(memref<?xf32>, i32) takes 2 arguments, but 1 --input were given
// RUN: %{run} -e complex | FileCheck %s --check-prefix=COMPLEX
// COMPLEX: result[0]: i1=1
// COMPLEX-NEXT: result[1]: complex<f32>=1-2j
// COMPLEX-NEXT: result[2]: i32=3

// RUN: not %{run} -e twice 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: results.mlir:[[@LINE+1]]:1: error: {{.*}}argument 1 of type 'memref<2xf32>', gpu_async.result = 0 : i64, cannot be the memory of a result
func.func @twice(%x: memref<2xf32> {gpu_async.result = 0 : i64}, %y: memref<2xf32> {gpu_async.result = 0 : i64}) {
  return
}
// RUN: not %{run} -e dynamic 2>&1 | FileCheck %s --check-prefix=DYNAMIC
// DYNAMIC: error: {{.*}}argument 0 of type 'memref<?xf32>', gpu_async.result = 0 : i64, cannot be the memory of a result
func.func @dynamic(%x: memref<?xf32> {gpu_async.result = 0 : i64}) {
  return
}
// RUN: not %{run} -e number 2>&1 | FileCheck %s --check-prefix=NUMBER
// NUMBER: error: {{.*}}has 1 results, but an argument with gpu_async.result = 1
func.func @number(%x: memref<f32> {gpu_async.result = 1 : i64}) {
  return
}

func.func @main(%sum: memref<f64> {gpu_async.result = 2 : i64}, %x: memref<?xf32>,
                %y: memref<3xf32> {gpu_async.result = 0 : i64, llvm.noalias}, %n: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %three = arith.constant 3.0 : f64
  scf.for %i = %c0 to %c3 step %c1 {
    %f = memref.load %x[%i] : memref<?xf32>
    %g = arith.addf %f, %f : f32
    memref.store %g, %y[%i] : memref<3xf32>
  }
  memref.store %three, %sum[] : memref<f64>
  return %n : i32
}
func.func @left(%x: memref<2xf32> {gpu_async.result = 0 : i64}) {
  return
}
func.func @behind(%x: memref<2xi32> {gpu_async.result = 0 : i64}) {
  %y = gpu.alloc () : memref<3xi32>
  %z = memref.reinterpret_cast %x to offset: [0], sizes: [3], strides: [1] : memref<2xi32> to memref<3xi32>
  gpu.memcpy %z, %y : memref<3xi32>, memref<3xi32>
  gpu.dealloc %y : memref<3xi32>
  return
}
// Results lie as in a struct of C.
func.func @complex() -> (i1, complex<f32>, i32) {
  %true = arith.constant true
  %n = arith.constant 3 : i32
  %z = complex.constant [1.0 : f32, -2.0 : f32] : complex<f32>
  return %true, %z, %n : i1, complex<f32>, i32
}
