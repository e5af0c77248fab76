//===- Nccl.h - Collectives of GPUs -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NCCL and RCCL, which are one library under two names, opened at run time.
// Their kernels wait for those of the other ranks, so what no rank can end by
// itself any more is aborted.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIBS_RANKS_NCCL_H
#define GPUASYNC_LIBS_RANKS_NCCL_H

#include "libs/ranks/World.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace gpuasync {
namespace ranks {

/// Whether a wait for other ranks is to end.
using Stop = std::function<bool()>;

/// The library of one vendor. Lives as long as the process. Thread safe.
class Nccl {
public:
  /// The library of the driver ("cuda", "hip").
  static Error find(const std::string &driver, const Nccl *&out);
  /// Why it has no such collective; empty: it has.
  static Error check(const gpuasync_collective &what);

private:
  friend class Communicator;
  struct Table;
  const Table *table = nullptr;
};

/// One rank's part of a group of GPUs.
class Communicator {
public:
  /// Says to each rank of a group which one it is.
  struct Id {
    char bytes[128];
  };
  static Error makeId(const Nccl &nccl, Id &out);

  /// Begins on the current device. Waits until all `count` ranks have come to
  /// this with the id, or `stop` says so.
  static Error begin(const Nccl &nccl, const Id &id, uint32_t count,
                     uint32_t position, const Stop &stop,
                     std::shared_ptr<Communicator> &out);
  Communicator(const Communicator &) = delete;
  ~Communicator();

  /// Whether collectives like this one can be enqueued.
  bool isReadyFor(const gpuasync_collective &what) const {
    return handles[isOverlapped(what)] != nullptr;
  }
  /// Makes it so, on the current device. Waits until all ranks have come to
  /// this, or `stop` says so.
  Error prepareFor(const gpuasync_collective &what, const Stop &stop);
  /// Puts the collective on the call's stream. Waits for the host work of other
  /// ranks at most, until abort().
  Error enqueue(const gpuasync_call &call, const Part &part);
  /// Returns an error that threads of the library have found since. Waits for
  /// nothing.
  Error poll();
  /// Ends what has been enqueued, whatever the other ranks do. It may wait for
  /// the driver, so it has a thread of its own.
  void abort();
  /// Gives back everything of this process's communicators, once all that was
  /// enqueued has ended. Waits for the other ranks to come to this.
  static void finish(const std::vector<std::shared_ptr<Communicator>> &all);

private:
  explicit Communicator(const Nccl::Table &table) : table(table) {}
  static size_t isOverlapped(const gpuasync_collective &what) {
    return what.isOverlapped != 0;
  }
  /// Checks a call of the parent, and waits while it is in progress.
  Error take(int result, const char *call, const Stop &stop);
  Error check(int result, const char *call);
  Error start(const gpuasync_call &call, const Part &part, void *handle);
  template <typename Body>
  Error group(Body body);
  int sendToAll(const Memory &memory, size_t part, void *handle, void *stream);
  bool isTarget(const gpuasync_collective &what) const;
  int sendToPairs(const gpuasync_collective &what, const Memory &memory,
                  size_t bytes, void *handle, void *stream);

  const Nccl::Table &table;
  std::timed_mutex calls; ///< one call at a time
  std::mutex aborting;    ///< one abort() at a time
  std::atomic<bool> isAborted{false};
  // abort() takes them while a call that does not return uses them.
  std::atomic<void *> parent{nullptr}; ///< nonblocking; `handles` are split off
  std::atomic<void *> handles[2] = {}; ///< by isOverlapped; null: not prepared
  void *begun[2] = {}; ///< the library writes them while `handles` begin
  std::atomic<void *> scratch{nullptr}; ///< of a barrier; null: there is none
  uint32_t position = 0, count = 0;
};

} // namespace ranks
} // namespace gpuasync

#endif // GPUASYNC_LIBS_RANKS_NCCL_H
