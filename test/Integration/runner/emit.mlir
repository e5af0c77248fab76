// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --emit: compiled, not run.
// RUN: gpu-runner --emit=mlir %s | FileCheck %s --check-prefix=MLIR
// MLIR: llvm.func @_gpuasync_packed_main
// RUN: gpu-runner --emit=llvm %s | FileCheck %s --check-prefix=LLVM
// LLVM: target triple = "x86_64
// LLVM: define {{.*}} @_gpuasync_packed_main(
// RUN: gpu-runner --emit=object --targets=cpu,nvptx:sm_80 %s -o %t.o
// RUN: llvm-readelf --symbols %t.o | FileCheck %s --check-prefix=OBJECT
// OBJECT-DAG: FUNC {{.*}} _gpuasync_packed_main
// OBJECT-DAG: UND gpuasync_launch
// OBJECT-DAG: UND gpuasync_program_release_or_abort
// RUN: grep -q "target sm_80" %t.o
// RUN: not gpu-runner --emit=object --targets=cpu %s -o %t.nofolder/x.o 2>&1 | FileCheck %s --check-prefix=FOLDER
// FOLDER: error: '{{.*}}nofolder/x.o' cannot be written
// RUN: not gpu-runner --emit=object --targets=abacus %s -o %t.o 2>&1 | FileCheck %s --check-prefix=TARGET
// TARGET: error: {{.*}}abacus
// A name with -e is one that is there.
// RUN: not gpu-runner --emit=object -e nope %s -o %t.o 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not gpu-runner --emit=mlir -e main,nope %s 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: gpu-runner --emit=mlir -e main %s | FileCheck %s --check-prefix=MLIR
// NAME: error: the entry point @nope does not exist in {{.*}}emit.mlir; name one of these with -e: @main
// Options of a run are refused.
// RUN: not gpu-runner --emit=mlir --timeout=1 %s 2>&1 | FileCheck %s --check-prefix=TIMEOUT
// TIMEOUT: error: --timeout: not with --emit, which compiles and runs nothing
// RUN: not gpu-runner --emit=mlir --entry-point-result=f32 %s 2>&1 | FileCheck %s --check-prefix=RESULT
// RESULT: error: --entry-point-result: not with --emit

func.func @main() {
  %c1 = arith.constant 1 : index
  %x = gpu.alloc () : memref<4xf32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %v = arith.constant 1.0 : f32
    memref.store %v, %x[%tx] : memref<4xf32>
    gpu.terminator
  }
  gpu.dealloc %x : memref<4xf32>
  return
}
