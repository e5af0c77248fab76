//===- StructureControlFlow.h - control-flow graphs to scf ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// For passes that take structured control flow only.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TRANSFORMS_STRUCTURECONTROLFLOW_H
#define GPUASYNC_TRANSFORMS_STRUCTURECONTROLFLOW_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::gpuasync {

/// Makes scf ops of the control-flow graphs in the function, but for those in
/// kernels. It has one block then, and so has each region in it. Fails with an
/// error at a terminator that cannot be taken, before it changes a branch.
LogicalResult structureControlFlow(func::FuncOp function);

} // namespace mlir::gpuasync

#endif // GPUASYNC_TRANSFORMS_STRUCTURECONTROLFLOW_H
