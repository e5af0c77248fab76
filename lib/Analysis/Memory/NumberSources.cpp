//===- NumberSources.cpp - what a number is computed from -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See NumberSources.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Analysis/Memory/NumberSources.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;

bool gpuasync::isPointer(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return isPointer(vector.getElementType());
  return isa<PtrLikeTypeInterface, LLVM::LLVMPointerType,
             nvgpu::TensorMapDescriptorType>(type);
}

bool gpuasync::mayHoldAddress(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return mayHoldAddress(vector.getElementType());
  if (auto complex = dyn_cast<ComplexType>(type))
    return mayHoldAddress(complex.getElementType());
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() >= 64;
  return !isa<FloatType>(type);
}

/// What control flow hands to `value`, a result of `op` or an argument of one
/// of its regions. Fails if it is something that the op itself makes.
static LogicalResult addHandedOver(RegionBranchOpInterface op, Value value,
                                   SmallVectorImpl<Value> &values) {
  bool isHandedOver = false;
  for (RegionBranchPoint point : op.getAllRegionBranchPoints()) {
    SmallVector<RegionSuccessor> successors;
    op.getSuccessorRegions(point, successors);
    for (const RegionSuccessor &successor : successors) {
      ValueRange inputs = successor.getSuccessorInputs();
      auto found = llvm::find(inputs, value);
      if (found == inputs.end())
        continue;
      size_t number = std::distance(inputs.begin(), found);
      auto end = dyn_cast_or_null<RegionBranchTerminatorOpInterface>(
          point.getTerminatorPredecessorOrNull());
      OperandRange operands = end ? end.getSuccessorOperands(successor)
                                  : op.getEntrySuccessorOperands(successor);
      if (number >= operands.size())
        return failure();
      values.push_back(operands[number]);
      isHandedOver = true;
    }
  }
  return success(isHandedOver);
}

/// The same for the argument of a block of a control-flow graph.
static LogicalResult addHandedOver(BlockArgument argument,
                                   SmallVectorImpl<Value> &values) {
  Block *block = argument.getOwner();
  for (auto it = block->pred_begin(); it != block->pred_end(); ++it) {
    auto branch = dyn_cast<BranchOpInterface>((*it)->getTerminator());
    Value value = branch ? branch.getSuccessorOperands(
                               it.getSuccessorIndex())[argument.getArgNumber()]
                         : Value();
    if (!value)
      return failure();
    values.push_back(value);
  }
  return success();
}

/// The bounds that the counter of a loop starts from and the steps.
static bool addCounter(Operation *op, Value value,
                       SmallVectorImpl<Value> &values) {
  auto loop = dyn_cast<LoopLikeOpInterface>(op);
  std::optional<SmallVector<Value>> counters =
      loop ? loop.getLoopInductionVars() : std::nullopt;
  if (!counters || !llvm::is_contained(*counters, value))
    return false;
  auto bounds = loop.getLoopLowerBounds();
  auto steps = loop.getLoopSteps();
  if (!bounds || !steps)
    return false;
  for (SmallVector<OpFoldResult> *range : {&*bounds, &*steps})
    for (OpFoldResult bound : *range)
      if (auto value = dyn_cast<Value>(bound))
        values.push_back(value);
  return true;
}

namespace {
/// What a value is before its last step.
enum class Step {
  /// What control flow or a known call hands over.
  HandedOver,
  /// Besides what known calls pass, what a function is given by others.
  Argument,
  /// What an op without regions, or a call that is not known, computes.
  Computed,
  /// Something that an op with regions makes.
  Unknown,
};
} // namespace

/// Appends what is handed over as `value`.
static Step stepBack(Value value, const KnownCalls &calls,
                     SmallVectorImpl<Value> &values) {
  auto handedOver = [](LogicalResult isKnown) {
    return succeeded(isKnown) ? Step::HandedOver : Step::Unknown;
  };
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *parent = argument.getOwner()->getParentOp();
    if (!argument.getOwner()->isEntryBlock())
      return handedOver(addHandedOver(argument, values));
    if (isa_and_nonnull<FunctionOpInterface>(parent)) {
      auto known = calls.callsOf.find(parent);
      if (known == calls.callsOf.end())
        return Step::Argument;
      for (CallOpInterface call : known->second)
        values.push_back(call.getArgOperands()[argument.getArgNumber()]);
      return calls.withOtherCalls.contains(parent) ? Step::Argument
                                                   : Step::HandedOver;
    }
    auto branch = dyn_cast_or_null<RegionBranchOpInterface>(parent);
    return handedOver(
        success(branch && (succeeded(addHandedOver(branch, value, values)) ||
                           addCounter(parent, value, values))));
  }
  Operation *op = value.getDefiningOp();
  if (auto branch = dyn_cast<RegionBranchOpInterface>(op))
    return handedOver(addHandedOver(branch, value, values));
  if (FunctionOpInterface callee = calls.calleeOf.lookup(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    for (Block &block : callee.getFunctionBody())
      if (block.getTerminator()->hasTrait<OpTrait::ReturnLike>())
        values.push_back(block.getTerminator()->getOperand(number));
    return Step::HandedOver;
  }
  return op->getNumRegions() ? Step::Unknown : Step::Computed;
}

