//===- WhereNeeded.h - passes for programs that have work for them -*- C++ -*-//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Pipelines: a pass is run where the ops of a dialect are.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_PIPELINES_WHERENEEDED_H
#define GPUASYNC_LIB_PIPELINES_WHERENEEDED_H

#include "mlir/Pass/Pass.h"

namespace mlir::gpuasync {

/// Runs `pass` on a module that has an op of `dialect` other than a constant.
/// The conversions of MLIR look at each op of a program several times, also
/// where they have nothing to convert.
std::unique_ptr<Pass>
createWhereNeededPass(StringRef dialect = "",
                      std::unique_ptr<Pass> pass = nullptr);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_PIPELINES_WHERENEEDED_H
