//===- ScheduleErrors.h - what a schedule does not keep ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of what the analysis ScheduleOrder finds, for the passes that ask
// it.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_TRANSFORMS_SCHEDULEERRORS_H
#define GPUASYNC_LIB_TRANSFORMS_SCHEDULEERRORS_H

#include "GPUAsync/Analysis/Schedule/ScheduleOrder.h"

namespace mlir::gpuasync {

/// Emits an error, with notes at the places that matter.
void emitScheduleError(const ScheduleFinding &finding);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_TRANSFORMS_SCHEDULEERRORS_H
