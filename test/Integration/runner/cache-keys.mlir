// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whatever changes the compiled program changes its key.
// It preloads a library, before which the sanitizer's runtime would have to come.
// UNSUPPORTED: sanitizer
// RUN: rm -rf %t.work
// RUN: %python %S/Inputs/cache.py gpu-runner %s %t.work keys %llvm_lib/libmlir_async_runtime.so

func.func @main(%n: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.alloc host_shared () : memref<1xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    memref.store %n, %x[%tx] : memref<1xi32>
    gpu.terminator
  }
  %result = memref.load %x[%c0] : memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  return %result : i32
}

func.func @other() {
  return
}
