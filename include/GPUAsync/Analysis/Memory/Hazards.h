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

/// Two accesses that may meet, one of them writing.
struct Conflict {
  const Access *first = nullptr, *second = nullptr; ///< null: there is none
  /// Whether both are of one piece of memory; else they may be.
  bool isKnown() const;
};

/// The conflict of two ops in one iteration; one that is known if there is one.
Conflict findConflict(ArrayRef<Access> first, ArrayRef<Access> second);

/// Of a conflict that is not known: returns what may be the same memory, and
/// what says that it is not: "argument 1 may be argument 0; if it never is,
/// give one of the two the attribute llvm.noalias". Empty for memory that may
/// be anywhere.
std::string explainUnknown(const Conflict &conflict);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_MEMORY_HAZARDS_H
