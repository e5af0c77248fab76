//===- IntegerRanges.h - ranges of integers ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's analysis reads the first element of each integer constant, also of one
// that has none.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_UPSTREAM_INTEGERRANGES_H
#define GPUASYNC_UPSTREAM_INTEGERRANGES_H

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/IR/Matchers.h"

namespace mlir::gpuasync {

class IntegerRanges : public dataflow::IntegerRangeAnalysis {
public:
  using IntegerRangeAnalysis::IntegerRangeAnalysis;

  LogicalResult visitOperation(
      Operation *op,
      ArrayRef<const dataflow::IntegerValueRangeLattice *> operands,
      ArrayRef<dataflow::IntegerValueRangeLattice *> results) override {
    ElementsAttr elements;
    if (matchPattern(op, m_Constant(&elements)) && elements.empty()) {
      setAllToEntryStates(results);
      return success();
    }
    return IntegerRangeAnalysis::visitOperation(op, operands, results);
  }
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_UPSTREAM_INTEGERRANGES_H
