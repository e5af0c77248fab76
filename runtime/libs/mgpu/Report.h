//===- Report.h - Errors of calls that return none --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's calls have no status. The first error is kept and printed; then
// the process aborts, or (GPU_ASYNC_MGPU_ON_ERROR=continue) later calls do
// nothing.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_MGPU_REPORT_H
#define GPUASYNC_LIBS_MGPU_REPORT_H

#include "gpuasync/SiteTable.h"
#include "gpuasync/Status.h"

#include <atomic>
#include <new>

namespace gpuasync::mgpu {

/// The site of a call: `site`.
#define GPUASYNC_MGPU_SITE(name)                                               \
  static constexpr auto sites = gpuasync::mgpu::siteOf(name);                  \
  static constexpr const gpuasync_site &site = *sites.data()

template <uint32_t size>
constexpr auto siteOf(const char (&call)[size]) {
  SiteTable<1, size + 1> table;
  table.add("", call);
  return table;
}

extern std::atomic<bool> failed;

static constexpr char forkedMessage[] =
    "the process was forked; device work needs a process that starts anew "
    "(exec)";

/// Whether the call does nothing, because one failed, or since this is a forked
/// child or the process exits: an error, but not of a call that gives something
/// back (`release`). Each asks before it takes a lock, which may be held by a
/// thread that the child does not have or that goes no further.
bool refuses(const gpuasync_site *site, bool release = false);
/// Does not return where an error ends the process, if another thread takes
/// that through exit(). What calls do last, when they hold no lock.
void endInExit();

/// An error of our own: "CALL: ...".
void fail(const gpuasync_site *site, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/// What every entry does: nothing where it is refused, else `body`, of which an
/// exception is memory that is out.
template <typename Body>
auto entry(const gpuasync_site *site, Body body, bool release = false) noexcept
    -> decltype(body()) {
  struct Last {
    bool release;
    ~Last() {
      if (!release)
        endInExit();
    }
  } last{release};
  if (!refuses(site, release)) {
    try {
      return body();
    } catch (const std::bad_alloc &) {
      fail(site, "out of memory");
    }
  }
  return decltype(body())();
}
/// The same of an entry that gives something back.
template <typename Body>
void release(const gpuasync_site *site, Body body) noexcept {
  entry(site, body, /*release=*/true);
}

/// Keeps and prints the first error, with the name of the call (the site's op);
/// true if `status` is success. After gpuasync_shutdown, exit or fork, giving
/// something back is no error: `release`.
bool check(const gpuasync_site *site, Status status, bool release = false);
/// Prints a warning the first time that `seen` is 0, and counts.
void warnOnce(std::atomic<uint64_t> &seen, const gpuasync_site *site,
              const char *format, ...) __attribute__((format(printf, 3, 4)));

/// What GPU_ASYNC_MGPU_ON_ERROR says.
Status readPolicy(bool &goOn);

/// Forgets the first error and returns its code.
uint32_t forget();

} // namespace gpuasync::mgpu

#endif // GPUASYNC_LIBS_MGPU_REPORT_H
