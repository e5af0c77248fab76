//===- Fences.h - Points of streams that a context waits for ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When memory that was freed may be used again, and when staging is done with.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_POOL_FENCES_H
#define GPUASYNC_CORE_POOL_FENCES_H

#include "drivers/Driver.h"

#include <mutex>
#include <vector>

struct gpuasync_context;
struct gpuasync_stream;

namespace gpuasync {

using Stream = gpuasync_stream;

/// A point of a stream as the context itself needs it: a flag value where the
/// device writes flags, else a native event of the context's own.
struct Fence {
  uint32_t *slot = nullptr;
  uint32_t value = 0;
  NativeEvent event = nullptr;
  bool armed() const { return slot || event; }
};

/// Thread safe; one fence or stream is passed by one thread at a time. Its lock
/// is taken under any other's, and never held over a call of the driver's.
class Fences {
public:
  explicit Fences(gpuasync_context &context) : context(context) {}
  Fences(const Fences &) = delete;

  /// A fence after all work of `stream` so far.
  Status make(Stream &stream, Fence &out);
  /// Writes the stream's flag, behind all work so far.
  Status flag(Stream &stream);
  /// Whether a fence is reached, an error of its stream included; it is unarmed
  /// then. A question that failed itself is the result, and says nothing.
  Status query(Fence &fence, bool &reached);
  /// The same where it is asked again later.
  bool reached(Fence &fence) {
    bool reached = false;
    (void)query(fence, reached);
    return reached;
  }
  /// Nobody asks any more; unarms it.
  void drop(Fence &fence);
  /// A native event of the context's own, and back.
  Status takeEvent(NativeEvent &out);
  void giveEvent(NativeEvent event);
  /// At the context's end: all have come back. `alive`: the device is not lost.
  void destroy(bool alive);

private:
  gpuasync_context &context;
  std::mutex mutex;
  std::vector<NativeEvent> idle;
  size_t made = 0; ///< in all; `idle` has room for these
};

} // namespace gpuasync

#endif // GPUASYNC_CORE_POOL_FENCES_H
