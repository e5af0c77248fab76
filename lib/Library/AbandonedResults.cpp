//===- AbandonedResults.cpp - Memory of calls that gave up ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AbandonedResults.h.
//===----------------------------------------------------------------------===//

#include "Library/AbandonedResults.h"

#include <cstdlib>

using namespace llvm;
using namespace gpuexec;

void AbandonedResults::add(const std::shared_ptr<SharedDevice> &device,
                           ArrayRef<void *> memory) {
  std::lock_guard<std::mutex> lock(mutex);
  entries.push_back({device, {memory.begin(), memory.end()}});
  count.store(entries.size(), std::memory_order_relaxed);
}

void AbandonedResults::reap() {
  if (!count.load(std::memory_order_relaxed))
    return;
  std::vector<Entry> done; // gives devices back without the lock
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t i = 0; i < entries.size();) {
    if (!gpuasync::Status(gpuasync_context_wait_abandoned(
                              entries[i].device->context.get(), 0))
             .ok()) {
      ++i;
      continue;
    }
    for (void *memory : entries[i].memory)
      std::free(memory);
    done.push_back(std::move(entries[i]));
    entries[i] = std::move(entries.back());
    entries.pop_back();
  }
  count.store(entries.size(), std::memory_order_relaxed);
}
