//===- InputChecks.cpp - what the pipeline cannot take --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See InputChecks.h.
//===----------------------------------------------------------------------===//

#include "InputChecks.h"
#include "GPUAsync/IR/GPUAsyncOps.h"
#include "GPUAsync/IR/OpKinds.h"
#include "mlir/Dialect/Async/IR/Async.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::gpuasync;

static bool isOrder(Type type) {
  return isa<gpu::AsyncTokenType, TokenType, StreamType, EventType>(type);
}

/// Whether values of `type` have a token, a stream or an event as a part.
static bool holdsOrder(Type type) {
  // What async.execute yields is taken apart by the import.
  if (isOrder(type) || isa<FunctionType>(type) ||
      isa<async::AsyncDialect>(type.getDialect()))
    return false;
  return type
      .walk([](Type part) {
        return isOrder(part) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

LogicalResult InputChecks::checkTypes(Operation *op, TypeRange types,
                                      const char *role) {
  LogicalResult result = success();
  for (Type type : types) {
    if (!seen.insert(type).second)
      continue;
    if (isa<TensorType>(type)) {
      result = op->emitOpError("works on tensors; the pipeline takes programs "
                               "on memrefs: bufferize first, by mlir-opt's "
                               "--one-shot-bufferize=\"bufferize-function-"
                               "boundaries function-boundary-type-conversion="
                               "identity-layout-map\"");
    } else if (auto memref = dyn_cast<MemRefType>(type);
               memref && !memref.isStrided()) {
      result = op->emitOpError("has ")
               << role << " of type " << type
               << ", whose layout has no strides, so that its elements have "
                  "no address here: give it strides or no layout "
                  "(normalize-memrefs does, in host code)";
    } else if (holdsOrder(type)) {
      result = op->emitOpError("has ")
               << role << " of type " << type
               << ": tokens, streams and events are never part of another "
                  "value, where nobody could follow them; pass each as a "
                  "value of its own";
    }
  }
  return result;
}

/// Whether only host code can have `op`.
static bool isForHost(Operation *op) {
  return isa<gpu::AsyncOpInterface, gpu::HostRegisterOp, gpu::HostUnregisterOp,
             gpu::SetDefaultDeviceOp>(op) ||
         (isa<GPUAsyncDialect>(op->getDialect()) && !isa<BinaryOp>(op));
}

static Operation *getKernel(Operation *op) {
  while ((op = op->getParentOp()))
    if (isKernelCode(op))
      return op;
  return nullptr;
}

LogicalResult InputChecks::check(Operation *op) {
  if (isa_and_nonnull<gpu::GPUDialect, GPUAsyncDialect>(op->getDialect()) &&
      isForHost(op))
    if (Operation *kernel = getKernel(op)) {
      InFlightDiagnostic diag = op->emitOpError(
          "is in a kernel, but only the host starts kernels, moves and "
          "allocates memory of the device and waits for it: do that before or "
          "after the launch");
      diag.attachNote(kernel->getLoc()) << "the kernel";
      return diag;
    }
  if (failed(checkTypes(op, op->getResultTypes(), "a result")))
    return failure();
  if (auto function = dyn_cast<FunctionOpInterface>(op))
    if (failed(checkTypes(op, function.getArgumentTypes(), "an argument")) ||
        failed(checkTypes(op, function.getResultTypes(), "a result")))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(checkTypes(op, block.getArgumentTypes(), "an argument")))
        return failure();
  return success();
}
