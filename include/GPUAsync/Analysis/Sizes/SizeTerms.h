//===- SizeTerms.h - What sizes of arrays are made of -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A size of a tensor or memref, followed back through the ops that keep it: two
// sizes with one term are equal. Sizes never change, so a term holds wherever
// its value is visible.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_SIZES_SIZETERMS_H
#define GPUASYNC_ANALYSIS_SIZES_SIZETERMS_H

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::gpuasync {

/// A constant, a number of type `index`, or a dimension of an array.
struct SizeTerm {
  Value value;        ///< null: a constant
  int64_t number = 0; ///< the constant; the dimension; -1: `value` is the size

  static SizeTerm constant(int64_t number) { return {Value(), number}; }
  static SizeTerm index(Value value) { return {value, -1}; }
  static SizeTerm dimension(Value array, int64_t dim) { return {array, dim}; }

  bool isConstant() const { return !value; }
  bool isConstant(int64_t wanted) const { return !value && number == wanted; }
  bool operator==(const SizeTerm &other) const {
    return value == other.value && number == other.number;
  }
  bool operator!=(const SizeTerm &other) const { return !(*this == other); }
};

/// Finds terms. A plain value; the IR must not change in between, but for ops
/// that are added.
class SizeTerms {
public:
  /// Returns the term of dimension `dim` of a ranked tensor or memref.
  SizeTerm get(Value array, int64_t dim);
  /// Returns the term of an attribute or a value of type `index`.
  SizeTerm get(OpFoldResult size);

private:
  SizeTerm find(Value array, int64_t dim);
  SizeTerm findCarried(BlockArgument argument, int64_t dim);
  SizeTerm findResult(OpResult result, int64_t dim);
  SizeTerm carry(Value argument, Value first, Value next, int64_t dim);

  llvm::DenseMap<std::pair<Value, int64_t>, SizeTerm> known;
  /// Sizes that loops carry, while it is shown that each round keeps it.
  llvm::DenseMap<std::pair<Value, int64_t>, SizeTerm> assumed;
};

/// Facts about terms that are equal.
class EqualSizes {
public:
  /// Returns the term that stands for all that are equal to `term`; a constant
  /// if there is one.
  SizeTerm find(SizeTerm term) const;
  bool areEqual(SizeTerm a, SizeTerm b) const { return find(a) == find(b); }
  void add(SizeTerm a, SizeTerm b);

private:
  llvm::DenseMap<std::pair<Value, int64_t>, SizeTerm> parents;
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_SIZES_SIZETERMS_H
