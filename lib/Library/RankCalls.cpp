//===- RankCalls.cpp - Calls on several ranks -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a function once for each rank, on threads of this process.
//===----------------------------------------------------------------------===//

#include "Library/RankCalls.h"

#include "Execution/Link.h"
#include "GPUAsync/DeviceKinds.h"
#include "Kernels/Common/Thread.h"
#include "Library/Call.h"
#include "Library/Status.h"

#include "gpuasync/Ranks.h"

#include <dlfcn.h>

using namespace llvm;
using namespace gpuexec;

/// The most ranks of a call, as gpu-runner --ranks has it.
static constexpr size_t mostRanks = 1024;

Expected<RankDevices> IdleRanks::take(StringRef driver, size_t count) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto it = idle.begin(); it != idle.end(); ++it)
      if (it->size() == count) {
        RankDevices devices = std::move(*it);
        idle.erase(it);
        return devices;
      }
  }
  RankDevices devices;
  const bool isCpu = driver == mlir::gpuasync::cpuDevice.device;
  while (devices.size() < count) {
    auto device = std::make_shared<SharedDevice>();
    const auto ordinal = static_cast<int32_t>(devices.size());
    const std::string name =
        isCpu ? driver.str() : (driver + ":" + Twine(ordinal)).str();
    if (gpuasync::Status opened =
            gpuasync::Context::open(name.c_str(), device->context);
        !opened.ok())
      return createStringError(
          isCpu ? Twine(opened.message())
                : Twine("each rank has a GPU of its own: ") + opened.message());
    device->isCpu = isCpu;
    device->ordinal = isCpu ? 0 : ordinal;
    device->queue =
        std::make_shared<DeviceQueue>(device->context.get(), device->ordinal);
    devices.push_back(std::move(device));
  }
  return devices;
}

void IdleRanks::give(RankDevices devices) {
  std::lock_guard<std::mutex> lock(mutex);
  idle.push_back(std::move(devices));
}

namespace {
/// The functions of libgpuasync_ranks.so, which is opened on demand.
struct RankFunctions {
  decltype(&gpuasync_ranks_create) create = nullptr;
  decltype(&gpuasync_ranks_leave) leave = nullptr;
  decltype(&gpuasync_ranks_release) release = nullptr;

  RankFunctions() {
    void *library = openOwnLibrary("ranks");
    auto find = [&](auto &function, const char *name) {
      if (library)
        function =
            reinterpret_cast<std::remove_reference_t<decltype(function)>>(
                dlsym(library, name));
    };
    find(create, "gpuasync_ranks_create");
    find(leave, "gpuasync_ranks_leave");
    find(release, "gpuasync_ranks_release");
  }
};
} // namespace

/// Returns one error for those of all ranks. Where work goes on after one of
/// them, the code says so.
static gpuasync_status *joinStatuses(ArrayRef<gpuasync::Status> statuses) {
  std::string text;
  uint32_t code = 0;
  for (auto [rank, status] : enumerate(statuses)) {
    if (status.ok())
      continue;
    text += (text.empty() ? "rank " : "; rank ") + std::to_string(rank) + ": " +
            status.message();
    if (!code || status.code() == GPUASYNC_TIMEOUT)
      code = status.code();
  }
  return text.empty() ? nullptr : fail(code, text);
}

gpuasync_status *gpuasync_callable_call_ranks(
    const gpuasync_callable *callable, uint32_t count,
    const gpuasync_value *const *arguments, size_t argumentCount,
    gpuasync_value *const *results, size_t resultCount) noexcept {
  if (!callable)
    return fail(GPUASYNC_INVALID_ARGUMENT, "the callable is null");
  gpuasync_executable &executable = *callable->executable;
  const Callable &function = *callable->callable;
  if (count < 1 || count > mostRanks || (argumentCount && !arguments) ||
      (resultCount && !results))
    return fail(GPUASYNC_INVALID_ARGUMENT,
                "@" + Twine(function.name) + " is called on " + Twine(count) +
                    " ranks; there are 1 to " + Twine(mostRanks) +
                    ", each with its arguments and results");
  StringRef driver =
      StringRef(gpuasync_context_device(executable.device->context.get()))
          .split(':')
          .first;
  if (executable.deviceArrays || executable.takesStream)
    return fail(GPUASYNC_UNSUPPORTED,
                "ranks on GPUs take arrays of the host, and no stream; compile "
                "the program with place=copy, without stream=caller");
  if (count > 1 && executable.device->isCpu && !executable.variable.empty())
    return fail(GPUASYNC_UNSUPPORTED,
                "@" + Twine(executable.variable) +
                    " is a variable of kernels, which all ranks would share: "
                    "keep its value in memory that the program allocates");
  static const RankFunctions ranksLibrary;
  if (!ranksLibrary.create || !ranksLibrary.leave || !ranksLibrary.release)
    return fail(GPUASYNC_UNAVAILABLE,
                "libgpuasync_ranks.so, which ranks need, is not next to the "
                "runtime's library");
  Expected<RankDevices> devices = executable.idleRanks.take(driver, count);
  if (!devices)
    return fail(GPUASYNC_UNAVAILABLE, toString(devices.takeError()));
  SmallVector<gpuasync_context *> contexts;
  for (const std::shared_ptr<SharedDevice> &device : *devices)
    contexts.push_back(device->context.get());
  gpuasync_ranks *ranks = nullptr;
  if (gpuasync_status *status =
          ranksLibrary.create(contexts.data(), count, &ranks))
    return status;

  std::vector<gpuasync::Status> statuses(count);
  std::vector<SmallVector<gpuasync_value, 2>> made(count);
  auto runOne = [&](uint32_t rank) {
    made[rank].assign(results[rank], results[rank] + resultCount);
    statuses[rank] =
        gpuasync::Status(Call(executable, function, (*devices)[rank])
                             .runAndWait(arguments[rank], argumentCount,
                                         made[rank].data(), resultCount));
    ranksLibrary.leave(
        ranks, rank, statuses[rank].ok() ? nullptr : statuses[rank].message());
  };
  std::vector<mlir::gpuasync::Thread> threads(count);
  for (uint32_t rank = 0; rank < count; ++rank)
    if (Error error = threads[rank].start([&runOne, rank] { runOne(rank); })) {
      // The others would wait for it.
      statuses[rank] = gpuasync::Status(
          fail(GPUASYNC_UNAVAILABLE, toString(std::move(error))));
      ranksLibrary.leave(ranks, rank, statuses[rank].message());
    }
  for (mlir::gpuasync::Thread &thread : threads)
    if (thread.isJoinable())
      thread.join();
  ranksLibrary.release(ranks);

  gpuasync_status *status = joinStatuses(statuses);
  for (uint32_t rank = 0; rank < count; ++rank)
    for (size_t i = 0; i < resultCount && statuses[rank].ok(); ++i) {
      if (!status)
        results[rank][i] = made[rank][i];
      else if (!results[rank][i].data)
        gpuasync_value_release(&made[rank][i]);
    }
  if (!status)
    executable.idleRanks.give(std::move(*devices));
  return status;
}
