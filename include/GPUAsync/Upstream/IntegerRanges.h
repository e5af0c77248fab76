//===- IntegerRanges.h - ranges of integers ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's analysis reads the first element of each integer constant, also of one
// that has none, and the bounds of each loop, also of an affine.for whose
// bounds are maps.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_UPSTREAM_INTEGERRANGES_H
#define GPUASYNC_UPSTREAM_INTEGERRANGES_H

#include "mlir/Analysis/DataFlow/IntegerRangeAnalysis.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

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

  void visitNonControlFlowArguments(
      Operation *op, const RegionSuccessor &successor,
      ArrayRef<dataflow::IntegerValueRangeLattice *> arguments,
      unsigned firstIndex) override {
    auto isThere = [](ArrayRef<OpFoldResult> bounds) {
      return llvm::all_of(bounds, [](OpFoldResult bound) { return !!bound; });
    };
    auto loop = dyn_cast<LoopLikeOpInterface>(op);
    auto lower = loop ? loop.getLoopLowerBounds() : std::nullopt;
    auto upper = loop ? loop.getLoopUpperBounds() : std::nullopt;
    if (loop && !(lower && upper && isThere(*lower) && isThere(*upper)))
      return setAllToEntryStates(arguments);
    IntegerRangeAnalysis::visitNonControlFlowArguments(op, successor, arguments,
                                                       firstIndex);
  }
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_UPSTREAM_INTEGERRANGES_H
