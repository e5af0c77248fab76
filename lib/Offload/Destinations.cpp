//===- Destinations.cpp - what ops on tensors write to --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Destinations.h.
//===----------------------------------------------------------------------===//

#include "Destinations.h"

#include "BodyEffects.h"
#include "GPUAsync/Offload/Passes.h"
#include "SameMemory.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/Support/Threading.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

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
      // A round of a loop fills its tensor each time, with what it computes.
      Operation *user = use.getOwner();
      const bool isInner =
          isa<linalg::FillOp>(op) && user->getBlock() != op->getBlock() &&
          isa<scf::ForOp, scf::WhileOp, scf::IfOp>(user->getParentOp());
      if (!std::exchange(isFirst, false) || isInner) {
        builder.setInsertionPoint(isInner ? user : op);
        use.set(builder.clone(*op)->getResult(0));
      }
    }
  }
}

/// The tensor that takes the place of what the op uses, if there is one.
static Value getSuccessor(OpOperand &use) {
  Operation *user = use.getOwner();
  if (auto loop = dyn_cast<scf::ForallOp>(user))
    return loop.getTiedOpResult(&use);
  if (auto loop = dyn_cast<scf::ForOp>(user))
    return loop.getTiedLoopResult(&use);
  if (isa<scf::YieldOp>(user))
    return user->getParentOp()->getResult(use.getOperandNumber());
  if (auto writer = dyn_cast<DestinationStyleOpInterface>(user))
    return writer.isDpsInit(&use) ? writer.getTiedOpResult(&use) : OpResult();
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(user))
    return &use == &insert.getDestMutable() ? insert.getResult() : Value();
  if (auto cast = dyn_cast<tensor::CastOp>(user))
    return cast.getResult();
  return Value();
}

/// Whether the source, and what becomes of `memory` until then, are read by
/// nothing that comes after a write to what the op writes.
static bool isForSourceOnly(Value memory, Value source) {
  while (memory && memory != source) {
    if (!memory.hasOneUse())
      return false;
    memory = getSuccessor(*memory.use_begin());
  }
  return memory != nullptr;
}

/// The operand of an op in the loop's body that writes `argument`, one of the
/// loop's, element by element as the op reads `input`, which is `output` or a
/// slice of it; null: there is none.
static OpOperand *findSameElements(OpOperand &input, Value output,
                                   BlockArgument argument) {
  auto op = dyn_cast<linalg::GenericOp>(input.getOwner());
  if (!op || op.getNumReductionLoops() ||
      !op.getMatchingIndexingMap(&input).isIdentity())
    return nullptr;
  auto getSlice = [](Value value) {
    return value.getDefiningOp<tensor::ExtractSliceOp>();
  };
  tensor::ExtractSliceOp from = getSlice(input.get());
  for (OpOperand &init : op.getDpsInitsMutable()) {
    tensor::ExtractSliceOp to = getSlice(init.get());
    if ((to ? to.getSource() : init.get()) != argument ||
        !op.getMatchingIndexingMap(&init).isIdentity())
      continue;
    bool isSame = from && to
                      ? from.getSource() == output &&
                            from.getType() == to.getType() &&
                            from.getMixedOffsets() == to.getMixedOffsets() &&
                            from.getMixedSizes() == to.getMixedSizes() &&
                            from.getMixedStrides() == to.getMixedStrides()
                      : !to && input.get() == output;
    if (isSame)
      return &init;
  }
  return nullptr;
}

/// What a loop's body reads of a tensor: its uses, and those of its slices.
static SmallVector<OpOperand *> findReads(scf::ForallOp loop, Value tensor) {
  SmallVector<OpOperand *> reads;
  for (OpOperand &use : tensor.getUses()) {
    if (!loop->isProperAncestor(use.getOwner()))
      continue;
    if (auto slice = dyn_cast<tensor::ExtractSliceOp>(use.getOwner()))
      for (OpOperand &ofSlice : slice->getUses())
        reads.push_back(&ofSlice);
    else
      reads.push_back(&use);
  }
  return reads;
}

