//===- Origin.h - Where a program made something ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What memory, a registration or an event says of its maker, also when the
// program and its constant data are gone.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_POOL_ORIGIN_H
#define GPUASYNC_CORE_POOL_ORIGIN_H

#include "gpuasync/RuntimeABI.h"

#include <string>

namespace gpuasync {

struct Registration;

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

} // namespace gpuasync

#endif // GPUASYNC_CORE_POOL_ORIGIN_H
