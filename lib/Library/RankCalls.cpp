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

#include <chrono>
#include <condition_variable>
#include <dlfcn.h>
#include <optional>

using namespace llvm;
using namespace gpuexec;

/// The most ranks of a call, as gpu-runner --ranks has it.
static constexpr size_t mostRanks = 1024;
/// The most that are kept for later calls, but those of the last one. Each has
/// threads and memory.
static constexpr size_t mostIdle = 64;

namespace {
/// The functions of libgpuasync_ranks.so, which is opened on demand.
struct RankFunctions {
  decltype(&gpuasync_ranks_create) create = nullptr;
  decltype(&gpuasync_ranks_leave) leave = nullptr;
  decltype(&gpuasync_ranks_renew) renew = nullptr;
  decltype(&gpuasync_ranks_describe) describe = nullptr;
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
    find(renew, "gpuasync_ranks_renew");
    find(describe, "gpuasync_ranks_describe");
    find(release, "gpuasync_ranks_release");
  }
  bool areThere() const {
    return create && leave && renew && describe && release;
  }
};
} // namespace

static const RankFunctions &ranksLibrary() {
  static const RankFunctions functions;
  return functions;
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

void ReleaseRanks::operator()(gpuasync_ranks *ranks) const {
  ranksLibrary().release(ranks);
}

static Error makeRanks(RankSet &set, StringRef driver, size_t count) {
  const bool isCpu = driver == mlir::gpuasync::cpuDevice.device;
  SmallVector<gpuasync_context *> contexts;
  while (set.devices.size() < count) {
    auto device = std::make_shared<SharedDevice>();
    const auto ordinal = static_cast<int32_t>(set.devices.size());
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
    contexts.push_back(device->context.get());
    set.devices.push_back(std::move(device));
  }
  gpuasync_ranks *ranks = nullptr;
  gpuasync::Status created(ranksLibrary().create(
      contexts.data(), static_cast<uint32_t>(count), &ranks));
  set.ranks.reset(ranks);
  return created.ok() ? Error::success() : createStringError(created.message());
}

Expected<RankSet> IdleRanks::take(StringRef driver, size_t count) {
  RankSet set;
  std::vector<RankSet> others;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto it = idle.begin(); it != idle.end(); ++it)
      if (it->devices.size() == count) {
        set = std::move(*it);
        idle.erase(it);
        return set;
      }
  }
  Error error = makeRanks(set, driver, count);
  if (!error)
    return set;
  // Others may have the threads and the memory.
  {
    std::lock_guard<std::mutex> lock(mutex);
    others.swap(idle);
  }
  if (others.empty())
    return error;
  consumeError(std::move(error));
  others.clear();
  set = {};
  if (Error again = makeRanks(set, driver, count))
    return again;
  return set;
}

void IdleRanks::give(RankSet set) {
  if (!ranksLibrary().renew(set.ranks.get()))
    return;
  std::vector<RankSet> old; // closed without the lock
  std::lock_guard<std::mutex> lock(mutex);
  size_t kept = set.devices.size();
  const size_t most = std::max(kept, mostIdle);
  idle.push_back(std::move(set));
  size_t first = idle.size() - 1;
  while (first && kept + idle[first - 1].devices.size() <= most)
    kept += idle[--first].devices.size();
  old.assign(std::make_move_iterator(idle.begin()),
             std::make_move_iterator(idle.begin() + first));
  idle.erase(idle.begin(), idle.begin() + first);
}

//===----------------------------------------------------------------------===//
// One call
//===----------------------------------------------------------------------===//

namespace {
/// One call on ranks. The caller and the threads of ranks share it. A rank that
/// does not end keeps it, and with it all memory that the rank may touch.
class RankRun {
public:
  RankRun(gpuasync_executable &executable, const Callable &function,
          RankSet taken, const gpuasync_value *const *givenArguments,
          size_t argumentCount, gpuasync_value *const *givenResults,
          size_t resultCount)
      : executable(executable), function(function), set(std::move(taken)),
        statuses(set.devices.size()), left(set.devices.size()) {
    executable.references.fetch_add(1, std::memory_order_relaxed);
    for (size_t rank = 0; rank < size(); ++rank) {
      ArrayRef given(argumentCount ? givenArguments[rank] : nullptr,
                     argumentCount);
      ArrayRef wanted(resultCount ? givenResults[rank] : nullptr, resultCount);
      arguments.emplace_back(given.begin(), given.end());
      results.emplace_back(wanted.begin(), wanted.end());
      made.emplace_back(wanted.begin(), wanted.end());
    }
  }
  ~RankRun() {
    set.ranks.reset();
    for (auto [rank, status] : enumerate(statuses))
      for (size_t i = 0; i < made[rank].size() && status && status->ok(); ++i)
        if (!results[rank][i].data)
          gpuasync_value_release(&made[rank][i]);
    set.devices.clear();
    gpuasync_status_free(gpuasync_executable_release(&executable));
  }
  RankRun(const RankRun &) = delete;

