//===- ThreadPool.h - MLIR's threads ----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's own pool ends the process where the system gives no thread. This one
// makes do with the threads that it gets: a thread that waits runs tasks too.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_EXECUTION_THREADPOOL_H
#define GPUASYNC_LIB_EXECUTION_THREADPOOL_H

#include "Kernels/Common/Thread.h"
#include "llvm/Support/ThreadPool.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

namespace gpuexec {

/// Starts a thread when a task finds none idle, up to one for each processor.
class ThreadPool final : public llvm::ThreadPoolInterface {
public:
  ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ~ThreadPool() override;
  void wait() override;
  void wait(llvm::ThreadPoolTaskGroup &group) override;
  unsigned getMaxConcurrency() const override { return most; }

private:
  using Lock = std::unique_lock<std::mutex>;
  struct Task {
    llvm::unique_function<void()> body;
    llvm::ThreadPoolTaskGroup *group; ///< null: none
  };

  void asyncEnqueue(llvm::unique_function<void()> body,
                    llvm::ThreadPoolTaskGroup *group) override;
  /// Runs tasks until the pool ends.
  void work();
  void run(Lock &lock, std::deque<Task>::iterator task);
  /// Until no task of the group (null: no task at all) is left.
  void waitFor(llvm::ThreadPoolTaskGroup *group);

  const unsigned most;
  std::mutex mutex;
  std::condition_variable added; ///< a task, or the pool ends
  std::condition_variable ended; ///< a task
  std::deque<Task> tasks;        ///< not begun
  std::vector<llvm::ThreadPoolTaskGroup *> running;
  std::vector<mlir::gpuasync::Thread> threads;
  unsigned idle = 0;
  bool isEnding = false;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_EXECUTION_THREADPOOL_H
