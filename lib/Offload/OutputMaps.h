//===- OutputMaps.h - which elements a linalg op writes ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles, fusion and bufferization take for granted that an op writes each
// element of its outputs, and each in one iteration of its parallel loops. The
// dialect allows more: a diagonal, every other element, a row, sums of no
// elements. Such ops become loops before anything else is done.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_OUTPUTMAPS_H
#define GPUASYNC_LIB_OFFLOAD_OUTPUTMAPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::gpuasync::offload {

/// Replaces an op one of whose loops has no iterations by what was there.
/// False: there is no such loop, as far as is known.
bool dropWithoutIterations(RewriterBase &rewriter, linalg::LinalgOp op);

/// Whether the op writes each element of its outputs, or reads what was there,
/// and no two iterations of its parallel loops write the same element.
bool writesWholeOutputs(linalg::LinalgOp op);

/// Replaces the op by loops over its iterations, which read and write single
/// elements. Parallel loops that write different elements become an scf.forall;
/// the others are taken in their order by each of its threads, the last loop
/// innermost.
void makeIterationLoops(RewriterBase &rewriter, linalg::LinalgOp op);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_OUTPUTMAPS_H
