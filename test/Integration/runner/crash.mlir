// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Host code that crashes: one message with the line, and no leak report.
// A sanitizer reports such crashes itself, in its own words.
// UNSUPPORTED: sanitizer
// RUN: not gpu-runner --device=cpu %s -e store --input=null 2>&1 | FileCheck %s --check-prefix=SEGV --implicit-check-not=never
// RUN: not gpu-runner --device=cpu %s -e divide --input=7 --input=0 2>&1 | FileCheck %s --check-prefix=FPE
// RUN: not gpu-runner --device=cpu %s -e aborts 2>&1 | FileCheck %s --check-prefix=ABORT
// RUN: not gpu-runner --device=cpu %s -e overflow --input=3 2>&1 | FileCheck %s --check-prefix=STACK
// RUN: not gpu-runner --device=cpu %s -e forever --timeout=0.2 2>&1 | FileCheck %s --check-prefix=FOREVER

func.func private @abort()

func.func @store(%p: !llvm.ptr) {
  %never = gpu.alloc () : memref<4xf32>
  %v = arith.constant 1 : i32
  // SEGV: gpu-runner: error: segmentation fault at address {{.*}} while running the program, in @{{.*}}store at {{.*}}crash.mlir:[[@LINE+1]]:3
  llvm.store volatile %v, %p : i32, !llvm.ptr
  return
}

func.func @divide(%v: i32, %n: i32) -> i32 {
  // FPE: gpu-runner: error: arithmetic fault (a division by zero?) while running the program, in @{{.*}}divide at {{.*}}crash.mlir:[[@LINE+1]]:8
  %0 = arith.divsi %v, %n : i32
  return %0 : i32
}

func.func @aborts() {
  // ABORT: gpu-runner: error: abort while running the program, in @{{.*}}aborts at {{.*}}crash.mlir:[[@LINE+1]]:3
  call @abort() : () -> ()
  return
}

// Volatile accesses on both sides of the call keep LLVM from making it a loop.
// STACK: gpu-runner: error: segmentation fault at address {{.*}} while running the program, in @{{.*}}deeper
func.func private @deeper(%n: i32) -> i32 attributes {no_inline} {
  %size = arith.constant 1000 : i32
  %x = llvm.alloca %size x i32 : (i32) -> !llvm.ptr
  %c1 = arith.constant 1 : i32
  llvm.store volatile %n, %x : i32, !llvm.ptr
  %m = arith.addi %n, %c1 : i32
  %r = call @deeper(%m) : (i32) -> i32
  %v = llvm.load volatile %x : !llvm.ptr -> i32
  %s = arith.muli %r, %v : i32
  return %s : i32
}
func.func @overflow(%n: i32) -> i32 {
  %r = call @deeper(%n) : (i32) -> i32
  return %r : i32
}

// FOREVER: gpu-runner: error: no end after 0.2 seconds (--timeout) while running the program
func.func @forever() {
  %x = memref.alloca() : memref<1xi1>
  cf.br ^loop
^loop:
  %p = memref.extract_aligned_pointer_as_index %x : memref<1xi1> -> index
  %i = arith.index_cast %p : index to i64
  %q = llvm.inttoptr %i : i64 to !llvm.ptr
  %v = llvm.load volatile %q : !llvm.ptr -> i8
  cf.br ^loop
}
