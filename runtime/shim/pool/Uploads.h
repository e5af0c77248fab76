//===- Uploads.h - Copies of host memory that a context keeps ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How constants of programs and arguments that stay get to the device: once,
// before the work that reads them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SHIM_POOL_UPLOADS_H
#define GPUASYNC_SHIM_POOL_UPLOADS_H

#include "device/Driver.h"
#include "shim/base/Lists.h"
#include "shim/base/StatusImpl.h"

#include <mutex>

namespace gpuasync {

struct ContextPools;
struct PoolAllocation;

/// Thread safe; one upload at a time. The context is current.
class Uploads {
public:
  explicit Uploads(ContextPools &context) : context(context) {}
  Uploads(const Uploads &) = delete;

  /// Device memory of the context's with a copy of host memory, which has
  /// arrived. It waits for that on a stream of its own, so for no work of
  /// anybody's. What is made is given back by MemoryPool::dropKept.
  Status make(const void *source, uint64_t bytes, PoolAllocation *&out);
  /// Whether the device reaches an argument that is to stay on it without a
  /// copy. Asks no driver: without a copy yet, makeResident asks.
  Status checkResident(const void *pointer, uint64_t bytes, bool &isReached);
  /// Makes a copy of such an argument. Without a block and without an error it
  /// is memory that the device reaches.
  Status makeResident(const void *pointer, uint64_t bytes,
                      PoolAllocation *&out);
  /// Frees what was made once nothing of the context runs. Allocates nothing.
  void giveUp(PoolAllocation *block);
  void freeGivenUp(); ///< nothing of the context runs
  /// A graph of a caller's may read what was given up and not freed yet: that
  /// stays until the context's end.
  void keepGivenUp();
  /// At the context's end. `alive`: the device is not lost.
  void destroy(bool alive);

private:
  Status fill(char *destination, const char *source, uint64_t bytes);

  ContextPools &context;
  std::mutex mutex;
  NativeStream stream = nullptr; ///< made with the first upload
  std::mutex givenUpMutex;       ///< nothing is locked in it
  Stack<PoolAllocation> givenUp;
};

} // namespace gpuasync

#endif // GPUASYNC_SHIM_POOL_UPLOADS_H
