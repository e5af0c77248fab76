//===- ReturnByDestination.cpp - tensor results as arguments --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Before bufferization, so that results are computed where the caller wants
// them: upstream's pass behind it copies, and cannot return a buffer twice.
//===----------------------------------------------------------------------===//

#include "Destinations.h"
#include "GPUAsync/Analysis/Sizes/SizeTerms.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCRETURNBYDESTINATION
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct ReturnByDestination
    : public gpuasync::impl::GPUAsyncReturnByDestinationBase<
          ReturnByDestination> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    offload::splitDestinations(function);
    if (function.isExternal())
      return;
    if (!function.isPublic() || !llvm::hasSingleElement(function.getBody()))
      function.walk([](scf::WhileOp loop) { keepInPlace(loop); });
    if (function.isPublic()) {
      if (failed(checkBlocks()))
        return signalPassFailure();
      if (llvm::hasSingleElement(function.getBody())) {
        function.walk(keepInPlace);
        if (failed(returnResults()))
          return signalPassFailure();
      }
    }
    if (failed(offload::computeInDestinations(function)))
      signalPassFailure();
  }

private:
  LogicalResult checkBlocks() {
    func::FuncOp function = getOperation();
    if (llvm::hasSingleElement(function.getBody()) ||
        llvm::none_of(function.getResultTypes(), llvm::IsaPred<TensorType>))
      return success();
    return function.emitError(
        "returns tensors from more than one block: return "
        "them from one, as scf.if and scf.while do");
  }
  static void keepInPlace(Operation *loop);
  LogicalResult returnResults();
};

/// Tensors that the rounds of a loop have of each other.
struct Rounds {
  explicit Rounds(scf::ForOp loop);
  explicit Rounds(scf::WhileOp loop);

  bool carries(Value value) const {
    return llvm::is_contained(llvm::make_first_range(carried), value);
  }
  bool hold(Operation *op) const { return loop->isProperAncestor(op); }

  Operation *loop;
  /// Those that a round begins with, and what it yields for the next one.
  SmallVector<std::pair<BlockArgument, OpOperand *>> carried;
};
} // namespace

Rounds::Rounds(scf::ForOp loop) : loop(loop) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [argument, yielded] :
       llvm::zip(loop.getRegionIterArgs(), yield->getOpOperands()))
    carried.emplace_back(argument, &yielded);
}

/// Upstream's bufferization keeps in place what the first region hands on to
/// the second one as the same number.
Rounds::Rounds(scf::WhileOp loop) : loop(loop) {
  for (auto [number, value] : llvm::enumerate(loop.getConditionOp().getArgs()))
    if (number < loop.getBeforeArguments().size() &&
        value == loop.getBeforeArguments()[number])
      carried.emplace_back(loop.getAfterArguments()[number],
                           &loop.getYieldOp()->getOpOperand(number));
}

/// What the branches of an `scf.if` or `scf.index_switch` yield as `value`;
/// nothing if it is no result of these.
static SmallVector<OpOperand *> getYields(Value value) {
  SmallVector<OpOperand *> yields;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<scf::IfOp, scf::IndexSwitchOp>(op))
    for (Region &region : op->getRegions())
      yields.push_back(&region.front().getTerminator()->getOpOperand(
          cast<OpResult>(value).getResultNumber()));
  return yields;
}

/// Whether it may be what the loop carried into the round, at another place.
static bool mayBeCarried(Value value, const Rounds &rounds) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return rounds.carries(value);
  if (isa<tensor::CastOp, tensor::ExtractSliceOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp>(op))
    return mayBeCarried(op->getOperand(0), rounds);
  return rounds.hold(op) &&
         (isa<arith::SelectOp>(op) ||
          llvm::any_of(getYields(value), [&](OpOperand *yield) {
            return mayBeCarried(yield->get(), rounds);
          }));
}

