// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whatever changes the compiled program changes its key. The program has a loop in a
// kernel, buffers that one allocation can hold, and linalg ops: options act on these.
// It preloads a library, before which the sanitizer's runtime would have to come.
// UNSUPPORTED: sanitizer
// RUN: rm -rf %t.work
// RUN: %python %S/Inputs/cache.py gpu-runner %s %t.work keys %llvm_lib/libmlir_async_runtime.so

func.func @main(%n: i32) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %x = gpu.alloc host_shared () : memref<1xi32>
  %y = gpu.alloc () : memref<64xi32, 1>
  %z = gpu.alloc () : memref<64xi32, 1>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    scf.for %i = %c0 to %c64 step %c1 {
      memref.store %n, %y[%i] : memref<64xi32, 1>
      memref.store %n, %z[%i] : memref<64xi32, 1>
    }
    gpu.terminator
  }
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    memref.store %n, %x[%tx] : memref<1xi32>
    gpu.terminator
  }
  %result = memref.load %x[%c0] : memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  gpu.dealloc %y : memref<64xi32, 1>
  gpu.dealloc %z : memref<64xi32, 1>
  return %result : i32
}

func.func @other() {
  %n = arith.constant 2.0 : f32
  %x = memref.alloc() : memref<16x16xf32>
  %y = memref.alloc() : memref<16x16xf32>
  linalg.fill ins(%n : f32) outs(%x : memref<16x16xf32>)
  linalg.fill ins(%n : f32) outs(%y : memref<16x16xf32>)
  linalg.matmul ins(%x, %x : memref<16x16xf32>, memref<16x16xf32>) outs(%y : memref<16x16xf32>)
  memref.dealloc %x : memref<16x16xf32>
  memref.dealloc %y : memref<16x16xf32>
  return
}
