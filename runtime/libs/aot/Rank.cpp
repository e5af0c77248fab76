//===- Rank.cpp - A program as one of several ranks -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Rank.h.
//===----------------------------------------------------------------------===//

#include "Rank.h"

#include "gpuasync/Program.h"
#include "gpuasync/Ranks.h"
#include "shim/base/Settings.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

using namespace gpuasync;

// Only programs with collectives are linked with libgpuasync_ranks.so.
#pragma weak gpuasync_ranks_join
#pragma weak gpuasync_ranks_leave
#pragma weak gpuasync_ranks_describe
#pragma weak gpuasync_ranks_wait
#pragma weak gpuasync_ranks_release

std::string Rank::find() {
  return &gpuasync_ranks_join ? ranks::findLaunched(launched) : std::string();
}

std::string Rank::replaceNumber(std::string text) const {
  const std::string number = std::to_string(launched.rank);
  for (size_t at = 0; isLaunched() && (at = text.find("%r", at)) != text.npos;
       at += number.size())
    text.replace(at, 2, number);
  return text;
}

/// "cuda:1" for "cuda", of the second process of a machine; processes share
/// GPUs only where there are too few. Else as it is.
static std::string ofProcess(const char *device, uint32_t local) {
  struct Search {
    std::string wanted, kind;
    std::vector<std::string> alike;
  } search;
  const char *named = device && std::strcmp(device, "auto") != 0
                          ? device
                          : setting("GPU_ASYNC_DEVICE");
  search.wanted = named && std::strcmp(named, "auto") != 0 ? named : "";
  gpuasync_device_list(
      [](void *user, const char *found, const char *, const char *, uint64_t,
         const char *why) {
        Search &search = *static_cast<Search *>(user);
        const std::string text = found, kind = text.substr(0, text.find(':'));
        if (why || (!search.kind.empty() && search.kind != kind) ||
            (!search.wanted.empty() && search.wanted != kind))
          return;
        search.kind = kind;
        search.alike.push_back(text);
      },
      &search);
  if (search.alike.empty() || search.kind == "cpu")
    return search.wanted;
  return search.alike[local % search.alike.size()];
}

Status Rank::join(const char *device, Context &out) {
  // As gpu-runner: NCCL reads them when it is first used.
  setenv("NCCL_NVLS_ENABLE", "0", /*replace=*/0);
  setenv("NCCL_P2P_DIRECT_DISABLE", "1", /*replace=*/0);
  // Hydra sends it when another rank has ended, and then lets this one go on.
  std::signal(SIGUSR1, SIG_IGN);
  const std::string name = ofProcess(device, launched.local);
  if (Status opened = Context::open(name.empty() ? nullptr : name.c_str(), out);
      !opened.ok())
    return opened;
  uint32_t rank = 0, count = 0;
  Status status(gpuasync_ranks_join(out.get(), &rank, &count, &joined));
  if (status.ok() && (rank != launched.rank || count != launched.count))
    return Status(gpuasync_status_make(
        GPUASYNC_UNAVAILABLE,
        ("the launcher says rank " + std::to_string(launched.rank) + " of " +
         std::to_string(launched.count) + ", and the MPI library says " +
         std::to_string(rank) + " of " + std::to_string(count) +
         "; set GPU_ASYNC_MPI_LIBRARY to the launcher's")
            .c_str()));
  return status;
}

std::string Rank::describe(const Status &status) const {
  std::string text = status.message();
  if (!joined || status.code() != GPUASYNC_TIMEOUT)
    return text;
  const Status where(gpuasync_ranks_describe(joined, launched.rank));
  return where.ok() ? text : text + "; it " + where.message();
}

Status Rank::end() {
  if (!joined || std::exchange(hasLeft, true))
    return Status();
  gpuasync_ranks_leave(joined, launched.rank, nullptr);
  return Status(gpuasync_ranks_wait(joined));
}

void Rank::fail(const std::string &error) {
  if (!isLaunched())
    return;
  Context context;
  if (!joined && !join("cpu", context).ok())
    return;
  if (!std::exchange(hasLeft, true))
    gpuasync_ranks_leave(joined, launched.rank, error.c_str());
  release();
}

void Rank::release() {
  if (gpuasync_ranks *ranks = std::exchange(joined, nullptr))
    gpuasync_ranks_release(ranks);
}
