// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files in LLVM dialect: lowered by this pipeline, and by upstream's.
// RUN: gpu-opt %s --gpu-async-pipeline="targets=cpu on-error=status packed-wrappers=true" -o %t.status.mlir
// RUN: gpu-runner --device=cpu %t.status.mlir --entry-point-result=i32 | FileCheck %s
// RUN: gpu-opt %s --gpu-async-pipeline="targets=cpu" -o %t.abort.mlir
// RUN: gpu-runner --device=cpu %t.abort.mlir --entry-point-result=i32 | FileCheck %s
// CHECK: {{^}}7{{$}}

// RUN: mlir-opt %S/Inputs/host.mlir --convert-to-llvm -o %t.host.mlir
// RUN: gpu-runner --device=cpu %t.host.mlir -e add --input=3 --input=0.5 | FileCheck %s --check-prefix=ADD
// ADD: result[0]: f32=3.5
// RUN: gpu-runner --device=cpu %t.host.mlir -e add --input=3 --input=0.5 --entry-point-result=f32 | FileCheck %s --check-prefix=PLAIN
// PLAIN: {{^}}3.500000e+00{{$}}

// Each memref is several arguments then.
// RUN: not gpu-runner --device=cpu %t.abort.mlir -e fill --input=4xi32 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: error: the file is lowered already, to one argument for each part of a memref: give the file from before; @fill(!llvm.ptr, !llvm.ptr, i64, i64, i64) takes 5 arguments, but 1 --input were given
// RUN: not gpu-runner --device=cpu %t.abort.mlir -e fill --input=4xi32 --input=null --input=0 --input=4 --input=1 2>&1 | FileCheck %s --check-prefix=POINTER
// POINTER: error: the file is lowered already, {{.*}}; --input 0 of 5: '4xi32' has elements of type i32, but the argument is of type !llvm.ptr
// A memref that is returned is a struct.
// RUN: not gpu-runner --device=cpu %t.abort.mlir -e made 2>&1 | FileCheck %s --check-prefix=STRUCT
// STRUCT: error: the file is lowered already, to structs of what a function returns: give the file from before; result 0 of @made, !llvm.struct<{{.*}}>, is not a number

// A gap in what a file needs is said at the place, before anything runs.
// RUN: not gpu-runner --device=cpu %t.host.mlir -e calls_outside 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: host.mlir:{{[0-9]+}}:{{[0-9]+}}: error: @outside is used but defined nowhere; name the library that has it with --shared-libs
// RUN: not gpu-runner --device=cpu %t.host.mlir -e calls_wrapper 2>&1 | FileCheck %s --check-prefix=WRAPPER
// WRAPPER: error: @mgpuStreamCreate is used but defined nowhere; the file was lowered for upstream's GPU wrappers

// What is launched after gpu-to-llvm is upstream's to run: one error at the first launch.
// RUN: mlir-opt %s --pass-pipeline='builtin.module(gpu-kernel-outlining,gpu.module(convert-gpu-to-nvvm),gpu-to-llvm)' -o %t.launch.mlir
// RUN: not gpu-runner --device=cpu %t.launch.mlir > %t.said 2>&1
// RUN: FileCheck %s --check-prefix=LAUNCH --input-file=%t.said
// LAUNCH: launch.mlir:[[#]]:[[#]]: error: the file was lowered by upstream's gpu-to-llvm, whose launches only upstream's translation lowers: run the file from before that pass
// LAUNCH-NOT: error:

func.func @main() -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = gpu.alloc host_shared () : memref<1xi32>
  gpu.launch blocks(%bx, %by, %bz) in (%nbx = %c1, %nby = %c1, %nbz = %c1)
             threads(%tx, %ty, %tz) in (%ntx = %c1, %nty = %c1, %ntz = %c1) {
    %v = arith.constant 7 : i32
    memref.store %v, %x[%tx] : memref<1xi32>
    gpu.terminator
  }
  %result = memref.load %x[%c0] : memref<1xi32>
  gpu.dealloc %x : memref<1xi32>
  return %result : i32
}

func.func @fill(%x: memref<4xi32>) {
  %three = arith.constant 3 : i32
  %d = gpu.alloc () : memref<4xi32>
  gpu.memset %d, %three : memref<4xi32>, i32
  gpu.memcpy %x, %d : memref<4xi32>, memref<4xi32>
  gpu.dealloc %d : memref<4xi32>
  return
}

func.func @made() -> memref<4xi32> {
  %x = gpu.alloc host_shared () : memref<4xi32>
  return %x : memref<4xi32>
}
