//===- Ranks.cpp - The ranks of a run -------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Ranks.h.
//===----------------------------------------------------------------------===//

#include "Ranks.h"

#include "Execution/Link.h"
#include "Kernels/Common/Thread.h"
#include "Report.h"

#include "gpuasync/Program.h"
#include "llvm/ADT/StringExtras.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <optional>

using namespace llvm;
using namespace gpurunner;

std::vector<std::string> gpurunner::ofRank(ArrayRef<std::string> values,
                                           unsigned rank) {
  std::vector<std::string> all;
  for (StringRef value : values) {
    std::string &text = all.emplace_back();
    for (size_t at; (at = value.find("%r")) != StringRef::npos;
         value = value.drop_front(at + 2))
      text += value.take_front(at).str() + utostr(rank);
    text += value;
  }
  return all;
}

/// A function of libgpuasync_ranks.so, which is there once ranks are.
template <typename Function>
static Function *find(const char *name) {
  void *library = gpuexec::openOwnLibrary("ranks");
  return library ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
}
#define FIND(name) find<decltype(name)>(#name)

Error Ranks::open(gpuasync::Context first, unsigned count) {
  all.push_back(std::move(first));
  if (count == 1)
    return Error::success();
  auto [driver, number] =
      StringRef(gpuasync_context_device(all[0].get())).split(':');
  unsigned next = 0; // of the devices behind the first
  (void)number.getAsInteger(10, next);
  auto *create = FIND(gpuasync_ranks_create);
  if (!create)
    return createStringError("--ranks=" + Twine(count) +
                             ": libgpuasync_ranks.so is not next to the "
                             "runtime's library");
  std::vector<gpuasync_context *> raw = {all[0].get()};
  while (all.size() < count) {
    gpuasync::Context context;
    // Ranks share the cpu device, and each has a GPU.
    const std::string device = driver == "cpu"
                                   ? gpuasync_context_device(raw[0])
                                   : driver.str() + ":" + utostr(++next);
    if (gpuasync::Status opened =
            gpuasync::Context::open(device.c_str(), context);
        !opened.ok())
      return createStringError(
          "--ranks=" + Twine(count) +
          ": each rank has a device of its own: " + opened.message());
    raw.push_back(context.get());
    all.push_back(std::move(context));
  }
  gpuasync::Status created(create(raw.data(), count, &ranks));
  return created.ok() ? Error::success() : toError(created);
}

Error Ranks::join(gpuasync::Context context, const Launched &launched) {
  auto *join = FIND(gpuasync_ranks_join);
  if (!join)
    return createStringError("libgpuasync_ranks.so, which ranks need, is not "
                             "next to the runtime's library");
  uint32_t rank = 0, count = 0;
  if (gpuasync::Status joined(join(context.get(), &rank, &count, &ranks));
      !joined.ok())
    return toError(joined);
  all.push_back(std::move(context));
  if (rank != launched.rank || count != launched.count)
    return createStringError(
        "the launcher says rank " + Twine(launched.rank) + " of " +
        Twine(launched.count) + ", and the MPI library says " + Twine(rank) +
        " of " + Twine(count) +
        ": it is another MPI's; set GPU_ASYNC_MPI_LIBRARY to the launcher's");
  firstRank = rank;
  // Hydra sends it when another rank has ended, and then lets this one go on.
  // MPICH's handler ends the process at the second one.
  signal(SIGUSR1, SIG_IGN);
  return Error::success();
}

void Ranks::leave(unsigned index, const gpuasync::Status &status) {
  if (ranks)
    FIND(gpuasync_ranks_leave)(ranks, firstRank + index,
                               status.ok() ? nullptr : status.message());
}

std::string Ranks::describe(unsigned index) const {
  auto *describe = ranks ? FIND(gpuasync_ranks_describe) : nullptr;
  if (!describe)
    return {};
  gpuasync::Status status(describe(ranks, firstRank + index));
  return status.ok() ? std::string() : status.message();
}

/// Shared by the threads of ranks and the thread that waits for them. It
/// outlives both: a rank that hangs is left behind.
namespace {
struct Outcome {
  explicit Outcome(size_t count) : statuses(count), left(count) {}
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::optional<gpuasync::Status>> statuses; ///< none: it runs
  size_t left;
  bool hasFailed = false, timedOut = false;

