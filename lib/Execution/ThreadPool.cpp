//===- ThreadPool.cpp - MLIR's threads ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ThreadPool.h.
//===----------------------------------------------------------------------===//

#include "Execution/ThreadPool.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Threading.h"

using namespace llvm;

namespace gpuexec {

ThreadPool::ThreadPool()
    : most(llvm::hardware_concurrency().compute_thread_count()) {}

ThreadPool::~ThreadPool() {
  waitFor(nullptr);
  {
    Lock lock(mutex);
    isEnding = true;
  }
  added.notify_all();
  for (mlir::gpuasync::Thread &thread : threads)
    thread.join();
}

void ThreadPool::asyncEnqueue(unique_function<void()> body,
                              ThreadPoolTaskGroup *group) {
  Lock lock(mutex);
  tasks.push_back({std::move(body), group});
  if (idle < tasks.size() && threads.size() < most) {
    mlir::gpuasync::Thread thread;
    // Without one more, the others do it, or whoever waits.
    if (Error error = thread.start([this] { work(); }))
      consumeError(std::move(error));
    else
      threads.push_back(std::move(thread));
  }
  added.notify_one();
  ended.notify_all(); // a thread that waits for the group may run it
}

void ThreadPool::run(Lock &lock, std::deque<Task>::iterator task) {
  Task taken = std::move(*task);
  tasks.erase(task);
  running.push_back(taken.group);
  lock.unlock();
  taken.body();
  taken.body = nullptr;
  lock.lock();
  running.erase(find(running, taken.group));
  ended.notify_all();
}

void ThreadPool::work() {
  Lock lock(mutex);
  while (true) {
    if (!tasks.empty()) {
      run(lock, tasks.begin());
      continue;
    }
    if (isEnding)
      return;
    ++idle;
    added.wait(lock);
    --idle;
  }
}

void ThreadPool::waitFor(ThreadPoolTaskGroup *group) {
  Lock lock(mutex);
  while (true) {
    auto task = find_if(
        tasks, [&](const Task &each) { return !group || each.group == group; });
    if (task != tasks.end())
      run(lock, task);
    else if (group ? is_contained(running, group) : !running.empty())
      ended.wait(lock);
    else
      return;
  }
}

void ThreadPool::wait() { waitFor(nullptr); }
void ThreadPool::wait(ThreadPoolTaskGroup &group) { waitFor(&group); }

} // namespace gpuexec
