//===- Call.cpp - One call of a function ----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Call.h. Runs calls, and implements the functions that call.
//===----------------------------------------------------------------------===//

#include "Library/Call.h"
#include "Library/Status.h"

using namespace llvm;
using namespace gpuexec;

gpuasync::Status gpuexec::join(gpuasync::Status status,
                               gpuasync::Status awaited) {
  if (awaited.code() == GPUASYNC_TIMEOUT)
    return gpuasync::Status(fail(
        status.ok() ? awaited.code() : status.code(),
        Twine(status.message()) + (status.ok() ? "" : "; ") +
            awaited.message() +
            "; that work still uses the memory of the call, so wait for it "
            "before you free any "
            "(gpuasync_context_wait_abandoned; in Python ga.wait_abandoned)"));
  return status.ok() ? std::move(awaited) : std::move(status);
}

gpuasync_status *Call::run(void *stream, const gpuasync_value *arguments,
                           size_t argumentCount, gpuasync_value *results,
                           size_t resultCount) {
  if (argumentCount != function.arguments.size() ||
      resultCount != function.results.size() || (argumentCount && !arguments) ||
      (resultCount && !results))
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "@" + Twine(function.name) + " has " +
                    Twine(function.arguments.size()) + " arguments and " +
                    Twine(function.results.size()) + " results, given " +
                    Twine(argumentCount) + " and " + Twine(resultCount));
  words.resize_for_overwrite(function.words);
  next = words.data();
  packed.resize_for_overwrite(function.layout.storage + 3);
  ranges.reserve(argumentCount + resultCount);
  for (size_t i = 0; i < argumentCount; ++i) {
    const Parameter &parameter = function.arguments[i];
    Range range;
    if (gpuasync_status *status =
            check("argument", i, parameter, arguments[i], range))
      return status;
    ranges.push_back(range);
  }
  if (gpuasync_status *status = checkSizes(arguments))
    return status;
  if (gpuasync_status *status = findTaken(results))
    return status;
  for (size_t i = 0; i < resultCount; ++i)
    if (gpuasync_status *status = checkResult(i, results[i]))
      return status;
  SmallVector<gpuasync_value, 0> placed;
  if (queue || function.takesAny) {
    placed.assign(arguments, arguments + argumentCount);
    ArrayRef wanted(results, resultCount);
    if (gpuasync_status *status = queue ? makeDeviceMemory(placed, wanted)
                                        : makeHostMemory(placed, wanted))
      return status;
    arguments = placed.data();
  }
  for (size_t i = 0; i < argumentCount; ++i) {
    const Parameter &parameter = function.arguments[i];
    announce(parameter, ranges[i]);
    packed[function.layout.arguments[i]] =
        parameter.kind == GPUASYNC_KIND_NUMBER
            ? arguments[i].data
            : describeArray(parameter, arguments[i]);
  }
  // The caller's values are written after success only.
  SmallVector<gpuasync_value, 2> made(results, results + resultCount);
  gpuasync::Status status;
  for (size_t i = 0; i < resultCount && status.ok(); ++i)
    status = gpuasync::Status(prepareResult(i, made[i]));
  if (status.ok() && !queue && !used.empty())
    status = gpuasync::Status(awaitArrays(stream));
  if (status.ok()) {
    storage.assign(divideCeil(function.layout.resultBytes, 8) + 1, 0);
    gpuasync_status *raw = nullptr;
    void **end = &packed[function.layout.storage];
    if (executable.takesStream)
      *end++ = &stream;
    *end++ = storage.data();
    *end = &raw;
    status = gpuasync::Status(gpuasync_scope_push(device->context.get()));
    if (status.ok()) {
      gpuasync_call_arrays known = {arrays.data(), arrays.size(), nullptr};
      gpuasync_call_arrays_push(&known);
      takeOver();
      function.function(packed.data());
      gpuasync_call_arrays_pop();
      gpuasync_scope_pop();
      status = gpuasync::Status(raw);
    }
  }
  if (!status.ok())
    return status.release();
  for (size_t i = 0; i < resultCount; ++i) {
    readResult(i, made[i]);
    if (made[i].owner && function.destinations[i] < 0 && !results[i].data)
      allocated.push_back(made[i].owner);
    results[i] = made[i];
  }
  return nullptr;
}

