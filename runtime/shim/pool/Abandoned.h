//===- Abandoned.h - Work that calls left unfinished ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call that ends with an error may leave work on the device that goes on to
// read and write what the call was given. Later calls of the context begin
// behind it. The streams with such work are in StreamPool, and events that it
// comes before in EventPool; here is how many there are.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_ABANDONED_H
#define GPUASYNC_SHIM_POOL_ABANDONED_H

#include <atomic>
#include <stdint.h>

namespace gpuasync {

/// Counts streams, events and contexts that abandoned work is behind, which are
/// known not to be done. Thread safe.
class AbandonedWork {
public:
  /// Whether there is none; what this thread, or one that this thread has
  /// synchronised with, has left is seen. The warm path of enter.
  bool isEmpty() const { return !count.load(std::memory_order_relaxed); }
  void add() { count.fetch_add(1, std::memory_order_relaxed); }
  void remove() { count.fetch_sub(1, std::memory_order_release); }

private:
  std::atomic<uint32_t> count{0};
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_ABANDONED_H
