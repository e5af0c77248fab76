//===- BoolVectors.h - vectors of booleans in memory ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Pipelines: a pass for host code before its vectors become
// LLVM dialect.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_PIPELINES_BOOLVECTORS_H
#define GPUASYNC_LIB_PIPELINES_BOOLVECTORS_H

#include "mlir/Pass/Pass.h"

namespace mlir::gpuasync {

/// Makes vector ops read and write booleans as bytes (IntegersInMemory.h).
std::unique_ptr<Pass> createBoolVectorsPass();

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_PIPELINES_BOOLVECTORS_H
