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

#include <dlfcn.h>

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
static Function *find(Function &, const char *name) {
  void *library = gpuexec::openOwnLibrary("ranks");
  return library ? reinterpret_cast<Function *>(dlsym(library, name)) : nullptr;
}
#define FIND(name) find(name, #name)

Error Ranks::open(gpuasync::Context first, unsigned count) {
  all.push_back(std::move(first));
  if (count == 1)
    return Error::success();
  StringRef device = gpuasync_context_device(all[0].get());
  if (device != "cpu")
    return createStringError("--ranks=" + Twine(count) +
                             ": ranks are of the cpu device only, not of " +
                             device + "; add --device=cpu");
  auto *create = FIND(gpuasync_ranks_create);
  if (!create)
    return createStringError("--ranks=" + Twine(count) +
                             ": libgpuasync_ranks.so is not next to the "
                             "runtime's library");
  std::vector<gpuasync_context *> raw = {all[0].get()};
  while (all.size() < count) {
    gpuasync::Context context;
    if (gpuasync::Status opened =
            gpuasync::Context::open(device.data(), context);
        !opened.ok())
      return toError(opened);
    raw.push_back(context.get());
    all.push_back(std::move(context));
  }
  gpuasync::Status created(create(raw.data(), count, &ranks));
  return created.ok() ? Error::success() : toError(created);
}

void Ranks::leave(unsigned rank, const gpuasync::Status &status) {
  if (ranks)
    FIND(gpuasync_ranks_leave)(ranks, rank,
                               status.ok() ? nullptr : status.message());
}

std::vector<gpuasync::Status>
Ranks::run(function_ref<gpuasync::Status(unsigned)> body) {
  std::vector<gpuasync::Status> statuses(all.size());
  auto runOne = [&](unsigned rank) {
    gpuasync::ContextScope scope(all[rank]);
    statuses[rank] =
        scope.status().ok()
            ? body(rank)
            : gpuasync::Status(gpuasync_status_make(scope.status().code(),
                                                    scope.status().message()));
    leave(rank, statuses[rank]);
  };
  if (all.size() == 1) {
    runOne(0);
    return statuses;
  }
  std::vector<mlir::gpuasync::Thread> threads(all.size());
  for (unsigned rank = 0; rank < all.size(); ++rank)
    if (Error error = threads[rank].start([&runOne, rank] { runOne(rank); })) {
      // The others would wait for it.
      statuses[rank] = gpuasync::Status(gpuasync_status_make(
          GPUASYNC_UNAVAILABLE, toString(std::move(error)).c_str()));
      leave(rank, statuses[rank]);
    }
  for (mlir::gpuasync::Thread &thread : threads)
    if (thread.isJoinable())
      thread.join();
  return statuses;
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
