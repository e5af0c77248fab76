//===- Trace.h - The trace of a process -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host did goes to the file at once; what the device did, when its
// times are known, and into the profile. An embedder's callback gets both too,
// with or without a file.
//===----------------------------------------------------------------------===//
//
// One lock guards a trace and what the TracedDrivers have noted; it is taken
// after all others, and not held over a call of a driver or of the callback.
// Writing to the file is done under it.
//
// A session lasts while there is a recording or a callback, and in it
// TracedDrivers are around the drivers.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_TRACE_TRACE_H
#define GPUASYNC_LIBS_TRACE_TRACE_H

#include "libs/trace/Subscriber.h"
#include "libs/trace/TraceFile.h"
#include "services/trace/Interface.h"
#include "shim/base/Clock.h"
#include "shim/timepoint/Timepoint.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

namespace gpuasync {

class TracedDriver;

/// How records of work are told apart.
enum class WorkKind : uint8_t { Kernel, Copy, Fill, Graph, Call };

/// What is put on a stream.
struct Work {
  WorkKind kind = WorkKind::Copy;
  const char *name = "";
  const gpuasync_site *site = nullptr;
  uint64_t bytes = 0;
  const gpuasync_launch_config *block = nullptr; ///< of a kernel
  uint32_t launches = 0, copies = 0, fills = 0;
  /// The launch writes here which word tells the host of the work's end.
  const Completion *completion = nullptr;
};

/// One piece of work as the trace keeps it: names and places belong to the
/// trace, since a program may go before its times are known.
struct Span {
  /// Trace::session and ::recording when it was put on the stream.
  uint64_t session = 0, recording = 0;
  uint64_t record = 0; ///< the id of the callback's; 0: nobody gets it
  uint64_t cause = 0;  ///< of the record in which it was put on the stream
  uint32_t process = 0, track = 0;
  WorkKind kind = WorkKind::Copy;
  const std::string *name = nullptr, *place = nullptr, *file = nullptr;
  uint32_t line = 0, column = 0;
  uint32_t id = UINT32_MAX; ///< of the schedule
  uint64_t bytes = 0;
  int64_t grid[3] = {}, block[3] = {};
  uint32_t launches = 0, copies = 0, fills = 0;
  DeviceTiming timing;
  /// The work's end, a little before its time is known, if the work has a word
  /// of its own; else not set.
  Timepoint told;
  enum class State : uint8_t { Open, Known, Lost } state = State::Open;
  /// On other streams, what it had to come after.
  std::vector<std::shared_ptr<Span>> after;
};

class Trace final : public TraceService {
public:
  //===--- Of the runtime
  bool isRecording() override;
  Status begin(const char *file) override;
  Status end() override;
  bool isSubscribed() const noexcept override { return subscriber.present(); }
  void subscribe(gpuasync_trace_callback callback, void *user) override;
  Status unsubscribe() override { return subscriber.clear(); }
  Status openRanges(bool &found) override;
  uint64_t profile(gpuasync_profile_visitor visitor, void *user) override;

  //===--- Of the core
  void beginSpan(HostSpan &span, HostKind kind, const char *name,
                 const Place &place) noexcept override;
  void endSpan(HostSpan &span, HostKind kind, const char *name,
               const Place &place, const char *played) noexcept override;
  std::unique_ptr<Device> surround(Device &inner, const char *name,
                                   bool isVendors) override;
  void finish() noexcept override;
  void forget() noexcept override;

  bool hasListener(uint32_t kind) const {
    return traceHost->listeners->load(std::memory_order_acquire) & kind;
  }
  /// Whether there is a trace or a callback.
  bool tracing() const { return hasListener(ListenTrace); }

  /// What the calling thread did, for the file. `played`: how, of a region.
  void note(HostKind kind, const char *name, const Place &place, int64_t from,
            int64_t to, const char *played = "") noexcept;
  /// The same of the trace's own work.
  void own(const char *name, int64_t from, int64_t to) noexcept;
  /// The system's number of the calling thread.
  static uint32_t threadNumber() noexcept;

  Subscriber subscriber;

private:
  friend class TracedDriver;

  struct Row {
    uint64_t calls = 0, total = 0, least = UINT64_MAX, most = 0, bytes = 0,
             launches = 0;
    /// Of a kernel: where it was launched, if at one place only.
    const std::string *place = nullptr;
  };
  using RowKey = std::tuple<WorkKind, const std::string *, const std::string *>;

  void beginSession();
  /// To the callback, once its times are known; no lock held.
  void tell(const Span &span, const char *device) noexcept;

  //===--- `mutex` held
  const std::string *intern(const std::string &text);
  const std::string *placeOf(const Place &place);
  void note(const char *category, const char *name, const Place &place,
            int64_t from, int64_t to, const char *played) noexcept;
  std::shared_ptr<Span> makeSpan(const Work &work);
  void settle(const std::shared_ptr<Span> &span);
  void writeSpan(const Span &span);
  /// An arrow, once both ends are known. False: not yet.
  bool writeArrow(const Span &from, const Span &to);
  void writeArrows();
  void nameProcess(uint32_t process, const char *name);
  void nameTrack(uint32_t process, uint64_t track, const char *name);
  void append(const std::string &event);
  struct OtherData {
    char text[256];
  };
  OtherData otherData() const;
  Status closeFile();

  std::mutex mutex;
  uint64_t session = 0;
  uint64_t recording = 0; ///< 0: none
  uint64_t recordings = 0;
  TraceFile file;
  int64_t origin = 0; ///< of the file's times
  uint64_t arrows = 0, open = 0;
  int64_t clockError = 0;
  uint32_t processes = 1;
  /// Never ended, and may yet do so after their context.
  std::vector<std::shared_ptr<Span>> abandoned;
  std::unordered_set<std::string> texts;
  std::map<RowKey, Row> rows;
  std::vector<std::pair<std::shared_ptr<Span>, std::shared_ptr<Span>>> waiting;
};

/// The id of the last record that began on the calling thread.
uint64_t lastRecordOfThread();

} // namespace gpuasync

#endif // GPUASYNC_LIBS_TRACE_TRACE_H
