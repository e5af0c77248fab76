//===- VerifyBetween.h - form checks between phases -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Internal to lib/Pipelines: gpu-async-verify-form for files of any form.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_PIPELINES_VERIFYBETWEEN_H
#define GPUASYNC_LIB_PIPELINES_VERIFYBETWEEN_H

#include "GPUAsync/Options.h"
#include "mlir/Pass/Pass.h"

namespace mlir::gpuasync {

/// Checks the invariant of `form`, unless it is the token or linear one and the
/// program came into the pipeline in the stream form.
std::unique_ptr<Pass> createVerifyBetweenPass(Form form = Form::Token);

} // namespace mlir::gpuasync

#endif // GPUASYNC_LIB_PIPELINES_VERIFYBETWEEN_H
