//===- Session.cpp - No sessions for upstream's wrappers ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "services/session/Session.h"
#include "services/fallback/Absent.h"

using namespace gpuasync;

extern "C" gpuasync_status *gpuasync_session_open(uint32_t, const char *,
                                                  Session **out) noexcept {
  if (out)
    *out = nullptr;
  return absent("gpuasync_session_open", "sessions").release();
}
