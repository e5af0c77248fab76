//===- VerifyProgram.cpp - what no program may contain --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See VerifyProgram.h.
//===----------------------------------------------------------------------===//

#include "GPUAsync/IR/VerifyProgram.h"

#include "GPUAsync/IR/GPUAsyncOps.h"
#include "gpuasync/RuntimeABI.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;

static LogicalResult verifyNested(ModuleOp nested) {
  LogicalResult result = success();
  nested.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!isa_and_nonnull<gpu::GPUDialect>(op->getDialect()) && !isAsyncOp(op))
      return WalkResult::advance();
    // Without the op's text, which is all that is in it.
    InFlightDiagnostic diag = emitError(
        nested.getLoc(),
        "module within another one has device work, but a module is one "
        "program: run the pipeline on it alone "
        "('builtin.module(builtin.module(gpu-async-pipeline))'), or put its "
        "contents into the outer module");
    diag.attachNote(op->getLoc()) << "device work";
    result = diag;
    return WalkResult::interrupt();
  });
  return result;
}

/// Whether lowered programs call a function of that name.
static bool isCalledByLoweredCode(StringRef name) {
#define GPUASYNC_NAME(entry) #entry,
  static const llvm::StringLiteral entries[] = {
      GPUASYNC_LOWERED_FUNCTIONS(GPUASYNC_NAME)};
#undef GPUASYNC_NAME
  return llvm::is_contained(entries, name);
}

static LogicalResult verifyName(SymbolOpInterface symbol) {
  StringRef name = symbol.getName();
  bool isTables = name.consume_front("_");
  // The functions of kernels begin with the name of their gpu.module.
  if (name != "gpuasync" && !name.starts_with("gpuasync_"))
    return success();
  bool isLLVM = isa_and_nonnull<LLVM::LLVMDialect>(symbol->getDialect());
  if (isTables) {
    if (isLLVM)
      return success();
    return symbol->emitOpError()
           << "has the name '" << symbol.getName()
           << "': names that begin with '_gpuasync' are given to what lowered "
              "programs consist of; use another one";
  }
  auto function = dyn_cast<FunctionOpInterface>(symbol.getOperation());
  if (!function || !function.isExternal())
    return symbol->emitOpError()
           << "has the name '" << name
           << "': names that begin with 'gpuasync' are the runtime's, which "
              "can "
              "be declared but not defined; use another one";
  if (!isLLVM && isCalledByLoweredCode(name))
    return symbol->emitOpError()
           << "declares '" << name
           << "', which lowered programs call: that can only be an llvm.func";
  return success();
}

LogicalResult gpuasync::verifyProgram(ModuleOp program) {
  bool failed = false;
  for (Operation &op : *program.getBody()) {
    if (auto symbol = dyn_cast<SymbolOpInterface>(op);
        symbol && symbol.getNameAttr())
      failed |= mlir::failed(verifyName(symbol));
    if (auto nested = dyn_cast<ModuleOp>(op))
      failed |= mlir::failed(verifyNested(nested));
  }
  return failure(failed);
}
