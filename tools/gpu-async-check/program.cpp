//===- program.cpp - main of a program compiled ahead of time -------------===//
//
// Part of gpu-async, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a lowered `@main` (renamed to gpuasync_check_main) and gives it the few
// print functions of MLIR's runner library, which would bring in LLVM.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"

#include <cstdint>
#include <cstdio>

extern "C" gpuasync_status *gpuasync_check_main();

namespace {

/// MLIR's memref descriptor, for any rank.
template <typename T>
struct Descriptor {
  T *allocated;
  T *aligned;
  int64_t offset;
  int64_t sizesAndStrides[];
};

void printElement(int32_t value) { std::printf("%d", value); }
void printElement(int64_t value) {
  std::printf("%lld", static_cast<long long>(value));
}
void printElement(float value) { std::printf("%g", value); }
void printElement(double value) { std::printf("%g", value); }

template <typename T>
void printElements(const T *data, const int64_t *sizes, const int64_t *strides,
                   int64_t rank) {
  if (rank == 0)
    return printElement(*data);
  std::putchar('[');
  for (int64_t i = 0; i < sizes[0]; ++i) {
    if (i)
      std::fputs(rank > 1 ? ",\n " : ", ", stdout);
    printElements(data + i * strides[0], sizes + 1, strides + 1, rank - 1);
  }
  std::putchar(']');
}

/// Unlike MLIR's own functions this prints no address, so that the outputs of
/// two devices can be compared.
template <typename T>
void printMemref(int64_t rank, const void *descriptor) {
  auto *memref = static_cast<const Descriptor<T> *>(descriptor);
  const int64_t *sizes = memref->sizesAndStrides;
  printElements(memref->aligned + memref->offset, sizes, sizes + rank, rank);
  std::putchar('\n');
}

struct Unranked {
  int64_t rank;
  void *descriptor;
};

} // namespace

#define GPUASYNC_PRINT(name, type)                                             \
  extern "C" void name(int64_t rank, void *descriptor);                        \
  extern "C" void _mlir_ciface_##name(Unranked *memref);                       \
  void name(int64_t rank, void *descriptor) {                                  \
    printMemref<type>(rank, descriptor);                                       \
  }                                                                            \
  void _mlir_ciface_##name(Unranked *memref) {                                 \
    printMemref<type>(memref->rank, memref->descriptor);                       \
  }
GPUASYNC_PRINT(printMemrefI32, int32_t)
GPUASYNC_PRINT(printMemrefI64, int64_t)
GPUASYNC_PRINT(printMemrefF32, float)
GPUASYNC_PRINT(printMemrefF64, double)

int main() {
  gpuasync::Status status(gpuasync_check_main());
  std::fflush(stdout);
  if (!status.ok()) {
    std::fprintf(stderr, "error: %s\n", status.message());
    return 1;
  }
  gpuasync::Status closed(gpuasync_shutdown());
  if (!closed.ok()) {
    std::fprintf(stderr, "error at the end: %s\n", closed.message());
    return 1;
  }
  return 0;
}
