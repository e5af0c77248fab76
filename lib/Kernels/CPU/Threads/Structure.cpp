//===- Structure.cpp - control flow around barriers -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Brings the control flow around barriers to scf.if, scf.for and scf.while:
// functions that hold barriers are copied to their calls, branches are lifted.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/IndexSwitch.h"
#include "Kernels/CPU/Kernel.h"
#include "mlir/Conversion/ControlFlowToSCF/ControlFlowToSCF.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::cpu;

namespace {
class Structuring {
public:
  explicit Structuring(func::FuncOp kernel)
      : kernel(kernel), symbols(kernel->getParentOp()) {}

  LogicalResult run() {
    if (failed(structure(kernel)))
      return failure();
    return separateLoops();
  }

private:
  LogicalResult structure(func::FuncOp function);
  LogicalResult inlineCalls(func::FuncOp function);
  LogicalResult lift(Region &region);
  LogicalResult normalize(Operation *op);
  /// All that hold a barrier or a subgroup op.
  LogicalResult normalize(Region &region);
  LogicalResult separateLoops();
  bool holdsCollective(Operation *op);

  func::FuncOp kernel;
  SymbolTable symbols;
  llvm::SetVector<Operation *> active;
  /// Operations that came in place of calls, and how many may. If each of 20
  /// functions calls the next one twice, there are a million.
  int64_t copied = 0;
  static constexpr int64_t mostCopied = 1 << 17;
};
} // namespace

/// Also through calls.
bool Structuring::holdsCollective(Operation *op) {
  llvm::SmallPtrSet<Operation *, 8> seen;
  auto holds = [&](auto &self, Operation *root) -> bool {
    return root
        ->walk([&](Operation *inner) {
          if (isCollective(inner))
            return WalkResult::interrupt();
          auto call = dyn_cast<func::CallOp>(inner);
          auto callee =
              call ? symbols.lookup<func::FuncOp>(call.getCallee()) : nullptr;
          if (callee && seen.insert(callee).second && self(self, callee))
            return WalkResult::interrupt();
          return WalkResult::advance();
        })
        .wasInterrupted();
  };
  return holds(holds, op);
}

LogicalResult Structuring::structure(func::FuncOp function) {
  if (!active.insert(function))
    return function.emitOpError(
        "calls itself and holds a barrier or a subgroup op, which is not "
        "supported by the cpu device");
  if (failed(inlineCalls(function)) || failed(lift(function.getBody())))
    return failure();
  active.remove(function);
  return normalize(function.getBody());
}

