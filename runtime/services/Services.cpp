//===- Services.cpp - The services of this runtime ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls go to the services in this order.
//===----------------------------------------------------------------------===//

#include "shim/process/Service.h"

namespace gpuasync {

GetService hostCopyService, regionService, modulePolicyService, mirrorService,
    captureService, traceService, diskCacheService;

// Graphs go before modules.
GetService *const services[] = {
    hostCopyService, regionService, modulePolicyService, mirrorService,
    captureService,  traceService,  diskCacheService,    nullptr};

} // namespace gpuasync
