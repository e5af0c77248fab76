//===- Status.cpp - Statuses ----------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One malloc per status; without memory a static one that is never freed.
//===----------------------------------------------------------------------===//

#include "gpuasync/Program.h"
#include "shim/base/StatusImpl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utility>

struct gpuasync_status {
  uint32_t code;
  bool located;
  bool isStatic;
  const char *message;
};

using namespace gpuasync;

static gpuasync_status outOfMemory = {
    GPUASYNC_OUT_OF_MEMORY, true, true,
    "out of host memory; nothing more can be said without it"};

Status gpuasync::outOfMemoryStatus() noexcept { return Status(&outOfMemory); }

Status gpuasync::caughtStatus() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc &) {
    return outOfMemoryStatus();
  } catch (...) {
    return makeStatus(GPUASYNC_DRIVER_ERROR, "unexpected C++ exception");
  }
}

/// One block: the struct, then the text.
static gpuasync_status *allocate(uint32_t code, bool located, size_t length,
                                 char *&text) {
  auto *status = static_cast<gpuasync_status *>(
      malloc(sizeof(gpuasync_status) + length + 1));
  if (!status)
    return nullptr;
  text = reinterpret_cast<char *>(status + 1);
  *status = {code, located, false, text};
  return status;
}

static void makeOneLine(char *text) {
  for (; *text; ++text)
    if (*text == '\n' || *text == '\r')
      *text = ' ';
}

Status gpuasync::makeStatusV(uint32_t code, const char *format,
                             va_list args) noexcept {
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(nullptr, 0, format, args);
  if (length < 0)
    length = 0;
  char *text = nullptr;
  gpuasync_status *status =
      allocate(code, false, static_cast<size_t>(length), text);
  if (status) {
    text[0] = 0;
    vsnprintf(text, static_cast<size_t>(length) + 1, format, again);
    makeOneLine(text);
  }
  va_end(again);
  return status ? Status(status) : outOfMemoryStatus();
}

Status gpuasync::makeStatus(uint32_t code, const char *format, ...) noexcept {
  va_list args;
  va_start(args, format);
  Status status = makeStatusV(code, format, args);
  va_end(args);
  return status;
}

Status gpuasync::locate(Status status, const gpuasync_site *site) noexcept {
  if (!site)
    return status;
  return locate(std::move(status), gpuasync_site_file(site), site->line,
                site->column, gpuasync_site_op(site));
}

Status gpuasync::locate(Status status, const char *file, uint32_t line,
                        uint32_t column, const char *op) noexcept {
  if (status.ok() || status.get()->located)
    return status;
  Status result =
      *file ? makeStatus(status.code(), "%s:%u:%u: %s%s%s", file, line, column,
                         op, *op ? ": " : "", status.message())
            : makeStatus(status.code(), "%s%s%s", op, *op ? ": " : "",
                         status.message());
  markLocated(result);
  return result;
}

void gpuasync::markLocated(Status &status) noexcept {
  if (!status.ok() && !status.get()->isStatic)
    status.get()->located = true;
}

Status gpuasync::copyStatus(const Status &status) noexcept {
  if (status.ok() || status.get()->isStatic)
    return Status(status.get());
  char *text = nullptr;
  size_t length = strlen(status.message());
  gpuasync_status *copy =
      allocate(status.code(), status.get()->located, length, text);
  if (!copy)
    return outOfMemoryStatus();
  memcpy(text, status.message(), length + 1);
  return Status(copy);
}

extern "C" {

uint32_t gpuasync_status_get_code(const gpuasync_status *status) noexcept {
  return status ? status->code : static_cast<uint32_t>(GPUASYNC_OK);
}

const char *
gpuasync_status_get_message(const gpuasync_status *status) noexcept {
  return status ? status->message : "";
}

gpuasync_status *gpuasync_status_make(uint32_t code,
                                      const char *message) noexcept {
  return makeStatus(code ? code : uint32_t(GPUASYNC_DRIVER_ERROR), "%s",
                    message ? message : "unknown error")
      .release();
}

void gpuasync_status_free(gpuasync_status *status) noexcept {
  if (status && !status->isStatic)
    free(status);
}

uint32_t gpuasync_abi_version(void) noexcept { return GPUASYNC_ABI_VERSION; }
}
