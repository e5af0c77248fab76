// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What LLVM ends the process with, or crashes at, becomes a diagnostic at the
// function that it was at, and gpu-opt ends as it does after any error: without a
// signal, which `not` would report. What LLVM held at that point cannot be freed,
// which LeakSanitizer would report. (test/Kernels/FatalErrorsTest.cpp: as a
// library.)
// UNSUPPORTED: sanitizer
// REQUIRES: lld
// RUN: gpu-opt %s -split-input-file -verify-diagnostics -gpu-async-lower-kernels="ptxas=none libdevice=none rocm=none"
// RUN: not gpu-opt %s -split-input-file -gpu-async-lower-kernels="ptxas=none libdevice=none rocm=none" -o %t 2>&1 | FileCheck %s
// No report of the timers that were left running.
// CHECK-NOT: Timers
// CHECK: vscale
// CHECK-NOT: Timers

// expected-error @+1 {{gpu.module @k for nvptx:sm_90: LLVM cannot generate code: PTX version 6.0 does not support target 'sm_90'}}
gpu.module @k [#nvvm.target<chip = "sm_90", features = "+ptx60">] {
  gpu.func @f() kernel { gpu.return }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  gpu.func @right() kernel { gpu.return }
  // expected-error @+1 {{gpu.module @k for nvptx:sm_90: LLVM cannot generate code for @f: Cannot select: }}
  gpu.func @f(%p: !llvm.ptr) kernel {
    %v = llvm.call_intrinsic "llvm.vscale.i32"() : () -> i32
    llvm.store %v, %p : i32, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  // expected-error @+1 {{gpu.module @k for amdgcn:gfx90a: LLVM cannot generate code for @f: Cannot select: }}
  gpu.func @f(%p: !llvm.ptr) kernel {
    %v = llvm.call_intrinsic "llvm.vscale.i32"() : () -> i32
    llvm.store %v, %p : i32, !llvm.ptr
    gpu.return
  }
}

// -----

// LLVM runs into code that it holds unreachable.
// expected-error @+1 {{gpu.module @k for amdgcn:gfx90a: LLVM cannot generate code: LLVM's code generator crashed}}
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  gpu.func @f(%p: !llvm.ptr) kernel {
    %z = llvm.mlir.constant(0 : i32) : i32
    %v = llvm.call_intrinsic "llvm.frameaddress.p0"(%z) : (i32) -> !llvm.ptr
    llvm.store %v, %p : !llvm.ptr, !llvm.ptr
    gpu.return
  }
}

// -----

// What is no end of the process has a place too.
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  // expected-error @+2 {{LLVM cannot generate code for @f: value evaluated as 20000000004 is out of range}}
  // expected-error @+1 {{LLVM cannot generate code for @f: stack frame size (20000000004) exceeds limit}}
  gpu.func @f(%p: !llvm.ptr) kernel {
    %n = llvm.mlir.constant(5000000000 : i64) : i64
    %a = llvm.alloca %n x i32 : (i64) -> !llvm.ptr
    llvm.store volatile %a, %p : !llvm.ptr, !llvm.ptr
    gpu.return
  }
}

// -----

gpu.module @k [#nvvm.target<chip = "sm_90">] {
  // Found while the first function is written.
  // expected-error @+9 {{gpu.module @k for nvptx:sm_90: LLVM cannot generate code for @f: Circular dependency found in global variable set}}
  llvm.mlir.global external @a() {addr_space = 1 : i32} : !llvm.ptr<1> {
    %x = llvm.mlir.addressof @b : !llvm.ptr<1>
    llvm.return %x : !llvm.ptr<1>
  }
  llvm.mlir.global external @b() {addr_space = 1 : i32} : !llvm.ptr<1> {
    %x = llvm.mlir.addressof @a : !llvm.ptr<1>
    llvm.return %x : !llvm.ptr<1>
  }
  gpu.func @f(%p: !llvm.ptr) kernel {
    %x = llvm.mlir.addressof @a : !llvm.ptr<1>
    %y = llvm.load volatile %x : !llvm.ptr<1> -> !llvm.ptr<1>
    llvm.store %y, %p : !llvm.ptr<1>, !llvm.ptr
    gpu.return
  }
}

// -----

// Inline assembly is read by LLVM.
gpu.module @k [#rocdl.target<chip = "gfx90a", abi = "500">] {
  // expected-error @+1 {{invalid instruction}}
  gpu.func @f() kernel {
    llvm.inline_asm has_side_effects "nosuchinstruction", "" : () -> ()
    gpu.return
  }
}
