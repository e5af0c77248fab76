//===- HoistAllocas.cpp - stack memory of the host's loops ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See HoistAllocas.h.
//===----------------------------------------------------------------------===//

#include "HoistAllocas.h"

#include "Kernels/Common/Allocas.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;

/// The op at whose end what `alloca` allocates is freed.
static Operation *getScope(memref::AllocaOp alloca) {
  Operation *scope = alloca->getParentOp();
  while (scope && !scope->hasTrait<OpTrait::AutomaticAllocationScope>())
    scope = scope->getParentOp();
  return scope;
}

static void freeAtEndOfRound(Block &body) {
  // The next round may have the memory that this one hands on.
  if (llvm::any_of(body.getTerminator()->getOperandTypes(),
                   llvm::IsaPred<BaseMemRefType>))
    return;
  auto builder = OpBuilder::atBlockBegin(&body);
  Location loc = body.getParentOp()->getLoc();
  Value stack = LLVM::StackSaveOp::create(
      builder, loc, LLVM::LLVMPointerType::get(builder.getContext()));
  builder.setInsertionPoint(body.getTerminator());
  LLVM::StackRestoreOp::create(builder, loc, stack);
}

namespace {
struct HoistAllocasPass
    : public PassWrapper<HoistAllocasPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(HoistAllocasPass)

  StringRef getArgument() const final { return "gpu-async-hoist-allocas"; }
  StringRef getDescription() const final {
    return "Keep loops of the host from using up the stack";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() final {
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      gpuasync::hoistAllocas(function);
      SetVector<Operation *> loops;
      function.walk([&](memref::AllocaOp alloca) {
        Operation *scope = getScope(alloca);
        if (isa_and_nonnull<LoopLikeOpInterface>(scope))
          loops.insert(scope);
      });
      for (Operation *loop : loops)
        for (Region *body : cast<LoopLikeOpInterface>(loop).getLoopRegions())
          if (body->hasOneBlock())
            freeAtEndOfRound(body->front());
    }
  }
};
} // namespace

std::unique_ptr<Pass> gpuasync::createHoistAllocasPass() {
  return std::make_unique<HoistAllocasPass>();
}
