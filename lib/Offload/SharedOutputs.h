//===- SharedOutputs.h - what threads read of shared outputs ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each iteration of an scf.forall begins with the shared outputs as they were
// in front of the loop.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_OFFLOAD_SHAREDOUTPUTS_H
#define GPUASYNC_LIB_OFFLOAD_SHAREDOUTPUTS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::gpuasync::offload {

/// Has iterations read the tensor in front of the loop in place of the shared
/// output, so that bufferization copies it, where one may otherwise read what
/// itself or another one has written. A slice that the iteration writes itself,
/// and has read by then, stays in place, and so does an element that no
/// iteration writes.
void readBeforeLoop(scf::ForallOp loop);

} // namespace mlir::gpuasync::offload

#endif // GPUASYNC_LIB_OFFLOAD_SHAREDOUTPUTS_H
