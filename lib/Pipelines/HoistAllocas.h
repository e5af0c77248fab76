//===- HoistAllocas.h - stack memory of the host's loops --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Pipelines: loops of the host do not use up the stack.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_PIPELINES_HOISTALLOCAS_H
#define GPUASYNC_LIB_PIPELINES_HOISTALLOCAS_H

#include "mlir/Pass/Pass.h"

namespace mlir::gpuasync {

/// Moves what functions of the host allocate on the stack to their entry
/// blocks. Where that cannot be, since the size or the address' uses are not
/// known, loops of scf free what a round allocated at its end. For structured
/// control flow: upstream's lowerings keep each round's memory until the
/// function returns.
std::unique_ptr<Pass> createHoistAllocasPass();

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_PIPELINES_HOISTALLOCAS_H
