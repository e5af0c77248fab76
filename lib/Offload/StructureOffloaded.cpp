//===- StructureOffloaded.cpp - structured control flow for kernels -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bufferization takes no loops of branches, and does not see that one block
// writes what another one has as an argument.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/Offload/Passes.h"
#include "GPUAsync/Transforms/StructureControlFlow.h"
#include "Offloaded.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "llvm/Support/Threading.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCSTRUCTUREOFFLOADED
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
struct StructureOffloaded
    : public gpuasync::impl::GPUAsyncStructureOffloadedBase<
          StructureOffloaded> {
  void runOnOperation() override;
};
} // namespace

/// A function that is called has nothing for the device, perhaps. If it has to
/// keep its branches, it stays a function of its own.
void StructureOffloaded::runOnOperation() {
  ModuleOp module = getOperation();
  SetVector<Operation *> reached;
  for (func::FuncOp function : offload::collectOffloadable(module))
    reached.insert(function);
  if (reached.empty())
    return markAllAnalysesPreserved();
  for (size_t i = 0; i < reached.size(); ++i)
    reached[i]->walk([&](func::CallOp call) {
      auto callee = module.lookupSymbol<func::FuncOp>(call.getCallee());
      if (callee && !callee.isExternal() && !findDeviceWork(callee))
        reached.insert(callee);
    });
  for (Operation *op : reached) {
    auto function = cast<func::FuncOp>(op);
    if (offload::hasWork(function)) {
      if (failed(structureControlFlow(function)))
        return signalPassFailure();
      continue;
    }
    ScopedDiagnosticHandler quiet(
        &getContext(), [thread = llvm::get_threadid()](Diagnostic &) {
          return success(thread == llvm::get_threadid());
        });
    (void)structureControlFlow(function);
  }
}
