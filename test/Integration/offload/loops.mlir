// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parallel loops and linalg on memrefs become kernels; the caller's array has what
// they wrote. A reduction loop stays with the host, and says so.
// RUN: gpu-runner --device=cpu --check -e loops %s --input=6xf32=1 --stats 2>%t.stats --output=- | FileCheck %s --check-prefix=LOOPS
// RUN: FileCheck %s --check-prefix=STATS --input-file=%t.stats
// RUN: gpu-opt %s --gpu-async-offload=device=gpu -o %t.gpu.mlir
// RUN: gpu-runner --device=cpu --check -e loops %t.gpu.mlir --input=6xf32=1 --output=- | FileCheck %s --check-prefix=LOOPS
// RUN: gpu-runner --device=cpu -e reduces %s --input=6xf32=1 2>&1 | FileCheck %s --check-prefix=REDUCES
// RUN: not gpu-runner --device=cpu --offload=error -e reduces %s --input=6xf32=1 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: gpu-runner --device=cpu --offload=off -e loops %s --input=6xf32=1 --output=- | FileCheck %s --check-prefix=LOOPS
// RUN: gpu-runner --device=cpu -e mixed %s | FileCheck %s --check-prefix=MIXED

// LOOPS: 6xf32=2 4 2 4 2 4
// STATS: "launches": 3,
// REDUCES: loops.mlir:[[@LINE+29]]:8: remark: runs on the host: no kernel can be made of it
// REDUCES: result[0]: f32=6
// ERROR: loops.mlir:[[@LINE+27]]:8: error: runs on the host: no kernel can be made of it
// MIXED: 3
func.func @loops(%a: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c6 = arith.constant 6 : index
  scf.parallel (%i) = (%c1) to (%c6) step (%c2) {
    %v = memref.load %a[%i] : memref<6xf32>
    %w = arith.addf %v, %v : f32
    memref.store %w, %a[%i] : memref<6xf32>
    scf.reduce
  }
  affine.parallel (%i) = (0) to (3) {
    %v = affine.load %a[%i] : memref<6xf32>
    affine.store %v, %a[%i] : memref<6xf32>
  }
  linalg.add ins(%a, %a : memref<6xf32>, memref<6xf32>) outs(%a : memref<6xf32>)
  return
}

func.func @reduces(%a: memref<6xf32>) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %zero = arith.constant 0.0 : f32
  // A sum over all.
  %r = scf.parallel (%i) = (%c0) to (%c6) step (%c1) init (%zero) -> f32 {
    %v = memref.load %a[%i] : memref<6xf32>
    scf.reduce(%v : f32) {
    ^bb0(%x: f32, %y: f32):
      %s = arith.addf %x, %y : f32
      scf.reduce.return %s : f32
    }
  }
  return %r : f32
}

// A function with device work of its own stays as it is.
func.func private @printF32(f32)
func.func @mixed() {
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  %a = memref.alloc() : memref<3xf32>
  linalg.fill ins(%one : f32) outs(%a : memref<3xf32>)
  %d = gpu.alloc () : memref<3xf32>
  gpu.memcpy %d, %a : memref<3xf32>, memref<3xf32>
  %c3 = arith.constant 3 : index
  gpu.launch blocks(%x, %y, %z) in (%gx = %c1, %gy = %c1, %gz = %c1) threads(%i, %j, %k) in (%bx = %c3, %by = %c1, %bz = %c1) {
    %v = memref.load %d[%i] : memref<3xf32>
    %t = arith.addf %v, %v : f32
    %w = arith.addf %v, %t : f32
    memref.store %w, %d[%i] : memref<3xf32>
    gpu.terminator
  }
  gpu.memcpy %a, %d : memref<3xf32>, memref<3xf32>
  gpu.dealloc %d : memref<3xf32>
  %r = memref.load %a[%c1] : memref<3xf32>
  memref.dealloc %a : memref<3xf32>
  call @printF32(%r) : (f32) -> ()
  return
}
