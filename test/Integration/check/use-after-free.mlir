// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names uses of freed device memory: a kernel's, a copy's, a second
// free, and a use that only chance puts before the free.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %h = memref.alloc() : memref<4xi32>
  %start = gpu.wait async
  %x, %t0 = gpu.alloc async [%start] () : memref<4xi32>
  %t1 = gpu.memset async [%t0] %x, %one : memref<4xi32>, i32
  %t2 = gpu.dealloc async [%t1] %x : memref<4xi32>
  %t3 = gpu.launch async [%t2] blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // CHECK-DAG: use-after-free.mlir:[[#@LINE+1]]:5: error: use of freed device memory: write of 4 bytes in block (0, 0, 0), thread (0, 0, 0) of kernel @
    memref.store %one, %x[%c1] : memref<4xi32>
    // CHECK-DAG: use-after-free.mlir:14:9: note: freed here
    // CHECK-DAG: use-after-free.mlir:12:13: note: allocated here
    gpu.terminator
  }
  // CHECK-DAG: use-after-free.mlir:[[#@LINE+1]]:9: error: use of freed device memory: gpu.memcpy reads 16 bytes
  %t4 = gpu.memcpy async [%t3] %h, %x : memref<4xi32>, memref<4xi32>
  // CHECK-DAG: use-after-free.mlir:[[#@LINE+1]]:9: error: memory is freed a second time
  %t5 = gpu.dealloc async [%t4] %x : memref<4xi32>

  %y, %u0 = gpu.alloc async [%t5] () : memref<4xi32>
  %u1 = gpu.launch async [%u0] blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    memref.store %one, %y[%c0] : memref<4xi32>
    gpu.terminator
  }
  %u2 = gpu.launch async [%u0] blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // CHECK-DAG: use-after-free.mlir:[[#@LINE+1]]:5: {{error: (race|use that is not ordered)|note: the other}}{{.*}}write {{.*}} block (0, 0, 0), thread (0, 0, 0) of kernel @
    memref.store %one, %y[%c1] : memref<4xi32>
    gpu.terminator
  }
  // CHECK-DAG: use-after-free.mlir:[[#@LINE+1]]:9: {{(error: race|note: the other).*gpu.dealloc|note: freed here}}
  %u3 = gpu.dealloc async [%u1] %y : memref<4xi32>
  gpu.wait [%u2, %u3]
  memref.dealloc %h : memref<4xi32>
  return
}
// CHECK: gpu-runner: error: --check found 4 bugs
