//===- ConvertGPUToGPUAsync.cpp - import of upstream gpu and async --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From upstream's gpu and async ops to the token form, by the import rule that
// the pass description in Passes.td states. Blocks are scheduled one by one
// (BlockImport.h).
//===----------------------------------------------------------------------===//

#include "BlockImport.h"
#include "GPUAsync/Conversion/Passes.h"
#include "GPUAsync/Decision.h"
#include "GPUAsync/IR/VerifyProgram.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::gpuasync {
#define GEN_PASS_DEF_CONVERTGPUTOGPUASYNC
#include "GPUAsync/Conversion/Passes.h.inc"
} // namespace mlir::gpuasync

using namespace mlir;
using namespace mlir::gpuasync;
using namespace mlir::gpuasync::upstream;

static Operation *findOp(Operation *root,
                         function_ref<bool(Operation *)> isWanted) {
  Operation *found = nullptr;
  root->walk([&](Operation *op) {
    if (isWanted(op))
      found = op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Whether nothing in the function says what order device work has: no token,
/// no op of the async dialect, no stream.
static bool isTokenFree(FunctionOpInterface function) {
  if (llvm::any_of(function.getArgumentTypes(), isUpstreamToken) ||
      llvm::any_of(function.getArgumentTypes(), llvm::IsaPred<TokenType>))
    return false;
  return !findOp(function, [](Operation *op) {
    auto launch = dyn_cast<gpu::LaunchFuncOp>(op);
    return hasTokens(op) || isa<StreamExternalOp>(op) ||
           isa_and_nonnull<async::AsyncDialect>(op->getDialect()) ||
           (launch && launch.getAsyncObject());
  });
}

/// Says that streams have been assigned, or forks been made explicit, already.
static bool isOfLaterForm(Operation *op) {
  auto work = dyn_cast<WorkOpInterface>(op);
  return isa<ForkOp, ReleaseOp>(op) || isStreamFormOp(op) ||
         (work && work.getStream() && !work.getAsyncToken());
}

/// Whether the function launches on a stream that its body is given.
static bool usesCallersStream(FunctionOpInterface function) {
  return findOp(function, [&](Operation *op) {
    Value pointer;
    if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
      pointer = launch.getAsyncObject();
    else if (auto external = dyn_cast<StreamExternalOp>(op))
      pointer = external.getPointer();
    return pointer && pointer.getParentRegion() == &function.getFunctionBody();
  });
}

/// Gives the function's type and entry block our tokens.
static void convertSignature(FunctionOpInterface function) {
  Type token = TokenType::get(function.getContext());
  auto convert = [&](ArrayRef<Type> types) {
    return llvm::map_to_vector(
        types, [&](Type type) { return isUpstreamToken(type) ? token : type; });
  };
  SmallVector<Type> inputs = convert(function.getArgumentTypes());
  SmallVector<Type> results = convert(function.getResultTypes());
  function.setType(function.cloneTypeWith(inputs, results));
  if (!function.isExternal())
    convertTokens(function.getArguments());
}

namespace {
struct ConvertGPUToGPUAsync
    : public gpuasync::impl::ConvertGPUToGPUAsyncBase<ConvertGPUToGPUAsync> {
  using ConvertGPUToGPUAsyncBase::ConvertGPUToGPUAsyncBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    ImportState state;
    state.mode = importMode;
    if (failed(verifyProgram(module)) || failed(checkImportable(module)))
      return signalPassFailure();

    SmallVector<FunctionOpInterface> functions;
    module.walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (holdsKernels(op))
        return WalkResult::skip();
      if (auto function = dyn_cast<FunctionOpInterface>(op))
        functions.push_back(function);
      return WalkResult::advance();
    });
    for (FunctionOpInterface function : functions) {
      if (llvm::any_of(function.getArgumentTypes(), isUpstreamToken) ||
          llvm::any_of(function.getResultTypes(), isUpstreamToken))
        convertSignature(function);
    }
    bool failedAny = false;
    for (FunctionOpInterface function : functions) {
      if (function.isExternal() || isPlainHostCode(function))
        continue;
      if (Operation *later = findOp(function, isOfLaterForm)) {
        if (Operation *upstream = findOp(function, isUpstreamOp)) {
          failedAny = true;
          upstream->emitOpError("is in a function that is past the token form")
                  .attachNote(later->getLoc())
              << "this op belongs to the linear or the stream form";
        }
        continue;
      }
      const bool isSequential = isTokenFree(function);
      uint64_t imported = 0;
      function->walk<WalkOrder::PreOrder>([&](Operation *op) {
        imported += isUpstreamOp(op);
        return isKernelCode(op) ? WalkResult::skip() : WalkResult::advance();
      });
      if (imported)
        Decision(*this, function,
                 isSequential ? "ImportedInOrder" : "ImportedByTokens")
            .count(numImported, "imported-ops", imported);
      if (isSequential) {
        for (Block &block : function.getFunctionBody())
          BlockImport(state, block).runSequential();
        continue;
      }
      bool hasCallersStream = usesCallersStream(function);
      for (Block &block : function.getFunctionBody()) {
        bool returns = block.hasNoSuccessors();
        BlockImport blockImport(state, block,
                                hasCallersStream && returns ? AtEnd::Leave
                                                            : AtEnd::Wait);
        failedAny |= failed(blockImport.run());
      }
    }
    for (Operation *op : llvm::reverse(state.replaced)) {
      op->dropAllUses();
      op->erase();
    }
    if (failedAny)
      signalPassFailure();
  }
};

} // namespace