  void set(unsigned rank, gpuasync::Status status) {
    std::lock_guard<std::mutex> lock(mutex);
    hasFailed |= !status.ok();
    timedOut |= status.code() == GPUASYNC_TIMEOUT;
    statuses[rank] = std::move(status);
    --left;
    changed.notify_all();
  }
};
} // namespace

gpuasync::Status Ranks::runOne(unsigned rank,
                               function_ref<gpuasync::Status(unsigned)> body) {
  gpuasync::ContextScope scope(all[rank]);
  gpuasync::Status status =
      scope.status().ok()
          ? body(rank)
          : gpuasync::Status(gpuasync_status_make(scope.status().code(),
                                                  scope.status().message()));
  // Others than this rank may be to blame.
  if (status.code() == GPUASYNC_TIMEOUT)
    if (std::string where = describe(rank); !where.empty())
      status = gpuasync::Status(gpuasync_status_make(
          status.code(),
          (std::string(status.message()) + "; it " + where).c_str()));
  leave(rank, status);
  return status;
}

bool Ranks::run(double timeout, function_ref<gpuasync::Status(unsigned)> body,
                function_ref<void(unsigned, const gpuasync::Status &)> failed) {
  if (all.size() == 1) {
    if (gpuasync::Status status = runOne(0, body); !status.ok())
      failed(0, status);
    return true;
  }
  auto outcome = std::make_shared<Outcome>(all.size());
  std::vector<mlir::gpuasync::Thread> threads(all.size());
  for (unsigned rank = 0; rank < all.size(); ++rank)
    if (Error error = threads[rank].start([this, outcome, body, rank] {
          outcome->set(rank, runOne(rank, body));
        })) {
      gpuasync::Status refused(gpuasync_status_make(
          GPUASYNC_UNAVAILABLE, toString(std::move(error)).c_str()));
      leave(rank, refused); // the others would wait for it
      outcome->set(rank, std::move(refused));
    }
  const auto isOver = [&] { return !outcome->left; };
  std::vector<bool> isSaid(all.size());
  const auto say = [&] {
    for (auto [rank, status] : enumerate(outcome->statuses))
      if (status && !status->ok() && !isSaid[rank]) {
        isSaid[rank] = true;
        failed(rank, *status);
      }
  };
  std::unique_lock<std::mutex> lock(outcome->mutex);
  const auto waitUntil = [&](auto condition) {
    if (timeout > 0)
      outcome->changed.wait_for(lock, std::chrono::duration<double>(timeout),
                                condition);
    else
      outcome->changed.wait(lock, condition);
  };
  const std::chrono::seconds grace(1);
  waitUntil([&] { return isOver() || outcome->hasFailed; });
  outcome->changed.wait_for(lock, grace, isOver);
  if (!isOver() && outcome->hasFailed && !outcome->timedOut) {
    say();
    waitUntil([&] { return isOver() || outcome->timedOut; });
    outcome->changed.wait_for(lock, grace, isOver);
  }
  say();
  const bool hasEnded = isOver();
  for (auto [rank, status] : enumerate(outcome->statuses))
    if (!status) {
      const std::string where = describe(rank);
      failed(rank, gpuasync::Status(gpuasync_status_make(
                       GPUASYNC_TIMEOUT,
                       ("the rank is still in the program, on the host" +
                        (where.empty() ? where : ", and " + where))
                           .c_str())));
    }
  lock.unlock();
  for (mlir::gpuasync::Thread &thread : threads) {
    if (!thread.isJoinable())
      continue;
    if (hasEnded)
      thread.join();
    else
      thread.detach();
  }
  return hasEnded;
}

gpuasync::Status Ranks::wait() {
  return ranks ? gpuasync::Status(FIND(gpuasync_ranks_wait)(ranks))
               : gpuasync::Status();
}

void Ranks::leaveBeforeJoining(const Launched &launched, StringRef error) {
  gpuasync::Context context;
  Ranks ranks;
  if (!gpuasync::Context::open("cpu", context).ok())
    return;
  if (Error failed = ranks.join(std::move(context), launched))
    return consumeError(std::move(failed));
  ranks.leave(0, gpuasync::Status(gpuasync_status_make(
                     GPUASYNC_INVALID_ARGUMENT, error.str().c_str())));
  (void)ranks.close();
}

gpuasync::Status Ranks::close() {
  if (ranks)
    FIND(gpuasync_ranks_release)(ranks);
  ranks = nullptr;
  gpuasync::Status first;
  for (gpuasync::Context &context : all)
    if (gpuasync::Status closed = context.close(); first.ok())
      first = std::move(closed);
  return first;
}
