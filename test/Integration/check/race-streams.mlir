// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --check names two device ops on the same bytes that no token orders: two
// kernels, and a kernel and a copy. It does not depend on the order in which
// they happen to run. Ordered ops are silent.
// RUN: not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s
// RUN: env GPU_ASYNC_CPU_SCHEDULE=adversarial:5 not gpu-runner --device=cpu --check %s 2>&1 | FileCheck %s

func.func @main() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %h = memref.alloc() : memref<4xi32>
  %start = gpu.wait async
  %x, %tx0 = gpu.alloc async [%start] () : memref<4xi32>
  %y, %ty0 = gpu.alloc async [%tx0] () : memref<4xi32>
  %ready = gpu.memset async [%ty0] %x, %one : memref<4xi32>, i32
  // CHECK-DAG: race-streams.mlir:[[#@LINE+3]]:5: {{error: race between device ops that nothing orders|note: the other}}: write by block (0, 0, 0), thread (0, 0, 0) of kernel @{{.*}}, launched at {{.*}}race-streams.mlir:[[#@LINE+1]]:8
  %a = gpu.launch async [%ready] blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    memref.store %one, %x[%c1] : memref<4xi32>
    // CHECK-DAG: race-streams.mlir:16:14: note: at byte 4 of 16 bytes of device memory that comes from here
    gpu.terminator
  }
  %b = gpu.launch async [%ready] blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    // CHECK-DAG: race-streams.mlir:[[#@LINE+1]]:10: {{error: race between device ops that nothing orders|note: the other}}: read by block (0, 0, 0), thread (0, 0, 0) of kernel @
    %v = memref.load %x[%c1] : memref<4xi32>
    memref.store %v, %y[%c0] : memref<4xi32>
    gpu.terminator
  }
  // CHECK-DAG: race-streams.mlir:[[#@LINE+1]]:8: {{error: race between device ops that nothing orders|note: the other}}: gpu.memcpy
  %c = gpu.memcpy async [%a] %h, %y : memref<4xi32>, memref<4xi32>
  %d = gpu.wait async [%a, %b, %c]
  %e = gpu.memset async [%d] %x, %two : memref<4xi32>, i32
  %f = gpu.dealloc async [%e] %x : memref<4xi32>
  %g = gpu.dealloc async [%f] %y : memref<4xi32>
  gpu.wait [%g]
  memref.dealloc %h : memref<4xi32>
  return
}
// CHECK: gpu-runner: error: --check found 2 bugs
