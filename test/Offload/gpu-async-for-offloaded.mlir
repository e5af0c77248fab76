// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s -split-input-file --pass-pipeline="builtin.module(gpu-async-for-offloaded{pipelines=func.func(canonicalize,gpu-async-launch-tiles{device=gpu vector-bits=256}),builtin.module(symbol-dce)})" | FileCheck %s

// The pipeline is printed as it is read.
// RUN: gpu-opt %s -split-input-file --pass-pipeline="builtin.module(gpu-async-for-offloaded{pipelines=func.func(cse,gpu-async-launch-tiles{device=gpu vector-bits=256}),builtin.module(symbol-dce)})" --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: gpu-async-for-offloaded{pipelines={func.func(cse,gpu-async-launch-tiles{device=gpu vector-bits=256 vector-registers=16}),builtin.module(symbol-dce)}}

// Only functions with the mark are touched, in the order of the module.
// CHECK-LABEL: func.func @marked
// CHECK-NEXT: return
func.func @marked(%x: i32) attributes {gpu_async.offloaded} {
  %y = arith.addi %x, %x : i32
  return
}
// CHECK-LABEL: func.func @unmarked
// CHECK-NEXT: arith.addi
func.func @unmarked(%x: i32) {
  %y = arith.addi %x, %x : i32
  return
}
// CHECK-NOT: @unused
func.func private @unused() {
  return
}

// -----

// Without such a function nothing is done.
// CHECK-LABEL: func.func @plain
// CHECK-NEXT: arith.addi
func.func @plain(%x: i32) {
  %y = arith.addi %x, %x : i32
  return
}
// CHECK: func.func private @unused
func.func private @unused() {
  return
}
