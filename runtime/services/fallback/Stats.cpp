//===- Stats.cpp - The entries of Stats.h without statistics --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "gpuasync/Stats.h"
#include "services/fallback/Absent.h"

using namespace gpuasync;

extern "C" {

gpuasync_status *gpuasync_stats_read(const gpuasync_context *,
                                     gpuasync_stats *) noexcept {
  return absent("gpuasync_stats_read", "statistics").release();
}

void gpuasync_stats_reset(gpuasync_context *) noexcept {}

uint64_t gpuasync_stats_json(const gpuasync_context *, char *buffer,
                             uint64_t size) noexcept {
  if (buffer && size)
    *buffer = '\0';
  return 0;
}
}
