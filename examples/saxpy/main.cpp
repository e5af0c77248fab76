//===- main.cpp - calls saxpy.mlir, compiled ahead of time ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// docs/reference/gpu-runner.md has the commands, docs/reference/ABI.md the
// calling conventions.
//===----------------------------------------------------------------------===//

#include "gpuasync/Status.h"

#include <cstdint>
#include <cstdio>

/// MLIR's descriptor of a `memref<?xf32>`.
struct Vector {
  float *allocated, *aligned;
  int64_t offset, size, stride;
};

/// The wrapper of `func.func @saxpy(f32, memref<?xf32>, memref<?xf32>)`: one
/// pointer for each argument, one to the result, one to a gpuasync_status *.
extern "C" void _gpuasync_packed_saxpy(void **args);

int main() {
  float a = 2, xs[] = {1, 2, 3}, ys[] = {10, 20, 30};
  Vector x{xs, xs, 0, 3, 1}, y{ys, ys, 0, 3, 1};
  gpuasync_status *raw = nullptr;
  void *args[] = {&a, &x, &y, nullptr, &raw};
  _gpuasync_packed_saxpy(args);
  if (gpuasync::Status status(raw); !status.ok()) {
    std::puts(status.message());
    return 1;
  }
  std::printf("%g %g %g\n", ys[0], ys[1], ys[2]);
}
