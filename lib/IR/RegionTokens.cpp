//===- RegionTokens.cpp - tokens and region ops ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See RegionTokens.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/RegionTokens.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool mlir::gpuasync::isToken(Value value) {
  return isa<TokenType>(value.getType());
}

bool mlir::gpuasync::runsOneRegionOnce(Operation *op) {
  return isa<scf::IfOp, scf::IndexSwitchOp, scf::ExecuteRegionOp>(op);
}

bool mlir::gpuasync::isTokenLoop(Operation *op) {
  return isa<scf::ForOp, scf::WhileOp>(op);
}

bool mlir::gpuasync::carriesTokens(Operation *op) {
  return (isTokenLoop(op) || runsOneRegionOnce(op)) &&
         llvm::all_of(op->getRegions(), [](Region &region) {
           return region.empty() || region.hasOneBlock();
         });
}

Operation *mlir::gpuasync::appendTokens(Operation *op, ValueRange inits,
                                        unsigned count) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(op->getOperands());
  // Initial values are the last operands of scf.for and scf.while.
  state.addOperands(inits);
  state.addTypes(op->getResultTypes());
  state.types.append(count, builder.getType<TokenType>());
  state.addAttributes(op->getAttrs());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  Operation *created = builder.create(state);
  op->replaceAllUsesWith(created->getResults().take_front(op->getNumResults()));
  op->erase();
  return created;
}
