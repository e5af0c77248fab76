//===- Destinations.cpp - what ops on tensors write to --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Destinations.h.
//===----------------------------------------------------------------------===//

#include "Destinations.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::gpuasync;

void offload::splitDestinations(Operation *root) {
  OpBuilder builder(root->getContext());
  SmallVector<Operation *> destinations;
  root->walk([&](Operation *op) {
    if (isa<linalg::FillOp, tensor::EmptyOp>(op) && op->getNumResults())
      destinations.push_back(op);
  });
  // Users before what they use: a copy of a fill is a user more.
  for (Operation *op : llvm::reverse(destinations)) {
    bool isFirst = true;
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      if (!std::exchange(isFirst, false)) {
        builder.setInsertionPoint(op);
        use.set(builder.clone(*op)->getResult(0));
      }
    }
  }
}