  uint32_t size() const { return static_cast<uint32_t>(set.devices.size()); }
  /// On the thread of the rank.
  void runOne(uint32_t rank);
  /// Ends a rank without a thread.
  void end(uint32_t rank, gpuasync::Status status);
  /// Waits until all ranks have ended. Returns false if the time limit is over
  /// before.
  bool wait();
  /// Returns one error for those of all ranks; null if there is none. Ranks
  /// that have not ended get one.
  gpuasync_status *takeStatus();
  /// Hands over the results and the ranks. All ranks have ended well.
  RankSet takeResults(gpuasync_value *const *out);

private:
  std::string describe(uint32_t rank) const {
    gpuasync::Status status(ranksLibrary().describe(set.ranks.get(), rank));
    return status.ok() ? std::string() : status.message();
  }

  gpuasync_executable &executable;
  const Callable &function;
  RankSet set;
  /// By rank; of results as given and as made.
  std::vector<SmallVector<gpuasync_value, 2>> arguments, results, made;

  std::mutex mutex; ///< of all that follows
  std::condition_variable changed;
  std::vector<std::optional<gpuasync::Status>> statuses; ///< none: it runs
  size_t left;
  std::chrono::steady_clock::time_point lastEnd;
  bool timedOut = false;
};
} // namespace

void RankRun::runOne(uint32_t rank) {
  gpuasync::Status status(
      Call(executable, function, set.devices[rank])
          .runAndWait(arguments[rank].data(), arguments[rank].size(),
                      made[rank].data(), made[rank].size()));
  // Others than this rank may be to blame.
  if (status.code() == GPUASYNC_TIMEOUT)
    if (std::string where = describe(rank); !where.empty())
      status = gpuasync::Status(
          fail(status.code(), Twine(status.message()) + "; it " + where));
  end(rank, std::move(status));
}

void RankRun::end(uint32_t rank, gpuasync::Status status) {
  ranksLibrary().leave(set.ranks.get(), rank,
                       status.ok() ? nullptr : status.message());
  std::lock_guard<std::mutex> lock(mutex);
  timedOut |= status.code() == GPUASYNC_TIMEOUT;
  statuses[rank] = std::move(status);
  --left;
  lastEnd = std::chrono::steady_clock::now();
  changed.notify_all();
}

bool RankRun::wait() {
  // Waits of the ranks have the same limit, and say more.
  const double grace = 1;
  const double limit = std::min(gpuasync_get_timeout(), 1e9);
  std::unique_lock<std::mutex> lock(mutex);
  while (left) {
    if (left == statuses.size() || (!timedOut && limit <= 0)) {
      changed.wait(lock);
      continue;
    }
    const auto end =
        lastEnd +
        std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::duration<double>(timedOut ? grace : limit + grace));
    if (changed.wait_until(lock, end) == std::cv_status::timeout && left &&
        std::chrono::steady_clock::now() >= end)
      return false;
  }
  return true;
}

gpuasync_status *RankRun::takeStatus() {
  std::string text;
  uint32_t code = 0;
  std::vector<uint32_t> running;
  {
    std::lock_guard<std::mutex> lock(mutex);
    for (auto [rank, status] : enumerate(statuses)) {
      std::string said;
      if (!status) {
        running.push_back(static_cast<uint32_t>(rank));
        const std::string where = describe(running.back());
        said = "it is still in the program, on the host" +
               (where.empty() ? where : ", and " + where);
        code = GPUASYNC_TIMEOUT;
      } else if (!status->ok()) {
        said = status->message();
        if (!code || status->code() == GPUASYNC_TIMEOUT)
          code = status->code();
      } else {
        continue;
      }
      text += (text.empty() ? "rank " : "; rank ") + std::to_string(rank) +
              ": " + said;
    }
  }
  // They get no more collectives.
  for (uint32_t rank : running)
    ranksLibrary().leave(set.ranks.get(), rank, "its call was given up");
  return text.empty() ? nullptr : fail(code, text);
}

RankSet RankRun::takeResults(gpuasync_value *const *out) {
  for (uint32_t rank = 0; rank < size(); ++rank) {
    llvm::copy(made[rank], out ? out[rank] : nullptr);
    made[rank].clear();
  }
  return std::move(set);
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
  if (!ranksLibrary().areThere())
    return fail(GPUASYNC_UNAVAILABLE,
                "libgpuasync_ranks.so, which ranks need, is not next to the "
                "runtime's library");
  Expected<RankSet> set = executable.idleRanks.take(driver, count);
  if (!set)
    return fail(GPUASYNC_UNAVAILABLE, toString(set.takeError()));
  auto run =
      std::make_shared<RankRun>(executable, function, std::move(*set),
                                arguments, argumentCount, results, resultCount);
  std::vector<mlir::gpuasync::Thread> threads(count);
  for (uint32_t rank = 0; rank < count; ++rank)
    if (Error error = threads[rank].start([run, rank] { run->runOne(rank); }))
      // The others would wait for it.
      run->end(rank, gpuasync::Status(fail(GPUASYNC_UNAVAILABLE,
                                           toString(std::move(error)))));
  const bool haveEnded = run->wait();
  gpuasync_status *status = run->takeStatus();
  for (mlir::gpuasync::Thread &thread : threads) {
    if (!thread.isJoinable())
      continue;
    if (haveEnded)
      thread.join();
    else
      thread.detach();
  }
  if (!status)
    executable.idleRanks.give(run->takeResults(results));
  return status;
}
