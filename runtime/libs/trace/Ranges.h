//===- Ranges.h - Ranges for the vendors' profilers -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVTX and roctx, by what a profiler has put into the process: no header and no
// library of either is needed. docs/reference/Traces.md says when which is
// taken.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_TRACE_RANGES_H
#define GPUASYNC_LIBS_TRACE_RANGES_H

#include "shim/base/StatusImpl.h"

namespace gpuasync {

/// The calling thread's ranges, which nest. The text is copied.
struct Ranges {
  int (*push)(const char *text);
  int (*pop)();
};

/// The process's; set before `listeners` has ListenRanges, constant then.
extern Ranges ranges;

/// Finds `ranges` as GPU_ASYNC_RANGES says; null members: there are none.
Status openRanges();

} // namespace gpuasync

#endif // GPUASYNC_LIBS_TRACE_RANGES_H
