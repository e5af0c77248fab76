//===- Hazards.h - unordered ops that touch the same memory -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the pairs of ops of a function in token form that no token and no host
// wait orders although they may touch the same memory and one of them writes.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_MEMORY_HAZARDS_H
#define GPUASYNC_ANALYSIS_MEMORY_HAZARDS_H

#include "GPUAsync/Analysis/Memory/MemoryAccesses.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::gpuasync {

struct Hazard {
  Operation *first;
  Operation *second;
  Access firstAccess;
  Access secondAccess;
  /// `first` is of an earlier iteration of a loop around both.
  bool isCarried = false;

  /// Such as "read-after-write".
  StringRef getName() const;
};

/// All hazards of a function, by the place of the second op, then of the first.
/// Sequential ops have none by their meaning. Calls that take or return tokens
/// are ordered by these and are not looked into. Blocks of a control-flow graph
/// are looked at one by one.
std::vector<Hazard> findHazards(FunctionOpInterface function,
                                KernelTable &kernels, MemoryFacts &facts);

/// Writes what an access goes to, for instance "argument 0".
void printMemory(raw_ostream &os, const Access &access);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_HAZARDS_H
