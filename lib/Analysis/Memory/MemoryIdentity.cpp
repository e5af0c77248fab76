//===- MemoryIdentity.cpp - which memory a value means --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See MemoryIdentity.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/MemoryIdentity.h"
#include "GPUAsync/IR/GPUAsyncOps.h"

#include "mlir/IR/Block.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool MemoryIdentity::isMadeIn(Operation *op) const {
  if (!value)
    return false;
  Value made = value;
  // The bytes of a window are the slab's.
  if (auto window = value.getDefiningOp<WindowOp>())
    made = window.getSlab();
  return op->isAncestor(made.getParentBlock()->getParentOp());
}
