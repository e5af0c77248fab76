//===- MarkOwnMemory.cpp - memory that deallocation leaves alone ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Ownership.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"
#include "Ownership.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCMARKOWNMEMORY
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
/// Finds what functions do with memory beyond reading and writing it.
class HandedOn {
public:
  /// Whether the function returns it, stores it, takes its address or calls
  /// what may store it.
  bool isHandedOn(Value memory) {
    arguments.clear();
    return visit(memory, /*isReturnOf=*/true);
  }

private:
  bool visit(Value memory, bool isReturnOf);
  bool mayKeep(CallOpInterface call, Value memory);

  llvm::DenseMap<Operation *, std::unique_ptr<BufferViewFlowAnalysis>> flows;
  llvm::DenseSet<Value> arguments; ///< of called functions that were visited
};
} // namespace

bool HandedOn::visit(Value memory, bool isReturnOf) {
  auto function = memory.getParentRegion()->getParentOfType<func::FuncOp>();
  if (!flows.contains(function))
    flows[function] = std::make_unique<BufferViewFlowAnalysis>(function);
  BufferViewFlowAnalysis *flow = flows[function].get();
  llvm::SmallSetVector<Value, 8> names;
  names.insert(memory);
  for (unsigned i = 0; i < names.size(); ++i) {
    names.insert_range(flow->resolve(names[i]));
    for (OpOperand &use : names[i].getUses()) {
      Operation *user = use.getOwner();
      if (isa<memref::ExtractAlignedPointerAsIndexOp>(user) ||
          (isReturnOf && isa<func::ReturnOp>(user)))
        return true;
      if (auto store = dyn_cast<memref::StoreOp>(user);
          store && store.getValue() == names[i])
        return true;
      auto call = dyn_cast<CallOpInterface>(user);
      if (!call)
        continue;
      if (mayKeep(call, names[i]))
        return true;
      // It may come back.
      for (Value result : call->getResults())
        if (isa<BaseMemRefType>(result.getType()))
          names.insert(result);
    }
  }
  return false;
}

bool HandedOn::mayKeep(CallOpInterface call, Value memory) {
  auto callee = dyn_cast_or_null<func::FuncOp>(call.resolveCallable());
  if (!callee || callee.isExternal())
    return true;
  for (auto [operand, argument] :
       llvm::zip(call.getArgOperands(), callee.getArguments()))
    if (operand == memory && arguments.insert(argument).second &&
        visit(argument, /*isReturnOf=*/false))
      return true;
  return false;
}

bool offload::freesMemory(func::FuncOp function) {
  return function
      .walk([](memref::DeallocOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Returns how many allocations are marked.
static unsigned markOwnMemory(func::FuncOp function) {
  // A reallocation allocates, copies and frees.
  SmallVector<Operation *> changes;
  function.walk([&](memref::ReallocOp op) { changes.push_back(op); });
  RewritePatternSet expand(function.getContext());
  memref::populateExpandReallocPatterns(expand);
  (void)applyOpPatternsGreedily(changes, std::move(expand));
  // An allocation of constant size would lose the mark where it gets its type,
  // so it gets it now.
  SetVector<Operation *> sizes;
  function.walk([&](memref::AllocOp op) { sizes.insert(op); });
  for (size_t i = 0; i < sizes.size(); ++i)
    for (Value operand : sizes[i]->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && isPure(maker) && operand.getType().isIntOrIndex())
        sizes.insert(maker);
  SmallVector<Operation *> own = sizes.takeVector();
  std::reverse(own.begin(), own.end());
  RewritePatternSet patterns(function.getContext());
  memref::AllocOp::getCanonicalizationPatterns(patterns, function.getContext());
  (void)applyOpPatternsGreedily(own, std::move(patterns));
  const bool isFreeing = offload::freesMemory(function);
  HandedOn handedOn;
  unsigned number = 0;
  function.walk([&](Operation *op) {
    auto alloc = dyn_cast<memref::AllocOp>(op);
    const bool isOwn = alloc && (isFreeing || handedOn.isHandedOn(alloc));
    if (isOwn || isa<memref::DeallocOp>(op))
      op->setAttr(bufferization::BufferizationDialect::kManualDeallocation,
                  UnitAttr::get(op->getContext()));
    number += isOwn;
  });
  return number;
}

namespace {
struct MarkOwnMemory
    : public gpuasync::impl::GPUAsyncMarkOwnMemoryBase<MarkOwnMemory> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions = offload::getOffloaded(getOperation());
    if (functions.empty())
      return markAllAnalysesPreserved();
    for (func::FuncOp function : functions)
      if (unsigned number = markOwnMemory(function))
        Decision(*this, function, "OwnMemory")
            .count(numAllocations, "own-allocations", number);
  }
};
} // namespace