NumberSources gpuasync::findSources(ValueRange numbers, const KnownCalls &calls,
                                    unsigned maxValues) {
  NumberSources sources;
  SmallVector<Value> worklist(numbers);
  llvm::DenseSet<Value> seen;
  while (!worklist.empty() && !sources.isFromAnywhere) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (seen.size() > maxValues) {
      sources.isFromAnywhere = true;
      break;
    }
    if (isPointer(value.getType())) {
      sources.isFromPointer = true;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (op && (matchPattern(op, m_Constant()) ||
               isa<ShapedDimOpInterface, memref::RankOp,
                   memref::ExtractStridedMetadataOp>(op)))
      continue;
    switch (stepBack(value, calls, worklist)) {
    case Step::HandedOver:
      break;
    case Step::Argument:
      sources.arguments.insert(cast<BlockArgument>(value));
      break;
    case Step::Computed:
      if (isa<CallOpInterface>(op) || !isMemoryEffectFree(op))
        sources.isFromAnywhere = true;
      else
        llvm::append_range(worklist, op->getOperands());
      break;
    case Step::Unknown:
      sources.isFromAnywhere = true;
      break;
    }
  }
  return sources;
}

/// Whether there may be pointers in a value that is none, as in a struct.
static bool mayHoldPointers(Type type) {
  return !type.isIntOrIndexOrFloat() && !isa<VectorType, ComplexType>(type);
}

/// Appends the pointers that `op` computes `value` from. Returns whether it may
/// have made it of numbers.
static bool addPointers(Operation *op, Value value,
                        SmallVectorImpl<Value> &values) {
  // Of allocations and loads: a pointer, whatever it is. One to a symbol, too.
  if (isa<CallOpInterface, SymbolUserOpInterface>(op) ||
      !isMemoryEffectFree(op))
    return false;
  if (op->getNumOperands() == 0)
    // Structs begin as undefined ones, which are filled then.
    return op->hasTrait<OpTrait::ConstantLike>() &&
           (isPointer(value.getType()) ||
            !isa<LLVM::UndefOp, LLVM::PoisonOp, ub::PoisonOp>(op));
  bool isMadeOfNumbers = true;
  for (Value operand : op->getOperands())
    if (isPointer(operand.getType()) || mayHoldPointers(operand.getType())) {
      values.push_back(operand);
      isMadeOfNumbers = false;
    }
  return isMadeOfNumbers;
}

llvm::DenseSet<Value> gpuasync::findMadeOfNumbers(ValueRange pointers,
                                                  const KnownCalls &calls) {
  // Back to where they come from, and forth from those made of numbers.
  llvm::DenseMap<Value, SmallVector<Value, 2>> derived;
  SmallVector<Value> worklist, made;
  llvm::DenseSet<Value> seen;
  auto add = [&](Value value) {
    if (seen.insert(value).second)
      worklist.push_back(value);
  };
  llvm::for_each(pointers, add);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    SmallVector<Value> values;
    Step step = stepBack(value, calls, values);
    if (step == Step::Unknown ||
        (step == Step::Computed &&
         addPointers(value.getDefiningOp(), value, values)))
      made.push_back(value);
    for (Value source : values) {
      derived[source].push_back(value);
      add(source);
    }
  }
  llvm::DenseSet<Value> result(made.begin(), made.end());
  while (!made.empty())
    for (Value value : derived.lookup(made.pop_back_val()))
      if (result.insert(value).second)
        made.push_back(value);
  return result;
}

bool gpuasync::mayBeAddress(Value value) {
  // Far above any real computation of a size.
  constexpr unsigned maxValues = 1024;
  return mayHoldAddress(value.getType()) &&
         findSources(value, KnownCalls(), maxValues).isFromAnything();
}
