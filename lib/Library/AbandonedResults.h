//===- AbandonedResults.h - Memory of calls that gave up --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keeps memory that work may still write, of calls that have ended.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_ABANDONEDRESULTS_H
#define GPUASYNC_LIB_LIBRARY_ABANDONEDRESULTS_H

#include "Library/SharedDevice.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

namespace gpuexec {

/// Memory of results that nobody got, since their calls gave up: the work of
/// these calls may still write it. A later call frees it. Thread safe, never
/// destroyed.
class AbandonedResults {
public:
  static AbandonedResults &get() {
    static auto *results = new AbandonedResults;
    return *results;
  }
  /// Takes the memory over, whether anything writes it or not.
  void add(const std::shared_ptr<SharedDevice> &device,
           llvm::ArrayRef<void *> memory);
  /// Frees what is free. Waits for nothing.
  void reap();

private:
  struct Entry {
    std::shared_ptr<SharedDevice> device;
    std::vector<void *> memory;
  };
  std::atomic<size_t> count{0};
  std::mutex mutex;
  std::vector<Entry> entries;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_ABANDONEDRESULTS_H
