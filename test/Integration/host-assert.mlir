// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cf.assert in host code fails the call with its message and place; what runs on the
// device is waited for, and nothing is left.
// RUN: gpu-runner --device=cpu %s --input=4xf32=1 --input=4 --output=- --leak-check=error | FileCheck %s
// RUN: not gpu-runner --device=cpu %s --input=4xf32=1 --input=5 --leak-check=error 2>&1 | FileCheck %s --check-prefix=FAILS
// RUN: gpu-runner --device=cpu %s -e plain --input=2 | FileCheck %s --check-prefix=PLAIN
// RUN: not gpu-runner --device=cpu %s -e plain --input=-1 2>&1 | FileCheck %s --check-prefix=NEGATIVE
// RUN: not gpu-runner --device=cpu %s -e calls --input=3 2>&1 | FileCheck %s --check-prefix=CALLS
// RUN: gpu-runner --device=cpu %s -e loop --input=8xf32=1 --input=4 --output=- | FileCheck %s --check-prefix=LOOP
// RUN: not gpu-runner --device=cpu %s -e loop --input=8xf32=1 --input=9 2>&1 | FileCheck %s --check-prefix=BEHIND
// RUN: not gpu-runner -O0 --device=cpu --play=streams %s -e loop --input=8xf32=1 --input=9 2>&1 | FileCheck %s --check-prefix=BEHIND

// CHECK: arg[0]: 4xf32=2 2 2 2
func.func @main(%x: memref<4xf32>, %n: index) {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %d = gpu.alloc () : memref<4xf32>
  gpu.memcpy %d, %x : memref<4xf32>, memref<4xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nx = %c4, %ny = %c1, %nz = %c1)
             threads(%tx, %ty, %tz) in (%mx = %c1, %my = %c1, %mz = %c1) {
    %v = memref.load %d[%bx] : memref<4xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %d[%bx] : memref<4xf32>
    gpu.terminator
  }
  %ok = arith.cmpi eq, %n, %c4 : index
  // FAILS: host-assert.mlir:[[@LINE+1]]:3: error: assertion failed: n is "four"
  cf.assert %ok, "n is \22four\22"
  gpu.memcpy %x, %d : memref<4xf32>, memref<4xf32>
  gpu.dealloc %d : memref<4xf32>
  return
}

// A function without device work.
// PLAIN: i64=2
func.func @plain(%n: i64) -> i64 {
  %c0 = arith.constant 0 : i64
  %ok = arith.cmpi sge, %n, %c0 : i64
  // NEGATIVE: host-assert.mlir:[[@LINE+1]]:3: error: assertion failed: negative
  cf.assert %ok, "negative"
  return %n : i64
}

// Of a function that is called, in a branch.
func.func @calls(%n: i64) -> i64 {
  %r = call @inner(%n) : (i64) -> i64
  return %r : i64
}
func.func private @inner(%n: i64) -> i64 {
  %c3 = arith.constant 3 : i64
  %is3 = arith.cmpi eq, %n, %c3 : i64
  scf.if %is3 {
    %never = arith.constant false
    // CALLS: host-assert.mlir:[[@LINE+1]]:5: error: assertion failed: three
    cf.assert %never, "three"
  }
  return %n : i64
}

// In a loop with device work.
// LOOP: arg[0]: 8xf32=2 2 2 2 1 1 1 1
func.func @loop(%x: memref<8xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %d = gpu.alloc () : memref<8xf32>
  gpu.memcpy %d, %x : memref<8xf32>, memref<8xf32>
  scf.for %i = %c0 to %n step %c1 {
    %ok = arith.cmpi ult, %i, %c8 : index
    // BEHIND: host-assert.mlir:[[@LINE+1]]:5: error: assertion failed: behind the end
    cf.assert %ok, "behind the end"
    gpu.launch blocks(%bx, %by, %bz) in (%nx = %c1, %ny = %c1, %nz = %c1)
               threads(%tx, %ty, %tz) in (%mx = %c1, %my = %c1, %mz = %c1) {
      %v = memref.load %d[%i] : memref<8xf32>
      %w = arith.addf %v, %v : f32
      memref.store %w, %d[%i] : memref<8xf32>
      gpu.terminator
    }
  }
  gpu.memcpy %x, %d : memref<8xf32>, memref<8xf32>
  gpu.dealloc %d : memref<8xf32>
  return
}
