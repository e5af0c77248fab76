//===- ByAddress.cpp - host code that finds memory by address -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ByAddress.h.
//===----------------------------------------------------------------------===//

#include "ByAddress.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Ptr/IR/PtrTypes.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;

/// Whether the pointer is that of a variable of the stack.
static bool isOfStack(Value pointer) {
  while (auto step = pointer.getDefiningOp<LLVM::GEPOp>())
    pointer = step.getBase();
  return pointer.getDefiningOp<LLVM::AllocaOp>() != nullptr;
}

bool offload::accessesByAddress(Operation *op) {
  if (isa<LLVM::InlineAsmOp>(op))
    return true;
  // Ops in the regions of an op do what it does.
  if (op->getNumRegions() || isMemoryEffectFree(op))
    return false;
  return llvm::any_of(op->getOperands(), [](Value operand) {
    return isa<LLVM::LLVMPointerType, ptr::PtrType>(operand.getType()) &&
           !isOfStack(operand);
  });
}

bool offload::makesMemRefOfAddress(Operation *op) {
  if (op->getNumRegions() || isa<CallOpInterface>(op) ||
      llvm::none_of(op->getResultTypes(), llvm::IsaPred<BaseMemRefType>))
    return false;
  if (op->getNumOperands() && isMemoryEffectFree(op))
    return llvm::none_of(op->getOperandTypes(), llvm::IsaPred<BaseMemRefType>);
  return hasEffect<MemoryEffects::Read>(op) ||
         !isa<MemoryEffectOpInterface>(op);
}

bool offload::hasAccessesByAddress(ModuleOp module) {
  return module
      .walk<WalkOrder::PreOrder>([](Operation *op) {
        if (isa<gpu::GPUModuleOp, gpu::LaunchOp>(op))
          return WalkResult::skip();
        return accessesByAddress(op) || makesMemRefOfAddress(op)
                   ? WalkResult::interrupt()
                   : WalkResult::advance();
      })
      .wasInterrupted();
}
