// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gpu-opt %s --gpu-async-instrument-accesses -verify-diagnostics

func.func @blocks() {
  // expected-error @below {{has a control-flow graph; in the stream form a region is one block}}
  gpu_async.region {
    cf.br ^end
  ^end:
  }
  return
}