LogicalResult Structuring::normalize(Region &region) {
  SmallVector<Operation *> ops;
  // Inner ops first: what becomes of an op does not hold on to others.
  region.walk([&](Operation *op) {
    if (op->getNumRegions() && !isCollective(op))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (holdsCollective(op) && failed(normalize(op)))
      return failure();
  return success();
}

LogicalResult Structuring::inlineCalls(func::FuncOp function) {
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (!callee || callee.isExternal() || !holdsCollective(callee))
      continue;
    // The original stays as it is for other kernels.
    func::FuncOp copy = callee.clone();
    OwningOpRef<Operation *> owner(copy);
    call->getParentOfType<ModuleOp>().push_back(copy);
    owner.release();
    struct Erase {
      func::FuncOp op;
      ~Erase() { op.erase(); }
    } erase{copy};
    if (active.contains(callee))
      return call.emitOpError("is recursive and its callee holds a barrier or "
                              "a subgroup op, which is not supported by the "
                              "cpu device");
    active.insert(callee);
    if (failed(inlineCalls(copy)) || failed(lift(copy.getBody())))
      return failure();
    active.remove(callee);
    copy.walk([&](Operation *) { ++copied; });
    if (copied > mostCopied)
      return call.emitError("a function that holds a barrier or a subgroup op "
                            "goes in place of its call: more than ")
             << mostCopied << " operations would be copied into @"
             << kernel.getName() << ". Call it in a loop, or fewer times";
    IRMapping mapping;
    Block &body = copy.getBody().front();
    mapping.map(body.getArguments(), call.getOperands());
    OpBuilder builder(call);
    for (Operation &op : body.without_terminator())
      builder.clone(op, mapping);
    for (auto [result, value] : llvm::zip_equal(
             call.getResults(), body.getTerminator()->getOperands()))
      result.replaceAllUsesWith(mapping.lookupOrDefault(value));
    call.erase();
  }
  return success();
}

LogicalResult Structuring::lift(Region &region) {
  if (region.hasOneBlock())
    return success();
  ControlFlowToSCFTransformation transformation;
  DominanceInfo dominance;
  Operation *parent = region.getParentOp();
  if (failed(transformCFGToSCF(region, transformation, dominance)) ||
      !region.hasOneBlock())
    return parent->emitOpError("has branches around a barrier or a subgroup op "
                               "that cannot be made structured; the cpu device "
                               "takes cf.br, cf.cond_br and cf.switch");
  return success();
}

LogicalResult Structuring::normalize(Operation *op) {
  for (Region &region : op->getRegions())
    // Lifting makes ops of its own.
    if (!region.empty() && !region.hasOneBlock() &&
        (failed(lift(region)) || failed(normalize(region))))
      return failure();
  if (isControlFlow(op))
    return success();
  if (auto branch = dyn_cast<scf::IndexSwitchOp>(op)) {
    makeIfs(branch);
    return success();
  }
  if (auto region = dyn_cast<scf::ExecuteRegionOp>(op)) {
    Block &body = region.getRegion().front();
    Operation *yield = body.getTerminator();
    region.replaceAllUsesWith(SmallVector<Value>(yield->getOperands()));
    yield->erase();
    op->getBlock()->getOperations().splice(op->getIterator(),
                                           body.getOperations());
    op->erase();
    return success();
  }
  return op->emitOpError("is not supported by the cpu device around a barrier "
                         "or a subgroup op");
}

static void makeWhile(scf::ForOp op) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<Value> inits{op.getLowerBound()};
  llvm::append_range(inits, op.getInitArgs());
  SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  auto predicate = op.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                       : arith::CmpIPredicate::slt;
  auto loop = scf::WhileOp::create(
      builder, loc, types, inits,
      [&](OpBuilder &nested, Location, ValueRange values) {
        Value more = arith::CmpIOp::create(nested, loc, predicate, values[0],
                                           op.getUpperBound());
        scf::ConditionOp::create(nested, loc, more, values);
      },
      [&](OpBuilder &nested, Location, ValueRange values) {
        IRMapping mapping;
        mapping.map(op.getBody()->getArguments(), values);
        for (Operation &inner : op.getBody()->without_terminator())
          nested.clone(inner, mapping);
        SmallVector<Value> next{
            arith::AddIOp::create(nested, loc, values[0], op.getStep())};
        for (Value value : op.getYieldedValues())
          next.push_back(mapping.lookupOrDefault(value));
        scf::YieldOp::create(nested, loc, next);
      });
  op.replaceAllUsesWith(loop.getResults().drop_front());
  op.erase();
}

/// A loop that threads may leave at different times counts in each of them.
LogicalResult Structuring::separateLoops() {
  for (bool changed = true; changed;) {
    changed = false;
    // The block knows what it runs itself only.
    llvm::DenseSet<Operation *> meeting;
    kernel.walk([&](Operation *op) {
      if (isCollective(op))
        for (; op != kernel && meeting.insert(op).second;)
          op = op->getParentOp();
    });
    ThreadVariance variance(
        kernel, [&](Operation *op) { return meeting.contains(op); });
    SmallVector<scf::ForOp> loops;
    kernel.walk<WalkOrder::PreOrder>([&](scf::ForOp loop) {
      if (!meeting.contains(loop) || !variance.hasVaryingControl(loop))
        return WalkResult::advance();
      loops.push_back(loop);
      return WalkResult::skip();
    });
    for (scf::ForOp loop : loops) {
      makeWhile(loop);
      changed = true;
    }
  }
  return success();
}

LogicalResult cpu::structureAroundBarriers(func::FuncOp kernel) {
  return Structuring(kernel).run();
}
