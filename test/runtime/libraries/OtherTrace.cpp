//===- OtherTrace.cpp - A tracer of another version -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands for libgpuasync_trace.so, and refuses every runtime.
//===----------------------------------------------------------------------===//

extern "C" __attribute__((visibility("default"))) void *
gpuasyncMakeTraceService(const void *) {
  return nullptr;
}
