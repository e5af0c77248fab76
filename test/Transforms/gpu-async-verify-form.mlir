// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which ops belong to a form; the linear and stream forms' ownership has files
// of its own.
//
// RUN: split-file %s %t
// RUN: gpu-opt %t/token.mlir -gpu-async-verify-form=form=token -split-input-file -verify-diagnostics
// RUN: gpu-opt %t/runtime.mlir -gpu-async-verify-form=form=runtime -verify-diagnostics
// RUN: not gpu-opt %t/runtime.mlir -gpu-async-verify-form=form=other 2>&1 | FileCheck %s
// CHECK: for the --form option: 'other' is none of token, linear, stream, runtime

//--- token.mlir
func.func @upstream() {
  // expected-error @+1 {{does not belong to the token and linear forms; import it}}
  gpu.wait
  return
}

// -----

func.func @stream_op() {
  // expected-error @+1 {{belongs to the stream form}}
  %s = gpu_async.stream.create
  return
}

// -----

func.func @placed_work(%s: !gpu_async.stream, %x: memref<4xf32>) {
  // expected-error @+1 {{makes no token}}
  gpu_async.memcpy on %s %x, %x : memref<4xf32>, memref<4xf32>
  return
}

//--- runtime.mlir
func.func @left() {
  // expected-error @+1 {{is left in the runtime form}}
  %s = gpu_async.stream.create
  // expected-error @+1 {{is left in the runtime form}}
  gpu_async.stream.destroy %s
  return
}