gpuasync_status *Call::runOn(void *stream, const gpuasync_value *arguments,
                             size_t argumentCount, gpuasync_value *results,
                             size_t resultCount) {
  if (function.takesAny)
    return fail(GPUASYNC_UNSUPPORTED,
                "@" + Twine(function.name) +
                    " computes results in the memory of donated arguments, "
                    "which is in the order of the device's own stream: call it "
                    "without a stream");
  isOrdered = true;
  gpuasync::Status status(
      run(stream, arguments, argumentCount, results, resultCount));
  // Later calls that use the same arrays, and the frees of these.
  if (isBehindQueue) {
    DeviceQueue &arrays = *device->queue;
    std::lock_guard<std::mutex> lock(arrays.renewal);
    gpuasync::Status ended = arrays.orderAfter(stream, *ready);
    if (ended.ok())
      DeviceArray::renew(written, ready);
    else if (status.ok())
      status = std::move(ended);
  }
  // Enqueued work writes the results, which only the cpu device lets
  // us allocate. Where nobody can say when that is done they stay; a number
  // that is no stream has been given nothing.
  if (!status.ok() && !allocated.empty()) {
    gpuasync::Status done(gpuasync_context_stream_synchronize(
        static_cast<gpuasync_stream *>(stream)));
    if (!done.ok() && (!stream || done.code() != GPUASYNC_INVALID_ARGUMENT))
      allocated.clear();
  }
  return finish(std::move(status));
}

gpuasync_status *Call::runAndWait(const gpuasync_value *arguments,
                                  size_t argumentCount, gpuasync_value *results,
                                  size_t resultCount) {
  if (executable.keepsArrays)
    return runOnQueue(arguments, argumentCount, results, resultCount,
                      /*waits=*/true);
  // A call that run refuses at once needs no stream.
  if (!executable.takesStream || resultCount != function.results.size() ||
      (resultCount && !results))
    return finish(gpuasync::Status(
        run(nullptr, arguments, argumentCount, results, resultCount)));
  gpuasync_stream *stream = nullptr;
  if (gpuasync_status *status =
          gpuasync_context_stream_create(device->context.get(), &stream))
    return status;
  SmallVector<gpuasync_value, 2> made(results, results + resultCount);
  gpuasync::Status status(run(gpuasync_context_stream_native(stream), arguments,
                              argumentCount, made.data(), resultCount));
  // Enqueued work uses the arguments, after an error too. After a
  // timeout it is abandoned with the stream.
  gpuasync::Status awaited(gpuasync_context_stream_synchronize(stream));
  gpuasync_context_stream_destroy(stream);
  status = join(std::move(status), std::move(awaited));
  for (size_t i = 0; i < resultCount && status.ok(); ++i)
    results[i] = made[i];
  return finish(std::move(status));
}

gpuasync_status *gpuasync_callable_call(const gpuasync_callable *callable,
                                        const gpuasync_value *arguments,
                                        size_t argumentCount,
                                        gpuasync_value *results,
                                        size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  return Call(*callable->executable, *callable->callable)
      .runAndWait(arguments, argumentCount, results, resultCount);
}

gpuasync_status *gpuasync_callable_enqueue(const gpuasync_callable *callable,
                                           const gpuasync_value *arguments,
                                           size_t argumentCount,
                                           gpuasync_value *results,
                                           size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  Call call(*callable->executable, *callable->callable);
  return call.runInOrder(arguments, argumentCount, results, resultCount,
                         /*waits=*/false);
}

gpuasync_status *
gpuasync_callable_call_donating(const gpuasync_callable *callable,
                                int32_t waits, gpuasync_value *arguments,
                                size_t argumentCount, gpuasync_value *results,
                                size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  Call call(*callable->executable, *callable->callable);
  call.donate(arguments);
  return call.runInOrder(arguments, argumentCount, results, resultCount,
                         waits != 0);
}

gpuasync_status *gpuasync_callable_call_on(const gpuasync_callable *callable,
                                           void *stream,
                                           const gpuasync_value *arguments,
                                           size_t argumentCount,
                                           gpuasync_value *results,
                                           size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  if (!callable->executable->takesStream)
    return fail(GPUASYNC_UNSUPPORTED,
                "@" + Twine(callable->callable->name) +
                    " takes no stream; compile it with stream=caller");
  return Call(*callable->executable, *callable->callable)
      .runOn(stream, arguments, argumentCount, results, resultCount);
}

gpuasync_status *
gpuasync_executable_call(gpuasync_executable *executable, const char *name,
                         const gpuasync_value *arguments, size_t argumentCount,
                         gpuasync_value *results, size_t resultCount) noexcept {
  const Callable *callable = nullptr;
  if (gpuasync_status *status = findToCall(executable, name, callable))
    return status;
  return Call(*executable, *callable)
      .runAndWait(arguments, argumentCount, results, resultCount);
}
