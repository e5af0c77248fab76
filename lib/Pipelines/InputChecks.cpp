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
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"

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
      InFlightDiagnostic diag = op->emitOpError(
          "works on tensors; the pipeline takes programs on memrefs: bufferize "
          "first, by mlir-opt's --one-shot-bufferize=\"bufferize-function-"
          "boundaries function-boundary-type-conversion=identity-layout-map\"");
      Operation *function = isa<FunctionOpInterface>(op)
                                ? op
                                : op->getParentOfType<FunctionOpInterface>();
      if (Operation *own = function ? findDeviceWork(function) : nullptr)
        diag.attachNote(own->getLoc())
            << "offload makes kernels of tensors, but leaves functions as they "
               "are that give a device work themselves, as here";
      else
        diag.attachNote(op->getLoc())
            << "offload=auto, the default, makes kernels of tensors";
      result = diag;
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
         (isAsyncOp(op) && !isa<BinaryOp>(op));
}

static Operation *getKernel(Operation *op) {
  while ((op = op->getParentOp()))
    if (isKernelCode(op))
      return op;
  return nullptr;
}

/// What upstream's lowering of math and complex ops calls of the C library, it
/// finds by name: a function of the program's would be called in its place.
LogicalResult InputChecks::checkName(FunctionOpInterface function) {
  static const llvm::StringSet<> names = {
      "acos",  "acosh", "asin", "asinh", "atan",      "atan2", "atanh",
      "cabs",  "carg",  "cbrt", "ccos",  "ceil",      "cexp",  "clog",
      "conj",  "cos",   "cosh", "cpow",  "csin",      "csqrt", "ctan",
      "ctanh", "erf",   "erfc", "exp",   "exp2",      "expm1", "floor",
      "fma",   "fmod",  "log",  "log10", "log1p",     "log2",  "pow",
      "round", "rsqrt", "sin",  "sinh",  "roundeven", "sqrt",  "tan",
      "tanh",  "trunc"};
  StringRef name = function.getName();
  auto isNumber = [](Type type) { return isa<FloatType, ComplexType>(type); };
  if (function.isExternal() ||
      !(names.contains(name) ||
        (name.ends_with("f") && names.contains(name.drop_back()))) ||
      function.getNumArguments() == 0 || function.getNumResults() != 1 ||
      !llvm::all_of(function.getArgumentTypes(), isNumber))
    return success();
  if (!hasMath)
    hasMath = function->getParentOfType<ModuleOp>()
                  .walk([](Operation *op) {
                    return isa<math::MathDialect, complex::ComplexDialect>(
                               op->getDialect())
                               ? WalkResult::interrupt()
                               : WalkResult::advance();
                  })
                  .wasInterrupted();
  if (!*hasMath)
    return success();
  return function->emitOpError("has the name of a function of the C library "
                               "that ops of the dialects math and complex, as "
                               "this module has them, become calls of: give it "
                               "another name");
}

/// An op in the function, or in one that it calls, that kernels cannot have.
static Operation *findHostWork(Operation *function,
                               SymbolTableCollection &symbols,
                               llvm::SmallPtrSetImpl<Operation *> &visited) {
  if (!function || !visited.insert(function).second)
    return nullptr;
  Operation *found = nullptr;
  function->walk([&](Operation *op) {
    if (isForHost(op) ||
        llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
      found = op;
    else if (auto call = dyn_cast<CallOpInterface>(op))
      found =
          findHostWork(call.resolveCallableInTable(&symbols), symbols, visited);
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

LogicalResult InputChecks::checkKernelCalls(ModuleOp module) {
  SymbolTableCollection symbols;
  // A function without such work is looked at once.
  llvm::SmallPtrSet<Operation *, 16> visited;
  WalkResult result = module.walk([&](CallOpInterface call) {
    Operation *kernel = getKernel(call);
    if (!kernel)
      return WalkResult::advance();
    Operation *found =
        findHostWork(call.resolveCallableInTable(&symbols), symbols, visited);
    if (!found)
      return WalkResult::advance();
    InFlightDiagnostic diag = call.emitOpError("is in a kernel and calls ");
    if (auto callee = dyn_cast<SymbolRefAttr>(call.getCallableForCallee()))
      diag << callee;
    else
      diag << "a function";
    const bool isTensor =
        llvm::any_of(found->getResultTypes(), llvm::IsaPred<TensorType>);
    diag << (isTensor ? ", which works on tensors, but kernels work on "
                        "memrefs: let the function do so, or call it before "
                        "or after the launch"
                      : ", but only the host starts kernels, moves and "
                        "allocates memory of the device and waits for it: "
                        "call the function before or after the launch");
    diag.attachNote(kernel->getLoc()) << "the kernel";
    diag.attachNote(found->getLoc())
        << (isTensor ? "the function has a tensor here"
                     : "the function does so here");
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

LogicalResult InputChecks::check(Operation *op) {
  if (isForHost(op))
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
    if (failed(checkName(function)) ||
        failed(checkTypes(op, function.getArgumentTypes(), "an argument")) ||
        failed(checkTypes(op, function.getResultTypes(), "a result")))
      return failure();
  for (Region &region : op->getRegions())
    for (Block &block : region)
      if (failed(checkTypes(op, block.getArgumentTypes(), "an argument")))
        return failure();
  return success();
}