/// Where an op of a loop's body overwrites, element by element, what the loop's
/// destination held before, it reads that there: read from around the loop it
/// would have to be kept.
static void readInDestinations(scf::ForallOp loop) {
  for (auto [output, argument] :
       llvm::zip(loop.getOutputs(), loop.getRegionIterArgs()))
    for (OpOperand *read : findReads(loop, output))
      if (OpOperand *init = findSameElements(*read, output, argument))
        read->set(init->get());
}

/// Whether the loop reads a part of the tensor that was taken in front of it.
static bool readsPart(scf::ForallOp loop, Value tensor) {
  SmallVector<Value> parts{tensor};
  while (!parts.empty())
    for (Operation *user : parts.pop_back_val().getUsers())
      if (loop->isProperAncestor(user))
        continue;
      else if (isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp,
                   tensor::ExpandShapeOp, tensor::CastOp>(user)) {
        Value part = user->getResult(0);
        if (llvm::any_of(part.getUsers(), [&](Operation *reader) {
              return loop->isProperAncestor(reader) &&
                     !isa<tensor::DimOp>(reader);
            }))
          return true;
        parts.push_back(part);
      }
  return false;
}

/// Whether a loop that is to compute what becomes of `memory` in the place of
/// `destination` also reads that, but for the elements that it writes.
static bool readsDestination(Value memory, Value destination) {
  for (; memory && memory.hasOneUse();
       memory = getSuccessor(*memory.use_begin())) {
    OpOperand &use = *memory.use_begin();
    auto loop = dyn_cast<scf::ForallOp>(use.getOwner());
    if (!loop)
      continue;
    BlockArgument argument = loop.getTiedBlockArgument(&use);
    if (readsPart(loop, destination) ||
        llvm::any_of(findReads(loop, destination), [&](OpOperand *read) {
          return !findSameElements(*read, destination, argument);
        }))
      return true;
  }
  return false;
}

/// Whether something behind the op that first writes `memory` reads the
/// destination, or a part of it, before `end` overwrites it: computed in that
/// place, what is read would be gone.
static bool isReadBehind(Value memory, Value destination, Operation *end) {
  Block *block = end->getBlock();
  Operation *write =
      memory.hasOneUse()
          ? block->findAncestorOpInBlock(*memory.use_begin()->getOwner())
          : nullptr;
  if (!write)
    return false;
  SmallVector<Value> worklist{destination};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      if (isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp,
              tensor::ExpandShapeOp, tensor::CastOp>(user)) {
        worklist.push_back(user->getResult(0));
        continue;
      }
      Operation *reader = block->findAncestorOpInBlock(*user);
      if (reader && reader != end && write->isBeforeInBlock(reader) &&
          !isa<tensor::DimOp>(user))
        return true;
    }
  return false;
}

/// Whether the op, or what is in it, reads or writes memory.
static bool touchesMemory(Operation *op) {
  return getOwnEffects(op).touchMemory() || getBodyEffects(op).touchMemory();
}

/// Whether the memref is an argument for one of the function's results, which
/// nothing else touches.
static bool isResult(Value memref) {
  auto argument = dyn_cast<BlockArgument>(memref);
  auto function =
      argument
          ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
          : nullptr;
  return function &&
         function.getArgAttr(argument.getArgNumber(), kResultAttrName);
}

/// Whether the memref that `end` copies to is touched between the op that first
/// writes `memory` and the copy, or may be: computed there, the tensor would be
/// in the memref too early.
static bool mayBeTouchedBefore(bufferization::MaterializeInDestinationOp end,
                               Value memory) {
  if (isResult(end.getDest()))
    return false;
  // What is read behind the copy may be overwritten by then.
  if (!end.getSource().hasOneUse())
    return true;
  Operation *op = memory.hasOneUse() ? end->getBlock()->findAncestorOpInBlock(
                                           *memory.use_begin()->getOwner())
                                     : nullptr;
  for (; op && op != end; op = op->getNextNode())
    if (touchesMemory(op))
      return true;
  if (!op)
    return true;
  // A tensor that is memory's elements is read where it is used.
  return end->getParentOfType<FunctionOpInterface>()
      ->walk([&](bufferization::ToTensorOp view) {
        return !isResult(view.getBuffer()) &&
                       mayBeSame(getViewed(view.getBuffer()),
                                 getViewed(end.getDest()))
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Whether a round computes with what the round before has computed.
static bool isRecurrent(scf::ForOp loop) {
  SmallVector<Value> worklist(loop.getRegionIterArgs());
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!isa<TensorType>(value.getType()))
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp,
              tensor::ExpandShapeOp, tensor::CastOp>(user))
        llvm::append_range(worklist, user->getResults());
      else if (auto op = dyn_cast<linalg::LinalgOp>(user);
               op &&
               (op.isDpsInput(&use) || op.payloadUsesValueFromOperand(&use)))
        return true;
      else if (auto inner = dyn_cast<scf::ForallOp>(user))
        worklist.push_back(inner.getTiedBlockArgument(&use));
    }
  }
  return false;
}

