// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Without offload a program of parallel loops that launches nothing says that it runs on the
// host; one with a kernel may do with the others what it likes.
// RUN: gpu-opt %s -split-input-file -gpu-async-pipeline="targets=cpu offload=off" -verify-diagnostics -o /dev/null

func.func @loops(%a: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  // expected-warning @below {{runs on the host, as all of the program does: it launches no kernel}}
  // expected-note @below {{offload=auto makes kernels of parallel loops and linalg ops}}
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %f = memref.load %a[%i] : memref<64xf32>
    memref.store %f, %a[%i] : memref<64xf32>
    scf.reduce
  }
  // expected-note @below {{so do 2 more}}
  affine.parallel (%i) = (0) to (64) {
    %f = memref.load %a[%i] : memref<64xf32>
    memref.store %f, %a[%i] : memref<64xf32>
  }
  linalg.copy ins(%a : memref<64xf32>) outs(%a : memref<64xf32>)
  return
}

// -----

func.func @beside(%a: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  linalg.copy ins(%a : memref<64xf32>) outs(%a : memref<64xf32>)
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    gpu.terminator
  }
  return
}

// -----

func.func @nothing_parallel(%a: memref<64xf32>, %i: index) -> f32 {
  %f = memref.load %a[%i] : memref<64xf32>
  return %f : f32
}
