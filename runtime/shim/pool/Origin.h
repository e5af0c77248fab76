//===- Origin.h - Where a program made something ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What memory, a registration or an event says of its maker, also when the
// program and its constant data are gone.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_ORIGIN_H
#define GPUASYNC_SHIM_POOL_ORIGIN_H

#include "gpuasync/RuntimeABI.h"

#include <atomic>
#include <string>

struct gpuasync_context;

namespace gpuasync {

struct ThreadState;

/// A program that the process knows. Kept for reuse after release, so that a
/// stale pointer to one can be compared and never dangles.
struct alignas(64) Registration {
  const gpuasync_program *program = nullptr;
  uint64_t id = 0; ///< unique over reuse
  /// The thread that is in gpuasync_program_release, and how many threads have
  /// found the program and may give a context something of it that the release
  /// has to see (Process::mutex).
  const ThreadState *releasing = nullptr;
  uint32_t visitors = 0;
  /// Where its frames run outside any scope; null until chosen.
  std::atomic<gpuasync_context *> defaultContext{nullptr};

  /// Whether the site lies in the program's constant data.
  bool holds(const gpuasync_site *site) const {
    return site && site - program->sites >= 0 &&
           site - program->sites < int64_t(program->siteCount);
  }
};

/// Guarded by the lock of the pool that holds it.
struct Origin {
  const gpuasync_site *site = nullptr;
  Registration *program = nullptr;
  std::string label; ///< replaces `site` once the program is gone

  /// "file:line:col: op", the label, or "unknown".
  std::string text() const;
  /// Turns the site into text if it is of `gone` (null: of any program).
  void keepLabel(const Registration *gone) {
    if (!site || (gone && program != gone))
      return;
    label = text();
    site = nullptr;
  }
};

/// "file:line:col: op", or the label kept when the program went away.
std::string describeSite(const gpuasync_site *site, const std::string &label);

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_ORIGIN_H
