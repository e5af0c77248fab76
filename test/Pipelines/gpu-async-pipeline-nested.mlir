// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A module is one program: the pipeline refuses one within it that has device
// work, and takes it alone. Then each has tables of its own.
// RUN: split-file %s %t
// RUN: not gpu-opt %t/nested.mlir --gpu-async-pipeline=targets=cpu 2>&1 | FileCheck %t/nested.mlir --check-prefix=REFUSED
// RUN: not gpu-opt %t/nested.mlir --convert-gpu-to-gpu-async 2>&1 | FileCheck %t/nested.mlir --check-prefix=REFUSED
// RUN: not gpu-opt %t/nested.mlir --gpu-async-infer-dependencies 2>&1 | FileCheck %t/nested.mlir --check-prefix=REFUSED
// RUN: not gpu-opt %t/nested.mlir --gpu-async-assign-streams 2>&1 | FileCheck %t/nested.mlir --check-prefix=REFUSED
// RUN: not gpu-opt %t/nested.mlir --gpu-async-lower-kernels=targets=cpu 2>&1 | FileCheck %t/nested.mlir --check-prefix=REFUSED
// RUN: not gpu-opt %t/nested.mlir --convert-gpu-async-to-runtime 2>&1 | FileCheck %t/nested.mlir --check-prefix=REFUSED
// RUN: not gpu-runner --device=cpu -e host %t/nested.mlir 2>&1 | FileCheck %t/nested.mlir --check-prefix=REFUSED
// RUN: gpu-opt %t/nested.mlir --pass-pipeline='builtin.module(builtin.module(gpu-async-pipeline{targets=cpu}))' | FileCheck %t/nested.mlir
// Host code within is no business of ours.
// RUN: gpu-runner --device=cpu %t/host.mlir | FileCheck %t/host.mlir

//--- nested.mlir
// REFUSED-NOT: gpu-async-infer-dependencies makes it so
// REFUSED: nested.mlir:[[@LINE+16]]:3: error: module within another one has device work, but a module is one program: run the pipeline on it alone
// REFUSED: nested.mlir:[[@LINE+18]]:7: note: device work
// REFUSED: nested.mlir:[[@LINE+24]]:3: error:
// CHECK-LABEL: module @outer
// CHECK:         module @first
// CHECK:           llvm.func @main()
// CHECK:             llvm.call @gpuasync_region_run
// CHECK:           llvm.mlir.global external constant @_gpuasync_program()
// CHECK:         module @second
// CHECK:           llvm.func @main()
// CHECK:             llvm.call @gpuasync_alloc
// CHECK:           llvm.mlir.global external constant @_gpuasync_program()
// CHECK-NOT:     gpu_async
// CHECK:       func.func @host
// CHECK-NOT:   _gpuasync_program
module @outer {
  module @first {
    func.func @main() {
      %c1 = arith.constant 1 : index
      gpu.launch blocks(%bx, %by, %bz) in (%nx = %c1, %ny = %c1, %nz = %c1)
                 threads(%tx, %ty, %tz) in (%mx = %c1, %my = %c1, %mz = %c1) {
        gpu.terminator
      }
      return
    }
  }
  module @second {
    func.func @main() {
      %x = gpu.alloc () : memref<4xi32>
      gpu.dealloc %x : memref<4xi32>
      return
    }
  }
  func.func @host() {
    return
  }
}

//--- host.mlir
// CHECK: result[0]: i32=7
module @outer {
  module @inner {
    func.func @main() -> i32 {
      %c = arith.constant 3 : i32
      return %c : i32
    }
  }
  func.func @main() -> i32 {
    %c = arith.constant 7 : i32
    return %c : i32
  }
}
