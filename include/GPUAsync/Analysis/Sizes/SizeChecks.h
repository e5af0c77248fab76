//===- SizeChecks.h - What ops want of sizes and places ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops on tensors, and linalg ops, say what sizes of their operands must be and
// where slices and elements may lie. Where types do not show that it is so, and
// nothing in front of the op does, it is to be checked before the op runs.
//
// Not here: what memrefs promise (single accesses, views), ops in kernels and
// in the bodies of parallel loops if the loop computes the place, and indices
// that lie in memory (tensor.gather, tensor.extract in the body of a linalg
// op).
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_SIZES_SIZECHECKS_H
#define GPUASYNC_ANALYSIS_SIZES_SIZECHECKS_H

#include "GPUAsync/Analysis/Sizes/SizeTerms.h"

#include "mlir/Analysis/DataFlowFramework.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>
#include <memory>
#include <string>

namespace mlir::gpuasync {

/// One condition of an op.
struct SizeCheck {
  Operation *op;
  std::string message; ///< what is wrong if it does not hold
  /// Operands of the condition. With a null `build`: two sizes that are
  /// equal.
  SmallVector<SizeTerm> terms;
  /// Builds the condition, an i1, of values for `terms`.
  std::function<Value(OpBuilder &, Location, ValueRange)> build;

  bool isEquality() const { return !build; }
};

/// Finds the conditions of a function's ops in the order in which they run.
class SizeChecks {
public:
  using Visit = llvm::function_ref<void(const SizeCheck &)>;

  explicit SizeChecks(FunctionOpInterface function) : function(function) {}
  /// Calls `visit` for each condition that is not known to hold; behind it, it
  /// is taken to hold. `visit` may add ops, but for ones with conditions.
  void forEach(Visit visit);

private:
  void visitRegion(Region &region);
  void visitOp(Operation *op);
  void visitLinalg(Operation *op);
  void visitSlice(Operation *op, Value array, ArrayRef<OpFoldResult> offsets,
                  ArrayRef<OpFoldResult> sizes, ArrayRef<OpFoldResult> strides,
                  StringRef what);
  void visitPack(Operation *op);
  template <typename ExpandOp>
  void visitExpand(ExpandOp op);

  void wantEqual(Operation *op, SizeTerm a, SizeTerm b, const Twine &message);
  void wantAtLeastZero(Operation *op, ValueRange sizes);
  void wantSum(Operation *op, ArrayRef<SizeTerm> parts, Value result,
               int64_t dim);
  void want(SizeCheck check);
  bool isWithin(Operation *op, OpFoldResult offset, SizeTerm size,
                OpFoldResult stride, Value array, int64_t dim);
  std::optional<std::pair<int64_t, int64_t>> getRange(OpFoldResult number);

  FunctionOpInterface function;
  SizeTerms terms;
  EqualSizes facts;
  std::unique_ptr<DataFlowSolver> ranges; ///< made when first asked
  std::function<void(const SizeCheck &)> visit;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_SIZES_SIZECHECKS_H