/// Whether it is computed in the place of what the loop carries as another one
/// than `own`, or may be.
static bool takesAnothersPlace(Value value, BlockArgument own,
                               const Rounds &rounds) {
  while (auto result = dyn_cast<OpResult>(value)) {
    Operation *op = result.getOwner();
    if (auto inner = dyn_cast<scf::ForallOp>(op))
      value = inner.getTiedOpOperand(result)->get();
    else if (auto inner = dyn_cast<scf::ForOp>(op))
      value = inner.getTiedLoopInit(result)->get();
    else if (auto writer = dyn_cast<DestinationStyleOpInterface>(op))
      value = writer.getTiedOpOperand(result)->get();
    else if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
      value = insert.getDest();
    else
      return rounds.hold(op) &&
             llvm::any_of(getYields(value), [&](OpOperand *yield) {
               return takesAnothersPlace(yield->get(), own, rounds);
             });
  }
  return value != own && rounds.carries(value);
}

/// Reads it into memory of its own, in front of `user`.
static Value copyBefore(Operation *user, Value value) {
  OpBuilder builder(user);
  return bufferization::AllocTensorOp::create(
      builder, user->getLoc(), cast<RankedTensorType>(value.getType()),
      ValueRange(), value);
}

/// A branch that yields what the loop carries, or what is computed in the place
/// of another than `own`, yields a copy.
static void copyInBranches(OpOperand &yield, BlockArgument own,
                           const Rounds &rounds) {
  Value value = yield.get();
  SmallVector<OpOperand *> inner = getYields(value);
  for (OpOperand *each : inner)
    copyInBranches(*each, own, rounds);
  if (inner.empty() &&
      (mayBeCarried(value, rounds) || takesAnothersPlace(value, own, rounds)))
    yield.set(copyBefore(yield.getOwner(), value));
}

/// Whether nothing reads the argument behind the op, by no other name either.
static bool isReadUntil(Operation *op, BlockArgument argument) {
  return llvm::all_of(argument.getUsers(), [&](Operation *user) {
    Operation *outer = argument.getOwner()->findAncestorOpInBlock(*user);
    return outer == op || (outer->isBeforeInBlock(op) && outer == user &&
                           isa<linalg::LinalgOp, scf::ForallOp,
                               tensor::ExtractOp, tensor::DimOp>(user));
  });
}

/// Whether inner loops leave the value in the place of `argument` already, one
/// after the other. Else those that begin there begin with a copy.
static bool staysInInnerLoops(Value value, BlockArgument argument) {
  bool isAlone = argument.hasOneUse();
  SmallVector<OpOperand *> begins;
  SmallVector<Value> worklist{value};
  llvm::SmallDenseSet<Value> seen;
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!seen.insert(next).second ||
        !isa_and_nonnull<scf::ForOp, scf::WhileOp>(op))
      continue;
    isAlone &= next.hasOneUse() && isa<scf::ForOp>(op);
    for (OpOperand &operand : op->getOpOperands()) {
      auto loop = dyn_cast<scf::ForOp>(op);
      if (!isa<TensorType>(operand.get().getType()) ||
          (loop && loop.getTiedLoopResult(&operand) != next))
        continue;
      worklist.push_back(operand.get());
      if (operand.get() == argument)
        begins.push_back(&operand);
    }
  }
  if (begins.empty() || isAlone)
    return !begins.empty();
  for (OpOperand *begin : begins)
    begin->set(copyBefore(begin->getOwner(), argument));
  return false;
}

/// Each branch puts what it yields in the place of the argument.
static void placeInBranches(OpOperand &yield, BlockArgument argument) {
  if (yield.get() == argument)
    return;
  SmallVector<OpOperand *> inner = getYields(yield.get());
  for (OpOperand *each : inner)
    placeInBranches(*each, argument);
  if (!inner.empty() || staysInInnerLoops(yield.get(), argument))
    return;
  OpBuilder builder(yield.getOwner());
  yield.set(bufferization::MaterializeInDestinationOp::create(
                builder, yield.getOwner()->getLoc(), argument.getType(),
                yield.get(), argument)
                .getResult());
}

/// Whether the types, or the ops that make them, show two tensors to have the
/// same sizes.
static bool haveEqualSizes(Value a, Value b) {
  SizeTerms terms;
  return llvm::all_of(
      llvm::seq<int64_t>(cast<RankedTensorType>(a.getType()).getRank()),
      [&](int64_t dim) { return terms.get(a, dim) == terms.get(b, dim); });
}

