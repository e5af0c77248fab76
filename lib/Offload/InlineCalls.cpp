//===- InlineCalls.cpp - calls of functions that become kernels -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory and kernels are chosen for one function at a time. Upstream's pass
// takes all calls of a module, those of functions with device work of their
// own, too.
//===----------------------------------------------------------------------===//

#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/OpKinds.h"
#include "GPUAsync/Offload/Passes.h"
#include "Offloaded.h"

#include "mlir/Transforms/Inliner.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_GPUASYNCINLINECALLS
#include "GPUAsync/Offload/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;

namespace {
class CallInliner {
public:
  CallInliner(ModuleOp module, Pass &pass, Pass::Statistic &numCalls)
      : pass(pass), numCalls(numCalls), interface(module.getContext()) {
    int64_t count = 0;
    module.walk([&](Operation *) { ++count; });
    mostOperations = std::max<int64_t>(1 << 17, 2 * count);
  }
  LogicalResult run(func::FuncOp function);

private:
  /// Most operations that a function has after calls have gone from it: with
  /// each function called once no module has more. If each of 20 functions
  /// calls the next one twice, there are a million.
  int64_t mostOperations;
  /// Most operations of a function without work for kernels.
  static constexpr int64_t mostOfNumbers = 1 << 12;

  bool mayBeInlined(func::FuncOp callee);

  Pass &pass;
  Pass::Statistic &numCalls;
  /// Operations of functions that are done, and of those that are open.
  llvm::DenseMap<Operation *, int64_t> counts;
  InlinerInterface interface;
  InlinerConfig config;
  SymbolTableCollection symbols;
  llvm::SmallPtrSet<Operation *, 8> begun, open;
};
} // namespace

bool CallInliner::mayBeInlined(func::FuncOp callee) {
  return !callee.isExternal() && !open.contains(callee) &&
         !findDeviceWork(callee) && callee.getBody().hasOneBlock();
}

LogicalResult CallInliner::run(func::FuncOp function) {
  if (!begun.insert(function).second)
    return success();
  open.insert(function);
  SmallVector<func::CallOp> calls;
  int64_t count = 0, inlined = 0;
  function.walk([&](Operation *op) {
    ++count;
    if (auto call = dyn_cast<func::CallOp>(op))
      calls.push_back(call);
  });
  for (func::CallOp call : calls) {
    auto callee = symbols.lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    if (!callee || !mayBeInlined(callee))
      continue;
    // So that what it calls comes along.
    if (failed(run(callee)))
      return failure();
    const int64_t more = counts.lookup(callee);
    // A call of numbers may as well stay one.
    const bool isNeeded = offload::hasWork(callee);
    if (!isNeeded && more > mostOfNumbers)
      continue;
    if (count + more > mostOperations) {
      if (!isNeeded)
        continue;
      InFlightDiagnostic error =
          call.emitError("the body of @")
          << callee.getName()
          << ", of which kernels are made, goes in place of this call: @"
          << function.getName() << " would have more than " << mostOperations
          << " operations. Call it in a loop, or fewer times";
      error.attachNote(callee.getLoc())
          << "@" << callee.getName() << " has " << more
          << " operations, with those of the functions that it calls";
      return error;
    }
    count += more;
    if (succeeded(inlineCall(interface, config.getCloneCallback(),
                             cast<CallOpInterface>(call.getOperation()),
                             cast<CallableOpInterface>(callee.getOperation()),
                             &callee.getBody()))) {
      call.erase();
      ++inlined;
    }
  }
  if (inlined)
    Decision(pass, function, "InlinedCalls").count(numCalls, "calls", inlined);
  open.erase(function);
  counts[function] = count;
  return success();
}

namespace {
struct InlineCalls
    : public gpuasync::impl::GPUAsyncInlineCallsBase<InlineCalls> {
  void runOnOperation() override {
    auto functions = offload::collectOffloadable(getOperation());
    if (functions.empty())
      return markAllAnalysesPreserved();
    CallInliner inliner(getOperation(), *this, numCalls);
    for (func::FuncOp function : functions)
      if (failed(inliner.run(function)))
        return signalPassFailure();
  }
};
} // namespace
