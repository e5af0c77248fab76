//===- VectorRegisters.h - those of the cpu device's processor --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix products for the cpu device keep as many sums as there are registers.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_VECTORREGISTERS_H
#define GPUASYNC_VECTORREGISTERS_H

#include <cstdint>

namespace mlir::gpuasync {

/// How many vector registers of how many bits a processor has. The default is
/// what each processor of x86-64 has.
struct VectorRegisters {
  int64_t count = 16, bits = 128;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_VECTORREGISTERS_H
