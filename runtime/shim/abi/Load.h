//===- Load.h - Loading modules before the first call -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_ABI_LOAD_H
#define GPUASYNC_SHIM_ABI_LOAD_H

#include "gpuasync/Program.h"
#include "shim/base/StatusImpl.h"

namespace gpuasync {

/// Loads modules of a program by entering a frame that reaches them. `context`
/// null: the program's default one.
Status enterToLoad(const gpuasync_program &program, gpuasync_context *context,
                   const uint32_t *modules, uint32_t count);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_ABI_LOAD_H
