//===- Status.h - An error as a value ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of a gpuasync_status, and in C++ its owner. Null is success.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_STATUS_H
#define GPUASYNC_STATUS_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus

namespace gpuasync {

/// Owns one status. Moving is free; success allocates nothing. Not thread safe,
/// as any value.
class [[nodiscard]] Status {
public:
  Status() noexcept = default;
  /// Takes over what a C function returned.
  explicit Status(gpuasync_status *raw) noexcept : raw(raw) {}
  Status(Status &&other) noexcept : raw(other.release()) {}
  Status &operator=(Status &&other) noexcept {
    if (this != &other) {
      gpuasync_status_free(raw);
      raw = other.release();
    }
    return *this;
  }
  Status(const Status &) = delete;
  Status &operator=(const Status &) = delete;
  ~Status() {
    if (raw)
      gpuasync_status_free(raw);
  }

  bool ok() const noexcept { return !raw; }
  /// gpuasync_status_code.
  uint32_t code() const noexcept { return gpuasync_status_get_code(raw); }
  /// One line without a newline; "" for success.
  const char *message() const noexcept {
    return gpuasync_status_get_message(raw);
  }
  gpuasync_status *get() const noexcept { return raw; }
  /// Gives the status away, as a C function's result.
  gpuasync_status *release() noexcept {
    gpuasync_status *result = raw;
    raw = nullptr;
    return result;
  }

private:
  gpuasync_status *raw = nullptr;
};

} // namespace gpuasync

#endif // __cplusplus

#endif // GPUASYNC_STATUS_H
