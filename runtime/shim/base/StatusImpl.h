//===- StatusImpl.h - Making statuses ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How core and drivers make an error. Making one never throws: when memory is
// out, the result is one static out-of-memory status.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_BASE_STATUSIMPL_H
#define GPUASYNC_SHIM_BASE_STATUSIMPL_H

#include "gpuasync/Status.h"

#include <new>
#include <stdarg.h>
#include <stdio.h>
#include <string>

/// Ends the function with the status that `expression` gives, unless it is Ok.
#define RETURN_IF_ERROR(...)                                                   \
  do {                                                                         \
    ::gpuasync::Status status_ = (__VA_ARGS__);                                \
    if (__builtin_expect(!status_.ok(), 0))                                    \
      return status_;                                                          \
  } while (0)

namespace gpuasync {

/// Makes a status with a printf-style message "what: why", e.g.
/// "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1): invalid argument". Newlines
/// become spaces. The core adds the location.
Status makeStatus(uint32_t code, const char *format, ...) noexcept
    __attribute__((format(printf, 2, 3)));
Status makeStatusV(uint32_t code, const char *format, va_list args) noexcept;

/// The static status; allocates nothing.
Status outOfMemoryStatus() noexcept;

/// Puts "file:line:col: op: " before the message unless the status already has
/// a location. A null site leaves the status as it is.
Status locate(Status status, const gpuasync_site *site) noexcept;
Status locate(Status status, const char *file, uint32_t line, uint32_t column,
              const char *op) noexcept;

/// Marks a status whose message already begins with a location, so that
/// `locate` adds none (a kernel's assert, say).
void markLocated(Status &status) noexcept;

/// A copy with the same code and message, for an error that several waiters
/// see.
Status copyStatus(const Status &status) noexcept;

/// Returns the status of what a handler has caught. One place for all handlers.
Status caughtStatus() noexcept;

/// Runs `body` and turns what it throws into a status.
template <typename Body>
Status guard(Body body) noexcept {
  try {
    return body();
  } catch (...) {
    return caughtStatus();
  }
}

/// Adds an item to a list of a message: "a; b; c".
inline void appendItem(std::string &list, const std::string &item,
                       const char *separator = "; ") {
  if (!list.empty() && !item.empty())
    list += separator;
  list += item;
}

/// "8 x 16 x 1", for messages.
struct Sizes {
  char text[72];
  explicit Sizes(const int64_t (&sizes)[3]) {
    snprintf(text, sizeof(text), "%jd x %jd x %jd", sizes[0], sizes[1],
             sizes[2]);
  }
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_BASE_STATUSIMPL_H
