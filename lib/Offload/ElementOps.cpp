//===- ElementOps.cpp - a block's product and what goes with it -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ElementOps.h.
//===----------------------------------------------------------------------===//

#include "ElementOps.h"

#include "Contraction.h"
#include "SameMemory.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// From the op's loops. False if another op has them otherwise.
bool ElementOps::setPlaces(linalg::LinalgOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!written.contains(operand.get()))
      continue;
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (op == product ? !op.isDpsInit(&operand) : !map.isPermutation())
      return false;
    SmallVector<unsigned> place;
    for (unsigned dim = 0; dim < map.getNumResults(); ++dim)
      place.push_back(loopsOf[op][map.getDimPosition(dim)]);
    if (places.try_emplace(operand.get(), place).first->second != place)
      return false;
  }
  return true;
}

/// From an operand whose places are known. False if there is none.
bool ElementOps::setLoops(linalg::LinalgOp op) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto found = places.find(operand.get());
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (found == places.end() || !map.isPermutation())
      continue;
    SmallVector<unsigned> loops(op.getNumLoops());
    for (auto [dim, loop] : llvm::enumerate(found->second))
      loops[map.getDimPosition(dim)] = loop;
    loopsOf[op] = loops;
    return true;
  }
  return false;
}

/// Whether no op reads or writes by another name what is written.
bool ElementOps::isWrittenOnlyByName() {
  llvm::DenseMap<Value, Value> names;
  for (Value memory : written)
    if (!names.try_emplace(getViewed(memory), memory).second)
      return false;
  for (linalg::LinalgOp op : ops)
    for (Value operand : op->getOperands()) {
      auto found = names.find(getViewed(operand));
      if (found != names.end() && found->second != operand)
        return false;
    }
  return true;
}

bool ElementOps::match() {
  for (linalg::LinalgOp op : ops) {
    if (!op.hasPureBufferSemantics())
      return false;
    if (op.getNumReductionLoops()) {
      if (product || !isForTensorCores(op))
        return false;
      product = op;
    }
    for (Value output : op.getDpsInits())
      written.insert(output);
  }
  if (!product || !isWrittenOnlyByName())
    return false;
  llvm::append_range(loopsOf[product],
                     llvm::seq<unsigned>(0, product.getNumLoops()));
  if (!setPlaces(product))
    return false;
  SmallVector<linalg::LinalgOp> left;
  llvm::copy_if(ops, std::back_inserter(left),
                [&](linalg::LinalgOp op) { return op != product; });
  while (!left.empty()) {
    auto next =
        llvm::find_if(left, [&](linalg::LinalgOp op) { return setLoops(op); });
    if (next == left.end() || !setPlaces(*next))
      return false;
    left.erase(next);
  }
  return true;
}

void ElementOps::erase(RewriterBase &rewriter) {
  for (linalg::LinalgOp op : ops)
    rewriter.eraseOp(op);
  for (Value memory : written)
    if (isOwn(memory)) {
      for (Operation *user : llvm::make_early_inc_range(memory.getUsers()))
        rewriter.eraseOp(user);
      rewriter.eraseOp(memory.getDefiningOp());
    }
}
