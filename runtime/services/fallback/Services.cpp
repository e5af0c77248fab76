//===- Services.cpp - A runtime without services --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fallbacks that learn of something.
//===----------------------------------------------------------------------===//

#include "shim/process/Service.h"

namespace gpuasync {

GetService absentTraceService, blockingCopyService;

GetService *const services[] = {absentTraceService, blockingCopyService,
                                nullptr};

} // namespace gpuasync
