//===- Compare.h - Results beside what they should be -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What --expect and --tolerance mean.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_COMPARE_H
#define GPUASYNC_TOOLS_GPURUNNER_COMPARE_H

#include "Values.h"

namespace gpurunner {

/// How far a value is from its reference of the same shape.
struct Difference {
  /// ||value - reference||_2 / ||reference||_2 over all elements. 0 where both
  /// are equal, infinite where a reference of zeros is not met, or where an
  /// element is NaN or infinite on one side and not the same on the other.
  double relative = 0;
  uint64_t differing = 0; ///< elements that are not equal
  uint64_t worst = 0;     ///< the first of those that differ most
};

Difference compare(const Value &value, const Value &reference);

/// "result[1]: error 3e-07": one line, without its end.
void printDifference(llvm::raw_ostream &os, const Difference &difference);
/// "the worst element [2][0] is 1.5, expected 1.25; 3 of 8 differ".
std::string worstElement(const Value &value, const Value &reference,
                         const Difference &difference);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_COMPARE_H
