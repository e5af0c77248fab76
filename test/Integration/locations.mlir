// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Locations of every kind, and none, in host code and kernels: all are compiled.
// RUN: gpu-runner --device=cpu %s --input=4xf32=1 | FileCheck %s
// RUN: gpu-runner --device=cpu %s -e launches --input=4xf32=1 --output=- | FileCheck %s --check-prefix=LAUNCHES
// RUN: gpu-runner --device=cpu %s -e scoped --input=2 --entry-point-result=i64 | FileCheck %s --check-prefix=SCOPED
// RUN: gpu-runner --emit=object --targets=cpu,nvptx:sm_90,amdgcn:gfx90a %s -o %t.o
// RUN: gpu-runner --emit=llvm --targets=cpu %s | FileCheck %s --check-prefix=LLVM

#inner = loc("inner.mlir":5:3)
#known = loc("known.mlir":7:9)
#file = #llvm.di_file<"own.c" in "/">
#unit = #llvm.di_compile_unit<id = distinct[0]<>, sourceLanguage = DW_LANG_C, file = #file, isOptimized = false, emissionKind = LineTablesOnly>
#type = #llvm.di_subroutine_type<callingConvention = DW_CC_normal>
#sub = #llvm.di_subprogram<id = distinct[1]<>, compileUnit = #unit, scope = #file, name = "own_name", file = #file, line = 3, scopeLine = 3, subprogramFlags = "Definition", type = #type>
#sub2 = #llvm.di_subprogram<id = distinct[2]<>, compileUnit = #unit, scope = #file, name = "other_name", file = #file, line = 9, scopeLine = 9, subprogramFlags = "Definition", type = #type>

module attributes {gpu.container_module} {
// CHECK: result[0]: 4xf32=64 64 64 64
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32> loc(unknown)
  %1 = arith.addf %0, %0 : tensor<4xf32> loc("named"(unknown))
  %2 = arith.addf %1, %1 : tensor<4xf32> loc(callsite(unknown at #known))
  %3 = arith.addf %2, %2 : tensor<4xf32> loc(callsite(#inner at unknown))
  %4 = arith.addf %3, %3 : tensor<4xf32> loc(fused[unknown, #known])
  %5 = arith.addf %4, %4 : tensor<4xf32> loc(fused<"pass">["here"(#inner), callsite("there"(unknown) at unknown)])
  return %5 : tensor<4xf32> loc(unknown)
} loc(unknown)

// LAUNCHES: arg[0]: 4xf32=3 3 3 3
func.func @launches(%x: memref<4xf32>) {
  %c1 = arith.constant 1 : index loc(unknown)
  %c4 = arith.constant 4 : index loc(unknown)
  %d = gpu.alloc () : memref<4xf32> loc(unknown)
  gpu.memcpy %d, %x : memref<4xf32>, memref<4xf32> loc(callsite(unknown at unknown))
  gpu.launch_func @kernels::@triple blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1) args(%d : memref<4xf32>) loc("launch"(unknown))
  gpu.memcpy %x, %d : memref<4xf32>, memref<4xf32> loc(fused[unknown, unknown])
  gpu.dealloc %d : memref<4xf32> loc(unknown)
  return loc(unknown)
} loc(fused["a"(unknown)])

gpu.module @kernels {
  gpu.func @triple(%x: memref<4xf32>) kernel {
    %t = gpu.thread_id x loc(unknown)
    %v = memref.load %x[%t] : memref<4xf32> loc(fused[unknown, #known])
    %r = func.call @times3(%v) : (f32) -> f32 loc(unknown)
    gpu.barrier loc(unknown)
    memref.store %r, %x[%t] : memref<4xf32> loc(callsite(#inner at unknown))
    gpu.return loc(unknown)
  } loc(unknown)
  func.func private @times3(%v: f32) -> f32 {
    %c3 = arith.constant 3.0 : f32 loc(unknown)
    %r = arith.mulf %v, %c3 : f32 loc(unknown)
    return %r : f32 loc(unknown)
  } loc(unknown)
} loc(unknown)

// A function that brings its own scope keeps it; what has no place in it is the function's.

// SCOPED: 5
func.func @scoped(%x: i64) -> i64 {
  %a = llvm.call @own(%x) : (i64) -> i64 loc(unknown)
  %b = llvm.call @other(%a) : (i64) -> i64 loc(unknown)
  return %b : i64
} loc(unknown)
// LLVM-DAG: name: "own_name"
// LLVM-DAG: name: "other_name"
llvm.func internal @own(%x: i64) -> i64 attributes {passthrough = ["noinline"]} {
  %c1 = llvm.mlir.constant(1 : i64) : i64 loc(unknown)
  %r = llvm.add %x, %c1 : i64 loc(fused[#known, unknown])
  %s = llvm.call @leaf(%r) : (i64) -> i64 loc(unknown)
  llvm.return %s : i64 loc(unknown)
} loc(fused<#sub>["own.c":3:1])
llvm.func internal @other(%x: i64) -> i64 attributes {passthrough = ["noinline"]} {
  %r = llvm.call @leaf(%x) : (i64) -> i64 loc(unknown)
  llvm.return %r : i64 loc(unknown)
} loc(fused<#sub2>[unknown])
llvm.func internal @leaf(%x: i64) -> i64 {
  %c1 = llvm.mlir.constant(1 : i64) : i64
  %r = llvm.add %x, %c1 : i64
  llvm.return %r : i64
} loc(unknown)
}
