//===- InputChecks.h - what the pipeline cannot take ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Pipelines: what a later pass would refuse far from the op
// that the user wrote, or with another's words.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_PIPELINES_INPUTCHECKS_H
#define GPUASYNC_LIB_PIPELINES_INPUTCHECKS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::gpuasync {

/// Looks at ops of a program in the order of a walk. Refused, each type once:
/// tensors, memrefs whose elements have no address of strides, tokens, streams
/// and events as parts of other values; in kernels what is for the host; and
/// functions that would be taken for the C library's.
class InputChecks {
public:
  /// Reports errors at calls in kernels: of functions that, themselves or by
  /// others, do what only the host does. Comes before the ops of a program are
  /// looked at, since the functions alone are right.
  LogicalResult checkKernelCalls(ModuleOp module);

  /// Reports errors at `op`.
  LogicalResult check(Operation *op);

private:
  LogicalResult checkTypes(Operation *op, TypeRange types, const char *role);

  LogicalResult checkName(FunctionOpInterface function);

  llvm::DenseSet<Type> seen;
  std::optional<bool> hasMath; ///< of the module
};

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_PIPELINES_INPUTCHECKS_H