/// What the next round begins with takes the place of what this one began with,
/// if it is as large. Returns what is there now.
static llvm::SmallPtrSet<OpOperand *, 8> keepInPlace(const Rounds &rounds) {
  SmallVector<std::pair<BlockArgument, OpOperand *>> moved;
  llvm::SmallPtrSet<OpOperand *, 8> settled;
  for (auto [argument, yielded] : rounds.carried) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    if (yielded->get() == argument) {
      settled.insert(yielded);
      continue;
    }
    if (!haveEqualSizes(yielded->get(), argument))
      continue;
    settled.insert(yielded);
    if (!staysInInnerLoops(yielded->get(), argument))
      moved.push_back({argument, yielded});
  }
  if (moved.empty())
    return settled;
  Operation *yield = moved.front().second->getOwner();
  OpBuilder builder(yield);
  Location loc = rounds.loop->getLoc();
  if (moved.size() == 1) {
    auto [argument, yielded] = moved.front();
    Value value = yielded->get();
    bool isChosen = !getYields(value).empty() && value.hasOneUse() &&
                    value.getDefiningOp()->getBlock() == yield->getBlock();
    if (isChosen && isReadUntil(value.getDefiningOp(), argument)) {
      placeInBranches(*yielded, argument);
      return settled;
    }
  }
  // If they change places: all are read before one is written.
  for (auto [argument, yielded] : moved)
    if (!getYields(yielded->get()).empty())
      copyInBranches(*yielded, argument, rounds);
    else if (moved.size() > 1 &&
             (mayBeCarried(yielded->get(), rounds) ||
              takesAnothersPlace(yielded->get(), argument, rounds)))
      yielded->set(copyBefore(yield, yielded->get()));
  // One value may go to several places.
  llvm::SmallDenseMap<Value, Value> placed;
  for (auto [argument, yielded] : moved) {
    Value &value =
        placed.try_emplace(yielded->get(), yielded->get()).first->second;
    value = bufferization::MaterializeInDestinationOp::create(
                builder, loc, argument.getType(), value, argument)
                .getResult();
    yielded->set(value);
  }
  return settled;
}

void ReturnByDestination::keepInPlace(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    ::keepInPlace(Rounds(loop));
  auto loop = dyn_cast<scf::WhileOp>(op);
  if (!loop)
    return;
  // Upstream's analysis does not see that the first region may overwrite what
  // the second one yields, which others may read, in later rounds too.
  auto settled = ::keepInPlace(Rounds(loop));
  scf::YieldOp yield = loop.getYieldOp();
  for (OpOperand &yielded : yield->getOpOperands())
    if (isa<RankedTensorType>(yielded.get().getType()) &&
        !settled.contains(&yielded))
      yielded.set(copyBefore(yield, yielded.get()));
}

LogicalResult ReturnByDestination::returnResults() {
  func::FuncOp function = getOperation();
  OpBuilder builder(&getContext());
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes()))
    if (isa<TensorType>(type))
      function.setArgAttr(
          number, bufferization::BufferizationDialect::kWritableAttrName,
          builder.getBoolAttr(false));

  auto end = cast<func::ReturnOp>(function.front().getTerminator());
  builder.setInsertionPoint(end);
  llvm::BitVector gone(function.getNumResults());
  for (auto [number, value] : llvm::enumerate(end.getOperands())) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    if (!type.hasStaticShape()) {
      // Memory of its own, whatever else has the value.
      Value copy = bufferization::AllocTensorOp::create(
          builder, value.getLoc(), type, ValueRange(), value);
      end->setOperand(number, copy);
      continue;
    }
    unsigned argument = function.getNumArguments();
    auto memref = MemRefType::get(type.getShape(), type.getElementType());
    auto attributes = builder.getDictionaryAttr(
        {builder.getNamedAttr(kResultAttrName,
                              builder.getI64IntegerAttr(number)),
         builder.getNamedAttr(LLVM::LLVMDialect::getNoAliasAttrName(),
                              builder.getUnitAttr())});
    if (failed(function.insertArgument(argument, memref, attributes,
                                       value.getLoc())))
      return failure();
    auto put = bufferization::MaterializeInDestinationOp::create(
        builder, value.getLoc(), value, function.getArgument(argument));
    put.setRestrict(true);
    put.setWritable(true);
    gone.set(number);
  }
  end->eraseOperands(gone);
  if (gone.any())
    Decision(*this, function, "ResultsByDestination")
        .count(numResults, "results", gone.count());
  return function.eraseResults(gone);
}
