//===- Capture.cpp - No captures of callers' streams ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shim refuses a caller's stream that is being captured.
//===----------------------------------------------------------------------===//

#include "shim/abi/FrameCapture.h"

namespace gpuasync {

JoinCapture *const joinCapture = nullptr;

} // namespace gpuasync
