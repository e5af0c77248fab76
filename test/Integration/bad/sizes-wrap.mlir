// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes whose product is not the number of elements, and negative ones: an
// error at the op that says the sizes. Nothing is allocated, copied or set.
// RUN: split-file %s %t
// RUN: not gpu-runner --device=cpu -e alloc %t/sizes.mlir --input=4294967296 --input=4294967296 2>&1 | FileCheck %t/sizes.mlir --check-prefix=WRAP
// RUN: not gpu-runner --device=cpu -e alloc %t/sizes.mlir --input=-5 --input=4 2>&1 | FileCheck %t/sizes.mlir --check-prefix=NEGATIVE
// RUN: not gpu-runner --device=cpu -e alloc %t/sizes.mlir --input=0 --input=-1 2>&1 | FileCheck %t/sizes.mlir --check-prefix=ZERO
// RUN: gpu-runner --device=cpu -e alloc %t/sizes.mlir --input=0 --input=4294967296
// RUN: not gpu-runner --device=cpu -e shared %t/sizes.mlir --input=-20 2>&1 | FileCheck %t/sizes.mlir --check-prefix=SHARED
// RUN: not gpu-runner --device=cpu -e copy %t/sizes.mlir --input=4611686018427387904 2>&1 | FileCheck %t/sizes.mlir --check-prefix=COPY
// RUN: not gpu-runner --device=cpu -e fill %t/sizes.mlir --input=2305843009213693952 2>&1 | FileCheck %t/sizes.mlir --check-prefix=FILL
// RUN: not gpu-runner --device=cpu -e fillRows %t/sizes.mlir --input=4294967296 2>&1 | FileCheck %t/sizes.mlir --check-prefix=ROWS
// RUN: not gpu-runner --device=cpu -e register %t/sizes.mlir --input=4611686018427387904 2>&1 | FileCheck %t/sizes.mlir --check-prefix=REGISTER
// RUN: not gpu-runner --device=cpu -e registerUnranked %t/sizes.mlir --input=-3 2>&1 | FileCheck %t/sizes.mlir --check-prefix=UNRANKED
// RUN: not gpu-runner --device=cpu -e host %t/sizes.mlir --input=4 --input=4611686018427387904 2>&1 | FileCheck %t/sizes.mlir --check-prefix=HOST
// RUN: not gpu-runner --device=cpu -e host %t/sizes.mlir --input=4 --input=-4 2>&1 | FileCheck %t/sizes.mlir --check-prefix=HOSTNEGATIVE
// RUN: not gpu-runner --device=cpu --check -e host %t/sizes.mlir --input=4 --input=4611686018427387904 2>&1 | FileCheck %t/sizes.mlir --check-prefix=HOST
// RUN: gpu-runner --device=cpu -e host %t/sizes.mlir --input=4 --input=4
// RUN: not gpu-runner --device=cpu -e launch %t/sizes.mlir --input=i32=-8 2>&1 | FileCheck %t/sizes.mlir --check-prefix=LAUNCH
// RUN: not gpu-runner --device=cpu --check -e copy %t/sizes.mlir --input=4611686018427387904 2>&1 | FileCheck %t/sizes.mlir --check-prefix=COPY
// RUN: not gpu-runner --device=cpu --check -e fillRows %t/sizes.mlir --input=4294967296 2>&1 | FileCheck %t/sizes.mlir --check-prefix=ROWS
// A buffer that is no longer than what is known of it is used as before.
// RUN: gpu-runner --device=cpu -e copy %t/sizes.mlir --input=8

// RUN: not gpu-runner --device=cpu %t/static.mlir 2>&1 | FileCheck %t/static.mlir

//--- static.mlir
func.func @main() {
  // CHECK: static.mlir:[[@LINE+1]]:{{[0-9]+}}: error: {{.*}}4294967296x4294967296xf32{{.*}} elements of 4 bytes are 2^63 bytes or more
  %x = gpu.alloc () : memref<4294967296x4294967296xf32>
  gpu.dealloc %x : memref<4294967296x4294967296xf32>
  return
}

// RUN: not gpu-runner --device=cpu %t/host.mlir 2>&1 | FileCheck %t/host.mlir

//--- host.mlir
func.func @main() {
  %x = gpu.alloc () : memref<4xf32>
  // CHECK: host.mlir:[[@LINE+1]]:{{[0-9]+}}: error: {{.*}}4294967296x4294967296xf32{{.*}} elements of 4 bytes are 2^63 bytes or more
  %h = memref.alloc () : memref<4294967296x4294967296xf32>
  memref.dealloc %h : memref<4294967296x4294967296xf32>
  gpu.dealloc %x : memref<4xf32>
  return
}

//--- sizes.mlir
func.func @alloc(%n: index, %m: index) {
  // WRAP: sizes.mlir:[[@LINE+3]]:8: error: gpu_async.alloc: too large: 4294967296 x 4294967296 elements of 4 bytes span 2^63 bytes or more
  // NEGATIVE: sizes.mlir:[[@LINE+2]]:8: error: gpu_async.alloc: negative size: -5 x 4 elements of 4 bytes
  // ZERO: sizes.mlir:[[@LINE+1]]:8: error: gpu_async.alloc: negative size: 0 x -1 elements of 4 bytes
  %x = gpu.alloc (%n, %m) : memref<?x?xf32>
  gpu.dealloc %x : memref<?x?xf32>
  return
}

