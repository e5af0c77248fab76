//===- Executable.cpp - Compiled programs and their functions -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements the functions of gpuasync_executable and gpuasync_callable, but
// for those that make executables (Compiling.cpp) and that call (Call.cpp).
//===----------------------------------------------------------------------===//

#include "Library/Executable.h"
#include "Library/Status.h"

#include <cstring>

using namespace llvm;
using namespace gpuexec;
using mlir::gpuasync::ScheduleFormat;

static gpuasync_status *release(gpuasync_executable *executable) {
  if (!executable ||
      executable->references.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return nullptr;
  gpuasync::Status status = [&] {
    gpuasync::ContextScope scope(executable->device->context);
    return executable->linked.release();
  }();
  // After an error it may still run: its code stays.
  if (status.ok())
    delete executable;
  return status.release();
}

gpuasync_status *
gpuasync_executable_release(gpuasync_executable *executable) noexcept {
  return release(executable);
}

const char *gpuasync_executable_diagnostics(
    const gpuasync_executable *executable) noexcept {
  return executable ? executable->said.c_str() : "";
}

const char *
gpuasync_executable_timing(const gpuasync_executable *executable) noexcept {
  return executable ? executable->timing.c_str() : "";
}

const char *
gpuasync_executable_device(const gpuasync_executable *executable) noexcept {
  return executable ? gpuasync_context_device(executable->device->context.get())
                    : "";
}

int32_t gpuasync_executable_keeps_arrays(
    const gpuasync_executable *executable) noexcept {
  return executable && executable->keepsArrays;
}

gpuasync_status *
gpuasync_executable_queue(const gpuasync_executable *executable,
                          void **out) noexcept {
  if (!executable || !out)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_executable_queue: the executable or `out` is null");
  *out = nullptr;
  if (!executable->keepsArrays)
    return fail(GPUASYNC_UNSUPPORTED,
                "gpuasync_executable_queue: results do not stay on the device; "
                "compile with place=device, for a device with memory of its "
                "own");
  return executable->device->queue->open(*out).release();
}

gpuasync_context *
gpuasync_executable_context(const gpuasync_executable *executable) noexcept {
  return executable ? executable->device->context.get() : nullptr;
}

const char *
gpuasync_executable_function_name(const gpuasync_executable *executable,
                                  size_t index) noexcept {
  return executable && index < executable->callables.size()
             ? executable->callables[index].name.c_str()
             : nullptr;
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// A function, also one that cannot be called from here.
static gpuasync_status *find(const gpuasync_executable *executable,
                             const char *name, const Callable *&out) {
  if (!executable || !name)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "lookup: the executable or the name is null");
  for (const Callable &callable : executable->callables) {
    if (callable.name != name)
      continue;
    out = &callable;
    return nullptr;
  }
  std::string names;
  for (const Callable &callable : executable->callables)
    names += (names.empty() ? "@" : ", @") + callable.name;
  return fail(GPUASYNC_NOT_FOUND,
              Twine("there is no function @") + name + "; there are " + names);
}

gpuasync_status *gpuexec::findToCall(const gpuasync_executable *executable,
                                     const char *name, const Callable *&out) {
  if (gpuasync_status *status = find(executable, name, out))
    return status;
  return out->unsupported.empty()
             ? nullptr
             : fail(GPUASYNC_UNSUPPORTED,
                    "@" + out->name + ": " + out->unsupported);
}

gpuasync_status *gpuasync_executable_lookup(gpuasync_executable *executable,
                                            const char *name,
                                            gpuasync_callable **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT, "lookup: `out` is null");
  *out = nullptr;
  const Callable *callable = nullptr;
  if (gpuasync_status *status = findToCall(executable, name, callable))
    return status;
  executable->references.fetch_add(1, std::memory_order_relaxed);
  *out = new gpuasync_callable{executable, callable};
  return nullptr;
}

