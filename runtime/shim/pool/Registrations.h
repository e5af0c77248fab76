//===- Registrations.h - Host memory that programs registered ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counted by place: the driver registers a place once, and lets it go when
// nobody counts on it any more and the context rests. Registrations may
// overlap, as arguments of one call do.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_REGISTRATIONS_H
#define GPUASYNC_SHIM_POOL_REGISTRATIONS_H

#include "shim/base/StatusImpl.h"
#include "shim/command/Extent.h"
#include "shim/pool/Origin.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <vector>

namespace gpuasync {

struct ContextPools;
struct DeviceUse;

/// Thread safe, but that a frame is its own thread's. No other lock is taken
/// under this one, and it is not held over calls of the driver's.
class Registrations {
public:
  explicit Registrations(ContextPools &context) : context(context) {}
  Registrations(const Registrations &) = delete;

  /// Before `add` on several devices: the driver has one place for all of them.
  /// Ends on this one the registrations that `add` would end.
  void makeRoom(char *pointer, uint64_t bytes);
  /// One more registration of `pointer`, which the frame has made. It waits for
  /// running kernels if one of fewer bytes at the same place, or another one of
  /// a part of it, has ended and the driver has yet to learn of that. If one of
  /// fewer bytes has not ended, that is an error, except on a device that
  /// reaches all host memory.
  Status add(DeviceUse &use, char *pointer, uint64_t bytes,
             const gpuasync_site *site);
  /// One less: of the frame's own if it has made any, else of what frames that
  /// were left have made; the smallest of these.
  Status remove(DeviceUse &use, const void *pointer);
  /// What the frame has made is no longer its own; `undo`: it ends.
  void leave(DeviceUse &use, bool undo);
  /// Whether all around `first`, the first element, lies in one registration;
  /// `partly`: not all, but the first element, or such registrations have
  /// ended.
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
        visit(range.origin, range.reach);
  }

private:
  /// The count of one frame, of one size. That of an open frame is undone if
  /// the frame fails.
  struct Part {
    DeviceUse *use = nullptr; ///< null: frames that were left
    uint64_t bytes = 0;
    uint32_t count = 0;
  };
  struct Range {
    uint64_t bytes = 0; ///< that the driver has registered
    uint64_t reach = 0; ///< the most bytes that somebody counts on
    uint32_t count = 0; ///< 0: to be unregistered, unless it is busy
    bool owned = false; ///< the driver holds it for us
    bool busy = false;  ///< the driver is being called: whoever finds it waits
    std::vector<Part> parts; ///< whose counts are `count`
    Origin origin;
    void countDown(Part &part, uint32_t less);
  };
  using Place = std::map<uintptr_t, Range>::iterator;

  void countUp(DeviceUse &use, Range &range, uint64_t bytes,
               const gpuasync_site *site);
  template <typename Visit>
  void visitAround(uintptr_t address, Visit visit);
  void retire();
  bool isNeeded(Place place);
  void endOverlapped(std::unique_lock<std::mutex> &lock, uintptr_t address,
                     uint64_t bytes);
  void erase(Place place);

  ContextPools &context;
  std::mutex mutex;
  std::condition_variable settled; ///< a range is busy no more
  std::map<uintptr_t, Range> ranges;
  uint64_t longest = 0;        ///< no range has more bytes
  std::atomic<size_t> size{0}; ///< of `ranges`
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_REGISTRATIONS_H
