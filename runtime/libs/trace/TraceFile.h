//===- TraceFile.h - The file of a trace ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chrome's trace events as JSON: an object with an array of them, which is
// whole after each write, so that a process that is killed leaves a file that
// can be read, or that lacks its end if it was killed during a write. Events
// are lines of their own.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_TRACE_TRACEFILE_H
#define GPUASYNC_LIBS_TRACE_TRACEFILE_H

#include "shim/base/Clock.h"
#include "shim/base/StatusImpl.h"

#include <stdint.h>
#include <string>

namespace gpuasync {

/// Appends `text` as a JSON string. Bytes that are no UTF-8 become '?'.
void appendQuoted(std::string &out, const char *text);
/// Nanoseconds as microseconds.
void appendTime(std::string &out, int64_t ns);

/// One thread at a time.
class TraceFile {
public:
  /// "%p" in the name is the process. Events beyond `limit` bytes are dropped.
  Status open(const char *name, uint64_t limit, const char *other);
  bool isOpen() const { return descriptor >= 0; }
  /// One event, an object. False: it was dropped.
  bool append(const std::string &event);
  uint64_t dropped() const { return droppedCount; }
  void drop() { ++droppedCount; }
  /// Writes what has gathered; `other` is the text of "otherData".
  void flush(const char *other);
  /// Whether much has gathered, or for long.
  bool wantsFlush() const {
    return gathered.size() >= flushBytes || nowNs() >= flushed + flushAgeNs;
  }
  /// The last write, and what went wrong in any.
  Status close(const char *other);

private:
  static constexpr size_t flushBytes = 256 << 10;
  static constexpr int64_t flushAgeNs = 200000000;
  void write(const char *bytes, size_t size, int64_t at);

  std::string name, gathered;
  int descriptor = -1;
  bool seekable = false;
  int error = 0; ///< errno of the first write that failed
  int64_t end = 0, flushed = 0;
  uint64_t limit = 0, droppedCount = 0, written = 0;
};

} // namespace gpuasync

#endif // GPUASYNC_LIBS_TRACE_TRACEFILE_H
