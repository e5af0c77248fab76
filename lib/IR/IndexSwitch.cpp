//===- IndexSwitch.cpp - scf.index_switch as scf.if -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See IndexSwitch.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/IndexSwitch.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::gpuasync;

void gpuasync::makeIfs(scf::IndexSwitchOp op) {
  IRRewriter rewriter(op);
  Location loc = op.getLoc();
  scf::IfOp outer;
  Region *rest = nullptr;
  for (auto [number, value] : llvm::enumerate(op.getCases())) {
    if (rest)
      rewriter.createBlock(rest);
    Value isCase = arith::CmpIOp::create(
        rewriter, loc, arith::CmpIPredicate::eq, op.getArg(),
        arith::ConstantIndexOp::create(rewriter, loc, value));
    auto branch =
        scf::IfOp::create(rewriter, loc, op.getResultTypes(), isCase,
                          /*addThenBlock=*/false, /*addElseBlock=*/false);
    branch.getThenRegion().takeBody(op.getCaseRegions()[number]);
    if (rest)
      scf::YieldOp::create(rewriter, loc, branch.getResults());
    else
      outer = branch;
    rest = &branch.getElseRegion();
  }
  Region &otherwise = op.getDefaultRegion();
  if (rest) {
    rest->takeBody(otherwise);
    rewriter.replaceOp(op, outer);
    return;
  }
  Operation *yield = otherwise.front().getTerminator();
  SmallVector<Value> values(yield->getOperands());
  rewriter.eraseOp(yield);
  rewriter.inlineBlockBefore(&otherwise.front(), op);
  rewriter.replaceOp(op, values);
}
