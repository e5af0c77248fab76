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

using namespace mlir;

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
      gpuasync::freeAllocasOfRounds(function);
    }
  }
};
} // namespace

std::unique_ptr<Pass> gpuasync::createHoistAllocasPass() {
  return std::make_unique<HoistAllocasPass>();
}
