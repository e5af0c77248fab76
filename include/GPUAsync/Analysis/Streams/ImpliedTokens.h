//===- ImpliedTokens.h - tokens that others of an op imply ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop carries a token for each access that a later iteration may depend on.
// Most of them say nothing new: what made them comes before another token that
// the same op takes.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_ANALYSIS_STREAMS_IMPLIEDTOKENS_H
#define GPUASYNC_ANALYSIS_STREAMS_IMPLIEDTOKENS_H

#include "mlir/IR/Operation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"

namespace mlir::gpuasync {

/// Finds dependencies of work, joins and host waits that may go, all of them
/// together: whatever they order, the others of the op order. Looks at tokens
/// that a loop carries, returns, or takes from outside. A function in the token
/// form.
llvm::DenseSet<OpOperand *> findImpliedTokens(FunctionOpInterface function);

} // namespace mlir::gpuasync

#endif // GPUASYNC_ANALYSIS_STREAMS_IMPLIEDTOKENS_H
