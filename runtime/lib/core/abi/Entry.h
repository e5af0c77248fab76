//===- Entry.h - What every public entry does first -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries refuse in a forked child, in a process that exits and after the
// shutdown, keep the context that they work on from being closed meanwhile, and
// let nothing be thrown at their callers.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_ABI_ENTRY_H
#define GPUASYNC_CORE_ABI_ENTRY_H

#include "core/context/ContextImpl.h"

namespace gpuasync {

/// An entry that belongs to no context.
template <typename Body>
gpuasync_status *entry(Body body) noexcept {
  Status refused = checkRefusal();
  return (refused.ok() ? guard(body) : std::move(refused)).release();
}

/// An entry of a context: `body` runs if that is open, and keeps it so.
template <typename Body>
gpuasync_status *entry(gpuasync_context &context, Body body) noexcept {
  return entry([&]() -> Status {
    Visit visit(context);
    Status status = context.check();
    return status.ok() ? body() : std::move(status);
  });
}

inline Status nullArgument(const char *function) {
  return makeStatus(GPUASYNC_INVALID_ARGUMENT, "%s: null argument", function);
}

} // namespace gpuasync

#endif // GPUASYNC_CORE_ABI_ENTRY_H
