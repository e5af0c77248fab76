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

bool offload::mayBeSame(Value one, Value other) {
  auto isNamed = [](Value memory) {
    auto argument = dyn_cast<BlockArgument>(memory);
    auto function =
        argument
            ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
            : nullptr;
    return function && argument.getOwner()->isEntryBlock() &&
           function.getArgAttr(argument.getArgNumber(),
                               LLVM::LLVMDialect::getNoAliasAttrName());
  };
  auto isApart = [&](Value memory) {
    return isNamed(memory) || memory.getDefiningOp<memref::AllocOp>();
  };
  return one == other || !(isApart(one) || isApart(other));
}
