//===- SameMemory.cpp - whether memrefs may be one memory -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See SameMemory.h.
//===----------------------------------------------------------------------===//

#include "SameMemory.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace mlir::gpuasync;

Value offload::getViewed(Value memory) {
  while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
    memory = view.getViewSource();
  return memory;
}

/// Whether it is memory by itself. A select, a region or a call may give memory
/// that has another name, too.
static bool isOrigin(Value memory) {
  auto argument = dyn_cast<BlockArgument>(memory);
  return argument
             ? argument.getOwner()->isEntryBlock() &&
                   isa<FunctionOpInterface>(argument.getOwner()->getParentOp())
             : memory.getDefiningOp<memref::AllocOp>() ||
                   memory.getDefiningOp<memref::AllocaOp>() ||
                   memory.getDefiningOp<memref::GetGlobalOp>();
}

/// Whether no other origin is the same memory.
static bool isApart(Value origin) {
  if (auto argument = dyn_cast<BlockArgument>(origin))
    return cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
               .getArgAttr(argument.getArgNumber(),
                           LLVM::LLVMDialect::getNoAliasAttrName()) != nullptr;
  return !origin.getDefiningOp<memref::GetGlobalOp>();
}

bool offload::mayBeSame(Value one, Value other) {
  return one == other || !isOrigin(one) || !isOrigin(other) ||
         !(isApart(one) || isApart(other));
}
