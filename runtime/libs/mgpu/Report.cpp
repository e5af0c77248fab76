//===- Report.cpp - Errors of calls that return none ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Report.h.
//===----------------------------------------------------------------------===//

#include "libs/mgpu/Report.h"
#include "gpuasync/Context.h"
#include "gpuasync/Mgpu.h"
#include "gpuasync/Program.h"
#include "shim/base/Settings.h"
#include "shim/base/Uncancelled.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace gpuasync;

std::atomic<bool> mgpu::failed{false};

static constexpr size_t maxMessage = 2048;
static std::atomic<bool> claimed{false}; ///< by whoever writes what follows
static char firstText[maxMessage];
static uint32_t firstCode;

bool mgpu::refuses(const gpuasync_site *site, bool release) {
  const char *why = gpuasync_process_forked()    ? forkedMessage
                    : gpuasync_process_exiting() ? "the process is exiting"
                                                 : nullptr;
  if (__builtin_expect(why != nullptr, 0)) {
    if (!release && !failed.load(std::memory_order_relaxed))
      check(site, Status(gpuasync_status_make(GPUASYNC_SHUT_DOWN, why)));
    return true;
  }
  return __builtin_expect(failed.load(std::memory_order_relaxed), 0);
}

Status mgpu::readPolicy(bool &goOn) {
  return wordSetting("GPU_ASYNC_MGPU_ON_ERROR", "abort", "continue", goOn);
}

static bool goesOn() {
  bool goOn = false;
  (void)mgpu::readPolicy(goOn); // a word that is none stops, as it is told
  return goOn;
}

void mgpu::endInExit() {
  if (__builtin_expect(gpuasync_process_exiting() == 2, 0) && !goesOn())
    gpuasync_thread_end_in_exit();
}

static void keep(uint32_t code, const char *text) {
  bool goOn = goesOn();
  if (code == GPUASYNC_SHUT_DOWN && gpuasync_process_exiting() == 2 && !goOn)
    return; // endInExit follows
  if (claimed.exchange(true))
    return;
  snprintf(firstText, sizeof(firstText), "%s", text);
  firstCode = code;
  mgpu::failed.store(true);
  fprintf(stderr, "error: %s%s\n", text,
          goOn ? " (later mgpu calls do nothing)" : "");
  fflush(stderr);
  if (!goOn)
    abort();
}

bool mgpu::check(const gpuasync_site *site, Status status, bool release) {
  if (__builtin_expect(status.ok(), 1))
    return true;
  if (release && status.code() == GPUASYNC_SHUT_DOWN)
    return false;
  // The error of a kernel may begin with a place in a file.
  const char *call = gpuasync_site_op(site);
  bool named = strncmp(status.message(), call, strlen(call)) == 0;
  char text[maxMessage];
  snprintf(text, sizeof(text), "%s%s%s", named ? "" : call, named ? "" : ": ",
           status.message());
  keep(status.code(), text);
  return false;
}

void mgpu::fail(const gpuasync_site *site, const char *format, ...) {
  char text[maxMessage];
  int length = snprintf(text, sizeof(text), "%s: ", gpuasync_site_op(site));
  va_list args;
  va_start(args, format);
  vsnprintf(text + length, sizeof(text) - static_cast<size_t>(length), format,
            args);
  va_end(args);
  keep(GPUASYNC_INVALID_ARGUMENT, text);
}

void mgpu::warnOnce(std::atomic<uint64_t> &seen, const gpuasync_site *site,
                    const char *format, ...) {
  if (seen.fetch_add(1, std::memory_order_relaxed))
    return;
  const Uncancelled uncancelled;
  char text[maxMessage];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  fprintf(stderr, "warning: %s: %s (said once)\n", gpuasync_site_op(site),
          text);
}

uint32_t mgpu::forget() {
  uint32_t code = failed.load() ? firstCode : uint32_t(GPUASYNC_OK);
  failed.store(false);
  claimed.store(false);
  return code;
}

extern "C" const char *gpuasync_mgpu_error(void) noexcept {
  return mgpu::failed.load(std::memory_order_acquire) ? firstText : nullptr;
}
