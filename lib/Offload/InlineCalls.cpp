//===- InlineCalls.cpp - calls of functions that become kernels -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See InlineCalls.h. Upstream's pass takes all calls of a module, those of
// functions with device work of their own, too.
//===----------------------------------------------------------------------===//

#include "InlineCalls.h"
#include "GPUAsync/IR/OpKinds.h"

#include "mlir/Transforms/Inliner.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
class CallInliner {
public:
  explicit CallInliner(MLIRContext *context) : interface(context) {}
  void run(func::FuncOp function);

private:
  bool mayGoTo(func::FuncOp callee, func::CallOp call);

  InlinerInterface interface;
  InlinerConfig config;
  SymbolTableCollection symbols;
  llvm::SmallPtrSet<Operation *, 8> begun, open;
};
} // namespace

bool CallInliner::mayGoTo(func::FuncOp callee, func::CallOp call) {
  return !callee.isExternal() && !open.contains(callee) &&
         !findDeviceWork(callee) &&
         (callee.getBody().hasOneBlock() ||
          !call->getParentOp()->hasTrait<OpTrait::SingleBlock>());
}

void CallInliner::run(func::FuncOp function) {
  if (!begun.insert(function).second)
    return;
  open.insert(function);
  SmallVector<func::CallOp> calls;
  function.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (!callee || !mayGoTo(callee, call))
      continue;
    run(callee); // so that what it calls comes along
    if (succeeded(inlineCall(interface, config.getCloneCallback(),
                             cast<CallOpInterface>(call.getOperation()),
                             cast<CallableOpInterface>(callee.getOperation()),
                             &callee.getBody())))
      call.erase();
  }
  open.erase(function);
}

void offload::inlineCalls(ArrayRef<func::FuncOp> functions) {
  if (functions.empty())
    return;
  CallInliner inliner(functions.front()->getContext());
  for (func::FuncOp function : functions)
    inliner.run(function);
}
