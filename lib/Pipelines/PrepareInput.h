//===- PrepareInput.h - input that can be lowered ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Pipelines: the first pass of the pipeline.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_PIPELINES_PREPAREINPUT_H
#define GPUASYNC_LIB_PIPELINES_PREPAREINPUT_H

#include "mlir/Pass/Pass.h"

namespace mlir::gpuasync {

/// Refuses what no later pass takes, and turns linalg ops on memrefs into
/// loops. Unlike convert-linalg-to-loops it changes nothing else, so that a
/// program whose tokens are linear stays so.
std::unique_ptr<Pass> createPrepareInputPass();

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_PIPELINES_PREPAREINPUT_H
