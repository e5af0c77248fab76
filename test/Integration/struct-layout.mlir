// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Structs and wide integers lie where the device's and the host's data layouts
// say, also where a place or a size is constant and folded.
// RUN: gpu-runner --device=cpu -O0 %s --input=4xi64 --input=2 --output=- --output= --output=- --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu -O3 %s --input=4xi64 --input=2 --output=- --output= --output=- --output=- | FileCheck %s
// RUN: gpu-runner --device=cpu --check %s --input=4xi64 --input=2 --output=- --output= --output=- --output=- | FileCheck %s
// RUN: %if cuda %{ gpu-runner --device=cuda %s --input=4xi64 --input=2 --output=- --output= --output=- --output=- | FileCheck %s %}

// CHECK: arg[0]: 4xi64=77 16 3 0
// CHECK: result[0]: i64=16
// CHECK: result[1]: i64=77

module attributes {gpu.container_module} {
llvm.mlir.global internal @g() {addr_space = 0 : i32} : !llvm.array<4 x struct<(i32, i64)>> {
  %z = llvm.mlir.zero : !llvm.array<4 x struct<(i32, i64)>>
  llvm.return %z : !llvm.array<4 x struct<(i32, i64)>>
}
gpu.module @k {
  llvm.mlir.global internal @s() {addr_space = 3 : i32} : !llvm.array<4 x struct<(i32, i64)>>
  gpu.func @f(%x: memref<4xi64>, %wide: memref<20xi96>, %i: i64) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c19 = arith.constant 19 : index
    %c77 = arith.constant 77 : i64
    // One place by a constant, and by a number.
    %base = llvm.mlir.addressof @s : !llvm.ptr<3>
    %known = llvm.getelementptr %base[0, 2, 1] : (!llvm.ptr<3>) -> !llvm.ptr<3>, !llvm.array<4 x struct<(i32, i64)>>
    %computed = llvm.getelementptr %base[0, %i, 1] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, !llvm.array<4 x struct<(i32, i64)>>
    llvm.store volatile %c77, %known : i64, !llvm.ptr<3>
    %v = llvm.load volatile %computed : !llvm.ptr<3> -> i64
    memref.store %v, %x[%c0] : memref<4xi64>
    %null = llvm.mlir.zero : !llvm.ptr
    %next = llvm.getelementptr %null[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i64)>
    %size = llvm.ptrtoint %next : !llvm.ptr to i64
    memref.store %size, %x[%c1] : memref<4xi64>
    %w = memref.load %wide[%c19] : memref<20xi96>
    %low = arith.trunci %w : i96 to i64
    memref.store %low, %x[%c2] : memref<4xi64>
    gpu.return
  }
}
func.func @main(%out: memref<4xi64>, %i: i64) -> (i64, i64) {
  %c1 = arith.constant 1 : index
  %c19 = arith.constant 19 : index
  %c77 = arith.constant 77 : i64
  %c3 = arith.constant 3 : i96
  // Its size is constant.
  %h = memref.alloc() : memref<20xi96>
  memref.store %c3, %h[%c19] : memref<20xi96>
  %x = gpu.alloc () : memref<4xi64>
  %wide = gpu.alloc () : memref<20xi96>
  gpu.memcpy %x, %out : memref<4xi64>, memref<4xi64>
  gpu.memcpy %wide, %h : memref<20xi96>, memref<20xi96>
  gpu.launch_func @k::@f blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<4xi64>, %wide : memref<20xi96>, %i : i64)
  gpu.memcpy %out, %x : memref<4xi64>, memref<4xi64>
  gpu.dealloc %x : memref<4xi64>
  gpu.dealloc %wide : memref<20xi96>
  memref.dealloc %h : memref<20xi96>
  %null = llvm.mlir.zero : !llvm.ptr
  %next = llvm.getelementptr %null[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(i32, i64)>
  %size = llvm.ptrtoint %next : !llvm.ptr to i64
  %base = llvm.mlir.addressof @g : !llvm.ptr
  %known = llvm.getelementptr %base[0, 2, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<4 x struct<(i32, i64)>>
  %computed = llvm.getelementptr %base[0, %i, 1] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.array<4 x struct<(i32, i64)>>
  llvm.store volatile %c77, %known : i64, !llvm.ptr
  %v = llvm.load volatile %computed : !llvm.ptr -> i64
  return %size, %v : i64, i64
}
}
