//===- Modules.h - Modules and functions of mgpu calls ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What mgpuModuleLoad and mgpuModuleGetFunction return.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_MGPU_MODULES_H
#define GPUASYNC_LIBS_MGPU_MODULES_H

#include "gpuasync/RuntimeABI.h"

namespace gpuasync::mgpu {

/// Unloads all modules; their work is waited for.
void closeModules(const gpuasync_site *site);

} // namespace gpuasync::mgpu

#endif // GPUASYNC_LIBS_MGPU_MODULES_H
