//===- OwnLibrary.h - Libraries that lie next to the runtime ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Some parts of the runtime are libraries of their own, which it opens when
// they are first asked for.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_OWNLIBRARY_H
#define GPUASYNC_SHIM_BASE_OWNLIBRARY_H

#include "shim/base/StatusImpl.h"

namespace gpuasync {

/// Opens libgpuasync_<name>.so in the folder of the runtime library, and finds
/// a function of it. The library stays open. `purpose` begins the message of an
/// error: "the disk cache". The loader's lock may be taken. So the caller holds
/// no lock, and is no thread that others wait for under the loader's lock.
/// Throws std::bad_alloc.
Status findInOwnLibrary(const char *name, const char *function,
                        const char *purpose, void *&out);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_OWNLIBRARY_H
