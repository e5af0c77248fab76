//===- Absent.h - Errors of a runtime without services ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of services in a runtime that was built without them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_FALLBACK_ABSENT_H
#define GPUASYNC_SERVICES_FALLBACK_ABSENT_H

#include "shim/base/StatusImpl.h"

namespace gpuasync {

/// The error of `who`, an entry or a setting, which needs `what`.
inline Status absent(const char *who, const char *what) {
  return makeStatus(GPUASYNC_UNSUPPORTED,
                    "%s: this runtime has no %s; it was built with "
                    "GPUASYNC_RUNTIME_SERVICES=none",
                    who, what);
}

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_FALLBACK_ABSENT_H
