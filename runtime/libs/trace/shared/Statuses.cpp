//===- Statuses.cpp - Making statuses in the shared library ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// StatusImpl.h by functions of the runtime. A program that links both
// statically has no need of this file.
//===----------------------------------------------------------------------===//

#include "libs/trace/Trace.h"

using namespace gpuasync;

Status gpuasync::makeStatus(uint32_t code, const char *format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  Status status = traceHost->makeStatusV(code, format, arguments);
  va_end(arguments);
  return status;
}

Status gpuasync::caughtStatus() noexcept { return traceHost->caughtStatus(); }
