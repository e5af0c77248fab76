//===- Region.cpp - Regions without graphs --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The commands of a region go straight to their streams.
//===----------------------------------------------------------------------===//

#include "shim/abi/CommandSink.h"

namespace gpuasync {

BeginRegion *const beginRegion = nullptr;

} // namespace gpuasync
