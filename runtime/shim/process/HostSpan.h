//===- HostSpan.h - What a host thread does, for who listens ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thing from its begin to its end: to the trace, to an embedder's callback
// and to the vendors' profilers. While nobody listens it costs a branch on one
// word at each end.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_PROCESS_HOSTSPAN_H
#define GPUASYNC_SHIM_PROCESS_HOSTSPAN_H

#include "gpuasync/RuntimeABI.h"

#include <atomic>

namespace gpuasync {

/// Who listens to what the host does.
enum : uint32_t { ListenRanges = 1, ListenTrace = 2 };
extern std::atomic<uint32_t> listeners;
inline bool anyoneListens() {
  return __builtin_expect(listeners.load(std::memory_order_acquire) != 0, 0);
}

/// gpuasync_trace_kind has the same values.
enum class HostKind : uint8_t { Function = 1, Driver, Wait, Region, Library };

/// In the source; "" if nobody knows.
struct Place {
  const char *file = "";
  uint32_t line = 0, column = 0;

  explicit Place(const gpuasync_site *site) {
    if (!site)
      return;
    file = gpuasync_site_file(site);
    line = site->line;
    column = site->column;
  }
  explicit Place(const gpuasync_function &function)
      : file(function.file), line(function.line), column(function.column) {}
};

/// Kept where the thing is kept. What it is is said at both ends, so that less
/// need be kept. A thing that ends twice ended the first time.
class HostSpan {
public:
  template <typename Where>
  void begin(HostKind kind, const char *name, const Where &where) {
    if (anyoneListens())
      beginHeard(kind, name, Place(where));
  }
  template <typename Where>
  void end(HostKind kind, const char *name, const Where &where,
           const char *played = "") {
    if (__builtin_expect(from != 0, 0))
      endHeard(kind, name, Place(where), played);
  }

  //===--- For the tracer
  int64_t from = 0; ///< 0: nobody listened, and the others are not set
  uint64_t record;  ///< its id; 0: nobody got it
  bool pushed;      ///< it is a range of a profiler's

private:
  void beginHeard(HostKind kind, const char *name, const Place &place) noexcept;
  void endHeard(HostKind kind, const char *name, const Place &place,
                const char *played) noexcept;
};

/// What the calling thread does while one lives.
class HostScope {
public:
  HostScope(HostKind kind, const char *name, const gpuasync_site *site)
      : kind(kind), name(name), site(site) {
    span.begin(kind, name, site);
  }
  HostScope(const HostScope &) = delete;
  ~HostScope() { span.end(kind, name, site); }

private:
  const HostKind kind;
  const char *const name;
  const gpuasync_site *const site;
  HostSpan span;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_PROCESS_HOSTSPAN_H