func.func @shared(%n: index) {
  // SHARED: sizes.mlir:[[@LINE+1]]:8: error: gpu_async.alloc: negative size: -20 elements of 4 bytes
  %x = gpu.alloc host_shared (%n) : memref<?xi32>
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  memref.store %one, %x[%c0] : memref<?xi32>
  gpu.dealloc %x : memref<?xi32>
  return
}

func.func @copy(%n: index) {
  %x = gpu.alloc () : memref<8xi64>
  %h = memref.alloc () : memref<8xi64>
  %from = memref.reinterpret_cast %h to offset: [0], sizes: [%n], strides: [1] : memref<8xi64> to memref<?xi64>
  %to = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<8xi64> to memref<?xi64>
  // COPY: sizes.mlir:[[@LINE+1]]:3: error: gpu_async.memcpy: too large: 4611686018427387904 elements of 8 bytes
  gpu.memcpy %to, %from : memref<?xi64>, memref<?xi64>
  gpu.dealloc %x : memref<8xi64>
  memref.dealloc %h : memref<8xi64>
  return
}

func.func @fill(%n: index) {
  %x = gpu.alloc () : memref<8xi64>
  %to = memref.reinterpret_cast %x to offset: [0], sizes: [%n], strides: [1] : memref<8xi64> to memref<?xi64>
  %zero = arith.constant 0 : i64
  // FILL: sizes.mlir:[[@LINE+1]]:3: error: gpu_async.memset: too large: 2305843009213693952 elements of 8 bytes
  gpu.memset %to, %zero : memref<?xi64>, i64
  gpu.dealloc %x : memref<8xi64>
  return
}

func.func @fillRows(%n: index) {
  %x = gpu.alloc () : memref<8xi64>
  %to = memref.reinterpret_cast %x to offset: [0], sizes: [%n, 4], strides: [%n, 2] : memref<8xi64> to memref<?x4xi64, strided<[?, 2]>>
  %zero = arith.constant 0 : i64
  // ROWS: sizes.mlir:[[@LINE+1]]:3: error: gpu_async.memset: too large: 4294967296 x 4 elements of 8 bytes with strides of 4294967296 x 2
  gpu.memset %to, %zero : memref<?x4xi64, strided<[?, 2]>>, i64
  gpu.dealloc %x : memref<8xi64>
  return
}

func.func @register(%n: index) {
  %h = memref.alloc () : memref<8xf32>
  %long = memref.reinterpret_cast %h to offset: [0], sizes: [%n], strides: [1] : memref<8xf32> to memref<?xf32>
  %u = memref.cast %long : memref<?xf32> to memref<*xf32>
  // REGISTER: sizes.mlir:[[@LINE+1]]:3: error: gpu_async.host_register: too large: 4611686018427387904 elements of 4 bytes
  gpu.host_register %u : memref<*xf32>
  return
}

func.func private @unranked(%u: memref<*xf32>) {
  // UNRANKED: sizes.mlir:[[@LINE+1]]:3: error: gpu_async.host_register: negative size: -3 elements of 4 bytes
  gpu.host_register %u : memref<*xf32>
  return
}
func.func @registerUnranked(%n: index) {
  %h = memref.alloc () : memref<8xf32>
  %long = memref.reinterpret_cast %h to offset: [0], sizes: [%n], strides: [1] : memref<8xf32> to memref<?xf32>
  %u = memref.cast %long : memref<?xf32> to memref<*xf32>
  call @unranked(%u) : (memref<*xf32>) -> ()
  return
}

func.func @host(%n: index, %m: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  // HOST: sizes.mlir:[[@LINE+2]]:8: error: memref.alloc: too large: 4 x 4611686018427387904 elements of 4 bytes span 2^63 bytes or more
  // HOSTNEGATIVE: sizes.mlir:[[@LINE+1]]:8: error: memref.alloc: negative size: 4 x -4 elements of 4 bytes
  %h = memref.alloc (%n, %m) : memref<?x?xi32>
  memref.store %one, %h[%c0, %c0] : memref<?x?xi32>
  %x = gpu.alloc (%n, %m) : memref<?x?xi32>
  gpu.memcpy %x, %h : memref<?x?xi32>, memref<?x?xi32>
  gpu.dealloc %x : memref<?x?xi32>
  memref.dealloc %h : memref<?x?xi32>
  return
}

func.func @launch(%bytes: i32) {
  %c1 = arith.constant 1 : index
  // LAUNCH: sizes.mlir:[[@LINE+1]]:3: error: gpu_async.launch {{.*}}: negative size: {{.*}}, -8 bytes of dynamic shared memory
  gpu.launch blocks(%bx, %by, %bz) in (%nx = %c1, %ny = %c1, %nz = %c1)
             threads(%tx, %ty, %tz) in (%mx = %c1, %my = %c1, %mz = %c1)
             dynamic_shared_memory_size %bytes {
    gpu.terminator
  }
  return
}
