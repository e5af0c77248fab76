//===- Status.h - Errors of calls -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Makes the statuses that the functions of the library return.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_STATUS_H
#define GPUASYNC_LIB_LIBRARY_STATUS_H

#include "gpuasync/Program.h"
#include "llvm/ADT/Twine.h"

namespace gpuexec {

/// Returns a new status, which the caller owns.
inline gpuasync_status *fail(uint32_t code, const llvm::Twine &message) {
  return gpuasync_status_make(code, message.str().c_str());
}

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_STATUS_H
