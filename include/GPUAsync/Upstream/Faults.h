//===- Faults.h - MLIR's patterns that make wrong code ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guards on patterns of MLIR 22.1 that change what a program computes.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_UPSTREAM_FAULTS_H
#define GPUASYNC_UPSTREAM_FAULTS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::gpuasync {

/// Replaces ops that MLIR folds or lowers to wrong code by others that mean the
/// same: gpu-async-avoid-faults.
LogicalResult avoidFaults(Operation *root);

/// Puts a guard on each pattern of MLIR's in `patterns` that is wrong for some
/// ops, so that it is applied to others only. To be called on each set that
/// holds canonicalisation patterns of MLIR's ops, before it is frozen.
/// docs/reference/Upstream.md says what is wrong with each.
void guardFaultyPatterns(RewritePatternSet &patterns);

} // namespace mlir::gpuasync

#endif // GPUASYNC_UPSTREAM_FAULTS_H
