//===- EventPool.h - Events of a context ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Idle events are handed out last in, first out, from the thread's own list if
// it has one; those in nobody's frame are known here.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_EVENTPOOL_H
#define GPUASYNC_SHIM_POOL_EVENTPOOL_H

#include "device/Driver.h"
#include "shim/base/Lists.h"
#include "shim/pool/Origin.h"
#include "shim/process/Thread.h"
#include "shim/timepoint/Timepoint.h"

#include <mutex>
#include <string>

struct gpuasync_context;
struct gpuasync_stream;

namespace gpuasync {

class CommandSink;
struct ContextPools;
struct OpenFrame;
struct ThreadContext;

/// Where the address of an event is aligned to: the low bits of a handle are
/// its generation, so that a stale handle is recognised.
struct alignas(64) Event {
  gpuasync_context *context = nullptr;
  NativeEvent native = nullptr;
  OpenFrame *frame = nullptr; ///< null: exported, or idle
  Event *previous = nullptr, *next = nullptr;
  Origin origin; ///< of the record
  /// The frame's own stream that it was recorded on, and the operations before
  /// it there; null: of another frame, or of none.
  gpuasync_stream *stream = nullptr;
  uint64_t position = 0;
  uint32_t generation = 0;
  //===--- In a region (Recorder.h)
  uint32_t regionNumber = 0;
  CommandSink *region = nullptr; ///< that has recorded it but not played
  bool live = false;
  bool isImported = false; ///< a token of another frame's work
  /// The last wait of an embedder for it came to its time limit.
  std::atomic<bool> isOverdue{false};
  /// Where it was recorded last.
  Timepoint point() const { return Timepoint::ofEvent(native); }
  gpuasync_event *handle() {
    return reinterpret_cast<gpuasync_event *>(
        reinterpret_cast<uintptr_t>(this) | (generation & 63));
  }
  static Event *of(gpuasync_event *handle) {
    return reinterpret_cast<Event *>(reinterpret_cast<uintptr_t>(handle) &
                                     ~uintptr_t(63));
  }
  bool isCurrent(gpuasync_event *from) const {
    return live &&
           (reinterpret_cast<uintptr_t>(from) & 63) == (generation & 63);
  }
};

/// Thread safe; a slot is passed by its own thread, an event by one thread at a
/// time. No other lock is taken under this one, and it is not held over calls
/// of the driver's.
class EventPool {
public:
  explicit EventPool(ContextPools &context) : context(context) {}
  EventPool(const EventPool &) = delete;
  ~EventPool();

  Status take(ThreadContext *slot, Event *&out) {
    out = slot ? slot->idleEvents.pop() : nullptr;
    return __builtin_expect(out != nullptr, 1) ? Status() : takeShared(out);
  }
  /// `slot` null: to those of all threads.
  void give(ThreadContext *slot, Event *event) {
    event->live = event->isImported = false;
    event->isOverdue.store(false, std::memory_order_relaxed);
    if (__builtin_expect(!event->origin.label.empty(), 0))
      event->origin.label.clear();
    ++event->generation;
    event->frame = nullptr;
    event->previous = nullptr;
    if (__builtin_expect(slot && slot->idleEvents.count < maxIdlePerThread, 1))
      slot->idleEvents.push(event);
    else
      giveShared(event);
  }
  /// The same of one that nobody has waited for to the end: what comes before
  /// it is abandoned work until it is reached.
  void abandon(Event *event);
  /// The first of these, off the list; null: there is none. For the thread that
  /// waits for abandoned work.
  Event *takeAbandoned();
  /// It is reached, or was not.
  void giveAbandoned(Event *event, bool reached);
  /// "a; b; ...": where they were recorded.
  std::string describeAbandoned();
  /// What is idle in a thread that ends, or whose context does.
  void takeBack(ThreadContext &slot);
  /// An event leaves its frame, and comes into one again (or is released).
  void leaveFrame(Event *event);
  void enterFrame(Event *event);
  /// With the place of the record of an event that is in nobody's frame.
  Status locate(const Event &event, Status status);
  void keepLabels(const Registration *gone);
  /// `visit(origin)` for each event that is in nobody's frame.
  template <typename Visit>
  void forEachExported(Visit visit) {
    std::lock_guard<std::mutex> lock(mutex);
    for (Event *event = exported; event; event = event->next)
      visit(event->origin);
  }
  /// At the context's end; exported ones stay what they are to their holders.
  void destroy();

private:
  static constexpr uint32_t maxIdlePerThread = 64;
  Status takeShared(Event *&out);
  void giveShared(Event *event);

  ContextPools &context;
  std::mutex mutex;
  Stack<Event> idle;
  DriverList<Event *> all;
  Event *exported = nullptr;
  Queue<Event> abandoned;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_EVENTPOOL_H