gpuasync_status *
gpuasync_callable_release(gpuasync_callable *callable) noexcept {
  if (!callable)
    return nullptr;
  gpuasync_executable *executable = callable->executable;
  delete callable;
  return release(executable);
}

size_t
gpuasync_callable_argument_count(const gpuasync_callable *callable) noexcept {
  return callable ? callable->callable->arguments.size() : 0;
}

size_t
gpuasync_callable_result_count(const gpuasync_callable *callable) noexcept {
  return callable ? callable->callable->results.size() : 0;
}

static gpuasync_status *describeTo(const std::vector<Parameter> &list,
                                   size_t index, bool byDestination,
                                   gpuasync_parameter *out) {
  if (!out || out->structSize < sizeof(size_t))
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "gpuasync_parameter: null, or its structSize is not set");
  if (index >= list.size())
    return fail(GPUASYNC_INVALID_ARGUMENT, "there is no number " +
                                               Twine(index) + ": there are " +
                                               Twine(list.size()));
  const Parameter &from = list[index];
  gpuasync_parameter parameter = {};
  parameter.structSize = out->structSize;
  parameter.kind = from.kind;
  parameter.type = from.type;
  parameter.rank = from.rank;
  parameter.byDestination = byDestination;
  for (auto [i, size] : enumerate(from.shape))
    parameter.shape[i] =
        mlir::ShapedType::isDynamic(size) ? GPUASYNC_DYNAMIC : size;
  parameter.text = from.text.c_str();
  parameter.donated = from.donated;
  parameter.taken = from.takenBy >= 0;
  std::memcpy(out, &parameter, std::min(out->structSize, sizeof(parameter)));
  return nullptr;
}

gpuasync_status *gpuasync_callable_argument(const gpuasync_callable *callable,
                                            size_t index,
                                            gpuasync_parameter *out) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  return describeTo(callable->callable->arguments, index, false, out);
}

gpuasync_status *gpuasync_callable_result(const gpuasync_callable *callable,
                                          size_t index,
                                          gpuasync_parameter *out) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  const Callable &function = *callable->callable;
  return describeTo(function.results, index,
                    index < function.results.size() &&
                        (function.destinations[index] >= 0 ||
                         function.results[index].kind == GPUASYNC_KIND_NUMBER),
                    out);
}

static gpuasync_status *draw(const Callable &callable, const char *word,
                             char **out) {
  std::optional<ScheduleFormat> format =
      mlir::gpuasync::parseWord<ScheduleFormat>(word ? word : "");
  if (!format)
    return fail(GPUASYNC_INVALID_ARGUMENT,
                Twine("schedule: expected a format, one of ") +
                    mlir::gpuasync::listWords<ScheduleFormat>() + ", not " +
                    (word ? "'" + Twine(word) + "'" : Twine("null")));
  if (!callable.schedule)
    return fail(GPUASYNC_UNSUPPORTED,
                "@" + callable.name +
                    " has no schedule: the program was lowered already; "
                    "compile the file from before");
  std::string text;
  raw_string_ostream os(text);
  callable.schedule->print(os, *format);
  *out = strdup(text.c_str());
  return *out ? nullptr
              : fail(GPUASYNC_OUT_OF_MEMORY,
                     "@" + callable.name + ": no memory for its schedule");
}

gpuasync_status *
gpuasync_executable_schedule(const gpuasync_executable *executable,
                             const char *function, const char *format,
                             char **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT, "schedule: `out` is null");
  *out = nullptr;
  const Callable *callable = nullptr;
  if (gpuasync_status *status = find(executable, function, callable))
    return status;
  return draw(*callable, format, out);
}

gpuasync_status *gpuasync_callable_schedule(const gpuasync_callable *callable,
                                            const char *format,
                                            char **out) noexcept {
  if (!out)
    return fail(GPUASYNC_INVALID_ARGUMENT, "schedule: `out` is null");
  *out = nullptr;
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  return draw(*callable->callable, format, out);
}
