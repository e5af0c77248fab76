//===- Trace.h - The trace of a process -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the host did goes to the file at once; what the device did, when its
// times are known. Both also go into the profile.
//===----------------------------------------------------------------------===//
//
// One lock guards a trace and what the TracedDrivers have noted; it is taken
// after all others, and not held over a call of a driver. Writing to the file
// is done under it.
//
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TRACE_TRACE_H
#define GPUASYNC_TRACE_TRACE_H

#include "core/process/Clock.h"
#include "drivers/Driver.h"
#include "gpuasync/Trace.h"
#include "trace/TraceFile.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_set>
#include <vector>

struct gpuasync_context;

namespace gpuasync {

class Trace;
class TracedDriver;

/// The one that is being taken; null: none.
extern std::atomic<Trace *> activeTrace;
inline Trace *tracing() { return activeTrace.load(std::memory_order_acquire); }

enum class WorkKind : uint8_t { Kernel, Copy, Fill, Graph, Call };

/// What is put on a stream.
struct Work {
  WorkKind kind = WorkKind::Copy;
  const char *name = "";
  const gpuasync_site *site = nullptr;
  uint64_t bytes = 0;
  const gpuasync_block *block = nullptr; ///< of a kernel
  uint32_t launches = 0, copies = 0, fills = 0;
};

/// One piece of work as the trace keeps it: names and places belong to the
/// trace, since a program may go before its times are known.
struct Span {
  uint64_t session = 0; ///< Trace::session when it was put on the stream
  uint32_t process = 0, track = 0;
  WorkKind kind = WorkKind::Copy;
  const std::string *name = nullptr, *place = nullptr;
  uint32_t id = UINT32_MAX; ///< of the schedule
  uint64_t bytes = 0;
  int64_t grid[3] = {}, block[3] = {};
  uint32_t launches = 0, copies = 0, fills = 0;
  DeviceTiming timing;
  enum class State : uint8_t { Open, Known, Lost } state = State::Open;
  /// On other streams, what it had to come after.
  std::vector<std::shared_ptr<Span>> after;
};

class Trace {
public:
  /// Made on first use, never destroyed.
  static Trace &get();

  /// gpuasync_trace_start and _stop.
  Status start(const char *file);
  Status stop();
  /// The same as start where no context can be open.
  Status begin(const char *file);
  /// The process ends, perhaps while others are at work: completes the file
  /// with what is known.
  void finish() noexcept;

  /// Puts a TracedDriver around the context's driver. Process::mutex held.
  void attach(gpuasync_context &context);

  /// What the calling thread did from `from` until now. `details`: further
  /// members of the event's arguments, as JSON.
  void host(const char *category, const char *name, const gpuasync_site *site,
            int64_t from, const char *details = "") noexcept;
  void host(const char *category, const char *name, const char *sourceFile,
            uint32_t line, uint32_t column, int64_t from,
            const char *details = "") noexcept;
  uint64_t profile(gpuasync_profile_visitor visitor, void *user);

private:
  friend class TracedDriver;

  struct Row {
    uint64_t calls = 0, total = 0, least = UINT64_MAX, most = 0, bytes = 0,
             launches = 0;
  };
  using RowKey = std::tuple<WorkKind, const std::string *, const std::string *>;

  Status end(); ///< `control` held

  //===--- `mutex` held
  const std::string *intern(const std::string &text);
  const std::string *placeOf(const char *sourceFile, uint32_t line,
                             uint32_t column);
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

  std::mutex control; ///< one start or stop at a time; before all other locks
  std::mutex mutex;
  uint64_t session = 0;
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

/// What the calling thread does while one lives, if there is a trace.
class HostSpan {
public:
  HostSpan(const char *category, const char *name, const gpuasync_site *site)
      : category(category), name(name), site(site),
        from(__builtin_expect(tracing() != nullptr, 0) ? nowNs() : 0) {}
  HostSpan(const HostSpan &) = delete;
  ~HostSpan() {
    if (__builtin_expect(from != 0, 0))
      if (Trace *trace = tracing())
        trace->host(category, name, site, from);
  }

private:
  const char *category, *name;
  const gpuasync_site *site;
  int64_t from;
};

/// The host itself made a copy that the program has put on the stream.
/// `from`: 0 if there was no trace when it began.
void traceHostCopy(gpuasync_context &context, NativeStream stream,
                   uint64_t bytes, const gpuasync_site *site,
                   int64_t from) noexcept;

} // namespace gpuasync

#endif // GPUASYNC_TRACE_TRACE_H
