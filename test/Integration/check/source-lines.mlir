// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports show the source line, and name the ops that are in the file. In a file
// that is no terminal they have no colours.
// RUN: not gpu-runner --device=cpu --check %s >%t.said 2>&1
// RUN: FileCheck %s --input-file=%t.said --match-full-lines --strict-whitespace
// RUN: not gpu-runner --device=cpu --check - <%s 2>&1 | FileCheck %s --check-prefix=STDIN
//
// On a terminal there are colours.
// RUN: not %python %S/Inputs/on-a-terminal.py gpu-runner --device=cpu --check %s | FileCheck %s --check-prefix=COLOURS
// COLOURS: {{.*}}source-lines.mlir:[[#]]:9: {{.*}}[0;1;31merror: {{.*}}use of freed

func.func @main() {
  %one = arith.constant 1 : i32
  %h = memref.alloc() : memref<4xi32>
  %s = gpu.wait async
  %x, %t0 = gpu.alloc async [%s] () : memref<4xi32>
  %t1 = gpu.memset async [%t0] %x, %one : memref<4xi32>, i32
  %t2 = gpu.dealloc async [%t1] %x : memref<4xi32>
  %t3 = "gpu.memcpy"(%t2, %h, %x) : (!gpu.async.token, memref<4xi32>, memref<4xi32>) -> !gpu.async.token
  gpu.wait [%t3]
  memref.dealloc %h : memref<4xi32>
  return
}

//      CHECK:{{.*}}source-lines.mlir:19:9: error: use of freed device memory: gpu.memcpy reads 16 bytes
// CHECK-NEXT:  %t3 = "gpu.memcpy"(%t2, %h, %x) : (!gpu.async.token, memref<4xi32>, memref<4xi32>) -> !gpu.async.token
// CHECK-NEXT:        ^
// CHECK-NEXT:{{.*}}source-lines.mlir:18:9: note: freed here
// CHECK-NEXT:  %t2 = gpu.dealloc async [%t1] %x : memref<4xi32>
// CHECK-NEXT:        ^
// CHECK-NEXT:{{.*}}source-lines.mlir:16:13: note: allocated here
// CHECK-NEXT:  %x, %t0 = gpu.alloc async [%s] () : memref<4xi32>
// CHECK-NEXT:            ^
// CHECK-NEXT:gpu-runner: error: --check found 1 bug

// STDIN: <stdin>:19:9: error: use of freed
// STDIN-NEXT: "gpu.memcpy"(%t2
