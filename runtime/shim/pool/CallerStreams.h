//===- CallerStreams.h - Wrappers of callers' streams -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A caller's stream may be gone once the caller has it back, so an event of our
// own says when the work of our frames there is done. Until then its wrapper
// serves no other stream: what is staged for one must not be taken for done
// because the other is.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_CALLERSTREAMS_H
#define GPUASYNC_SHIM_POOL_CALLERSTREAMS_H

#include "shim/pool/StreamPool.h"

namespace gpuasync {

struct ContextPools;

/// Thread safe; a wrapper is passed by one thread at a time. Under its lock
/// those of staging, memory and timepoints are taken, and the driver is asked,
/// but for nothing that may block.
class CallerStreams {
public:
  explicit CallerStreams(ContextPools &context) : context(context) {}
  CallerStreams(const CallerStreams &) = delete;
  ~CallerStreams();

  /// A wrapper of a caller's stream, with what earlier frames staged for it.
  Status take(NativeStream native, Stream *&out);
  /// `more`: the frame has put work on it.
  void give(Stream *wrapper, bool more);
  /// Forgets tails that are reached; true if no wrapper is busy any more.
  bool reap();
  /// A busy wrapper, whose `tail` stays what it is until endWait; null: none.
  Stream *beginWait(Timepoint &tail);
  void endWait(Stream *wrapper, Timepoint tail);
  /// At the context's end.
  void destroy();

private:
  bool reapBusy();
  Status moveTail(Stream &wrapper);

  ContextPools &context;
  std::mutex mutex;
  std::vector<Stream *> all;
  std::vector<Stream *> busy; ///< oldest work first; there is room for all
  Stack<Stream> idle;         ///< neither that nor taken
};

/// Says why a graph cannot hold `what`, and what to do about it.
Status refuseCaptured(const char *what, const char *instead);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_CALLERSTREAMS_H
