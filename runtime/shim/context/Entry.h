//===- Entry.h - What every public entry does first -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries refuse in a forked child, in a process that exits and after the
// shutdown, keep the context that they work on from being closed meanwhile, and
// let nothing be thrown at their callers.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_CONTEXT_ENTRY_H
#define GPUASYNC_SHIM_CONTEXT_ENTRY_H

#include "gpuasync/Context.h"
#include "shim/context/ContextImpl.h"

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
    ContextRef visit(context);
    Status status = context.check();
    return status.ok() ? body() : std::move(status);
  });
}

/// An entry that waits for work. It serves after the shutdown, too, which may
/// have left work behind; `body` has a WaitVisit.
template <typename Body>
gpuasync_status *waitEntry(Body body) noexcept {
  if (refusal.load(std::memory_order_relaxed) != RefuseShutDown ||
      insideCallback)
    return entry(body);
  return guard(body).release();
}

/// How long a thread whose call exit() overtakes waits for the call's work.
constexpr int64_t longestInExitNs = 10000000000;

/// Of an entry that waits, if it refused because another thread has the process
/// in exit(): its caller may give memory back when it returns. So it waits all
/// the same; where nobody can be asked, and after a while, it does not return.
/// `wait(timeoutNs, done)` asks the driver.
template <typename Wait>
gpuasync_status *waitInExit(gpuasync_context &context, gpuasync_status *refused,
                            Wait wait) noexcept {
  if (gpuasync_status_get_code(refused) != GPUASYNC_SHUT_DOWN || isForked() ||
      gpuasync_process_exiting() != 2)
    return refused;
  bool done = false;
  {
    WaitVisit visit(context);
    done = !visit.serves();
    if (!done && !context.has(CapVendorStreams))
      (void)guard([&] { return wait(longestInExitNs, done); });
  }
  if (!done)
    gpuasync_thread_end_in_exit();
  return refused;
}

inline Status nullArgument(const char *function) {
  return makeStatus(GPUASYNC_INVALID_ARGUMENT, "%s: null argument", function);
}

} // namespace gpuasync

#endif // GPUASYNC_SHIM_CONTEXT_ENTRY_H