/// Rounds that wait for each other use one memory.
static void leaveLoops(Operation *root) {
  root->walk([&](tensor::EmptyOp empty) {
    auto loop = dyn_cast<scf::ForOp>(empty->getParentOp());
    while (loop && isRecurrent(loop) &&
           llvm::all_of(empty->getOperands(), [&](Value size) {
             return loop.isDefinedOutsideOfLoop(size);
           })) {
      empty->moveBefore(loop);
      loop = dyn_cast<scf::ForOp>(empty->getParentOp());
    }
  });
}

/// As upstream's analysis, which says nothing where it fails: the op that it
/// finds may be any that has to do with the reason.
static bool analyze(Operation *root,
                    bufferization::OneShotAnalysisState &state) {
  ScopedDiagnosticHandler quiet(
      root->getContext(), [thread = llvm::get_threadid()](Diagnostic &) {
        return success(thread == llvm::get_threadid());
      });
  return succeeded(bufferization::analyzeOp(root, state));
}

static bufferization::OneShotBufferizationOptions getOptions() {
  bufferization::OneShotBufferizationOptions options;
  options.allowReturnAllocsFromLoops = true;
  return options;
}

/// Marks a function for which bufferization finds no order.
static LogicalResult writeToCopies(func::FuncOp root) {
  // Without the analysis upstream takes no calls with tensors.
  WalkResult calls = root.walk([](func::CallOp call) -> WalkResult {
    if (llvm::none_of(call.getOperandTypes(), llvm::IsaPred<TensorType>))
      return WalkResult::advance();
    return call.emitError()
           << "takes tensors, in a function in which bufferization finds no "
              "order of reads and writes, as where a loop yields a tensor "
              "and what it makes of it: give that loop a function of its "
              "own, or pass memrefs here";
  });
  root->setAttr(kCopiesAttrName, UnitAttr::get(root.getContext()));
  return failure(calls.wasInterrupted());
}

LogicalResult offload::checkOrder(func::FuncOp root) {
  bufferization::OneShotBufferizationOptions options = getOptions();
  bufferization::OneShotAnalysisState state(root, options);
  return analyze(root, state) ? success() : writeToCopies(root);
}

LogicalResult offload::computeInDestinations(func::FuncOp root) {
  IRRewriter rewriter(root->getContext());
  bufferization::OneShotBufferizationOptions options = getOptions();
  bufferization::OneShotAnalysisState state(root, options);
  if (!analyze(root, state))
    return writeToCopies(root);
  // That a memref is written is no matter of tensors: upstream's analysis does
  // not see that it ends what was there.
  if (failed(bufferization::eliminateEmptyTensors(
          rewriter, root, state,
          [](RewriterBase &rewriter, SubsetInsertionOpInterface op,
             tensor::EmptyOp empty, Operation *user) -> Value {
            auto copy = dyn_cast<bufferization::MaterializeInDestinationOp>(
                op.getOperation());
            if (copy && (isa<BaseMemRefType>(copy.getDest().getType())
                             ? !isForSourceOnly(empty, copy.getSource()) ||
                                   mayBeTouchedBefore(copy, empty)
                             : readsDestination(empty, copy.getDest()) ||
                                   isReadBehind(empty, copy.getDest(), copy)))
              return Value();
            return bufferization::buildSubsetExtraction(rewriter, op, empty,
                                                        user);
          })))
    return failure();
  root->walk(readInDestinations);
  leaveLoops(root);
  return success();
}
