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
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      Block *block = argument.getOwner();
      Operation *parent = block->getParentOp();
      if (!block->isEntryBlock()) {
        sources.isFromAnywhere |= failed(addHandedOver(argument, worklist));
        continue;
      }
      if (isa_and_nonnull<FunctionOpInterface>(parent)) {
        auto known = calls.callsOf.find(parent);
        if (known == calls.callsOf.end())
          sources.arguments.insert(argument);
        else
          for (CallOpInterface call : known->second)
            worklist.push_back(call.getArgOperands()[argument.getArgNumber()]);
        continue;
      }
      auto branch = dyn_cast_or_null<RegionBranchOpInterface>(parent);
      if (!branch || (failed(addHandedOver(branch, value, worklist)) &&
                      !addCounter(parent, value, worklist)))
        sources.isFromAnywhere = true;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (matchPattern(op, m_Constant()) ||
        isa<ShapedDimOpInterface, memref::RankOp,
            memref::ExtractStridedMetadataOp>(op))
      continue;
    if (auto branch = dyn_cast<RegionBranchOpInterface>(op)) {
      sources.isFromAnywhere |= failed(addHandedOver(branch, value, worklist));
      continue;
    }
    if (FunctionOpInterface callee = calls.calleeOf.lookup(op)) {
      unsigned number = cast<OpResult>(value).getResultNumber();
      for (Block &block : callee.getFunctionBody())
        if (block.getTerminator()->hasTrait<OpTrait::ReturnLike>())
          worklist.push_back(block.getTerminator()->getOperand(number));
      continue;
    }
    if (isa<CallOpInterface>(op) || op->getNumRegions() ||
        !isMemoryEffectFree(op)) {
      sources.isFromAnywhere = true;
      continue;
    }
    llvm::append_range(worklist, op->getOperands());
  }
  return sources;
}

bool gpuasync::mayBeAddress(Value value) {
  // Far above any real computation of a size.
  constexpr unsigned maxValues = 1024;
  return mayHoldAddress(value.getType()) &&
         findSources(value, KnownCalls(), maxValues).isFromAnything();
}
