//===- HostAccesses.h - What the host does with arrays ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_HOSTACCESSES_H
#define GPUASYNC_LIB_EXECUTION_HOSTACCESSES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/LogicalResult.h"

namespace gpuexec {

/// Reports each op by which the host would read or write an argument of a
/// public function. For programs in stream form whose arrays are all on the
/// device.
llvm::LogicalResult refuseHostAccesses(mlir::ModuleOp module);

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_HOSTACCESSES_H
