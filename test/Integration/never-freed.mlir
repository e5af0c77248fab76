// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device memory that the program never frees, as upstream's own tests have it:
// listed with the op that made it and reclaimed; an error only when asked for.
// RUN: gpu-runner --device=cpu %s 2>%t.err | FileCheck %s
// RUN: FileCheck --check-prefix=LEAK %s --input-file=%t.err
// RUN: not gpu-runner --device=cpu --leak-check=error %s 2>&1 | FileCheck %s --check-prefix=LEAK
// RUN: %if cuda %{ gpu-runner --device=cuda %s | FileCheck %s %}
// RUN: %if cuda %{ not gpu-runner --device=cuda --leak-check=error %s 2>&1 | FileCheck %s --check-prefix=LEAK %}

// CHECK: [9, 9]
func.func @main() {
  %nine = arith.constant 9 : i32
  %h = memref.alloc() : memref<2xi32>
  // LEAK: never-freed.mlir:[[@LINE+1]]
  %x = gpu.alloc () : memref<2xi32>
  gpu.memset %x, %nine : memref<2xi32>, i32
  gpu.memcpy %h, %x : memref<2xi32>, memref<2xi32>
  %u = memref.cast %h : memref<2xi32> to memref<*xi32>
  call @printMemrefI32(%u) : (memref<*xi32>) -> ()
  memref.dealloc %h : memref<2xi32>
  return
}

func.func private @printMemrefI32(memref<*xi32>)
