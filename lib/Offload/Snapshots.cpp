//===- Snapshots.cpp - tensors that memory was read as --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Snapshots.h.
//===----------------------------------------------------------------------===//

#include "Snapshots.h"

#include "BodyEffects.h"
#include "SameMemory.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::offload;

/// Whether the op itself, without what its regions do, may write the memory.
static bool mayWrite(Operation *op, Value memory) {
  if (!getOwnEffects(op).writes)
    return false;
  auto interface = dyn_cast<MemoryEffectOpInterface>(op);
  if (!interface)
    return true;
  SmallVector<MemoryEffects::EffectInstance> effects;
  interface.getEffects(effects);
  return llvm::any_of(effects, [&](const auto &effect) {
    return !isa<MemoryEffects::Read, MemoryEffects::Allocate>(
               effect.getEffect()) &&
           (!effect.getValue() ||
            mayBeSame(getViewed(effect.getValue()), memory));
  });
}

/// Whether `first` has ended before `second` begins, each time that `view` has
/// run.
static bool isBefore(Operation *first, Operation *second, Operation *view) {
  for (Operation *op = first; op; op = op->getParentOp()) {
    Operation *other = op->getBlock()
                           ? op->getBlock()->findAncestorOpInBlock(*second)
                           : nullptr;
    if (!other)
      continue;
    // A loop around the two that the view is not in has both several times.
    return op != other && op->isBeforeInBlock(other) &&
           op->getParentOp()->isAncestor(view);
  }
  return false;
}

/// The ops that read a tensor, or one that is computed of it.
static SetVector<Operation *> findReaders(Value tensor) {
  SetVector<Operation *> readers;
  SmallVector<Value> worklist{tensor};
  while (!worklist.empty())
    for (Operation *user : worklist.pop_back_val().getUsers()) {
      // Values that a region gives are results of the op around it.
      for (Operation *op = user; op && !op->isAncestor(tensor.getDefiningOp());
           op = op->getParentOp()) {
        if (!readers.insert(op))
          break;
        llvm::copy_if(op->getResults(), std::back_inserter(worklist),
                      [](Value v) { return isa<TensorType>(v.getType()); });
        for (Region &region : op->getRegions())
          for (Value argument : region.getArguments())
            if (isa<TensorType>(argument.getType()))
              worklist.push_back(argument);
      }
    }
  return readers;
}

/// Whether the tensor may be elements of the memory, where they are.
static bool mayBeInPlace(Value tensor, bufferization::ToTensorOp view) {
  if (tensor == view.getResult())
    return true;
  Operation *op = tensor.getDefiningOp();
  if (op && op->hasTrait<OpTrait::Elementwise>())
    return false;
  if (!op || op->getNumRegions() > 0) {
    auto computed = dyn_cast_or_null<linalg::LinalgOp>(op);
    return !computed ||
           mayBeInPlace(
               computed.getTiedOpOperand(cast<OpResult>(tensor))->get(), view);
  }
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isa<TensorType>(operand.getType()) && mayBeInPlace(operand, view);
  });
}

/// Whether an op that reads the tensor and writes the memory reads an element
/// after it has written one.
static bool writesWhileReading(Operation *op, bufferization::ToTensorOp view) {
  auto write = dyn_cast<bufferization::MaterializeInDestinationOp>(op);
  if (!write)
    return true;
  // Each element to its own place.
  if (write.getSource() == view.getResult() &&
      write.getDest() == view.getBuffer())
    return false;
  return mayBeInPlace(write.getSource(), view);
}

/// Whether the memory may be something else by the time it is read.
static bool mayChange(bufferization::ToTensorOp view, Region &program) {
  Value memory = getViewed(view.getBuffer());
  SetVector<Operation *> readers = findReaders(view.getResult());
  return program
      .walk([&](Operation *op) {
        if (!mayWrite(op, memory) || isBefore(op, view, view))
          return WalkResult::advance();
        auto hasRead = [&](Operation *reader) {
          return reader == op ? !writesWhileReading(op, view)
                              : isBefore(reader, op, view);
        };
        return llvm::all_of(readers, hasRead) ? WalkResult::advance()
                                              : WalkResult::interrupt();
      })
      .wasInterrupted();
}

void offload::takeSnapshots(Region &program) {
  SmallVector<bufferization::ToTensorOp> views;
  program.walk([&](bufferization::ToTensorOp view) { views.push_back(view); });
  for (bufferization::ToTensorOp view : views) {
    auto type = dyn_cast<RankedTensorType>(view.getType());
    // One whose memory does not change is as if nobody else had it.
    if (type && !view.getWritable())
      view.setRestrict(true);
    if (!type || !mayChange(view, program))
      continue;
    OpBuilder builder(view->getContext());
    builder.setInsertionPointAfter(view);
    auto copy = bufferization::AllocTensorOp::create(
        builder, view.getLoc(), type, ValueRange(), view.getResult());
    view.getResult().replaceAllUsesExcept(copy, copy);
  }
}
