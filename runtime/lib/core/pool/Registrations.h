//===- Registrations.h - Host memory that programs registered ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counted by place: the driver registers a place once, and lets it go when
// nobody counts on it any more and the context rests.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_POOL_REGISTRATIONS_H
#define GPUASYNC_CORE_POOL_REGISTRATIONS_H

#include "core/abi/Extent.h"
#include "core/pool/Origin.h"
#include "core/process/StatusImpl.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

struct gpuasync_context;

namespace gpuasync {

struct Frame;

/// Thread safe, but that a frame is its own thread's. No other lock is taken
/// under this one, and it is not held over calls of the driver's.
class Registrations {
public:
  explicit Registrations(gpuasync_context &context) : context(context) {}
  Registrations(const Registrations &) = delete;

  /// One more registration of `pointer`, which the frame has made. It waits for
  /// running kernels if the place is registered with fewer bytes, or another
  /// one of a part of it has ended and the driver has yet to learn of that.
  Status add(Frame &frame, char *pointer, uint64_t bytes,
             const gpuasync_site *site);
  /// One less: of the frame's own if it has made any, else of what frames that
  /// were left have made.
  Status remove(Frame &frame, const void *pointer);
  /// What the frame has made is no longer its own; `undo`: it ends.
  void leave(Frame &frame, bool undo);
  /// Whether all around `first`, the first element, lies in one registration;
  /// `partly`: not all, but the first element, or that registration has ended.
  bool cover(const void *first, const Extent &extent, bool &partly);
  /// How many of `bytes` at `first` are all in one registration or all in none.
  uint64_t findPart(const void *first, uint64_t bytes);
  /// Unregisters what nobody counts on; `all`: everything. Nothing runs.
  void unregister(bool all);
  void keepLabels(const Registration *gone);
  /// `visit(origin, bytes)` for each that was not undone.
  template <typename Visit>
  void forEach(Visit visit) {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &[base, range] : ranges)
      if (range.count)
        visit(range.origin, range.bytes);
  }

private:
  /// What an open frame has counted and not undone: undone if the frame fails.
  struct Part {
    Frame *frame = nullptr;
    uint32_t count = 0;
  };
  struct Range {
    uint64_t bytes = 0;
    uint32_t count = 0; ///< 0: to be unregistered, unless it is busy
    bool owned = false; ///< the driver holds it for us
    bool busy = false;  ///< the driver is being called: whoever finds it waits
    std::vector<Part> parts; ///< of `count`
    Origin origin;
  };
  using Place = std::map<uintptr_t, Range>::iterator;

  void countUp(Frame &frame, Range &range, const gpuasync_site *site);
  void retire();
  bool isNeeded(Place place);
  void endOverlapped(std::unique_lock<std::mutex> &lock, uintptr_t address,
                     uint64_t bytes);
  void erase(Place place);

  gpuasync_context &context;
  std::mutex mutex;
  std::condition_variable settled; ///< a range is busy no more
  std::map<uintptr_t, Range> ranges;
  std::atomic<size_t> size{0}; ///< of `ranges`
};

} // namespace gpuasync

#endif // GPUASYNC_CORE_POOL_REGISTRATIONS_H
