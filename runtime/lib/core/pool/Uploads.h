//===- Uploads.h - Copies of host memory that a context keeps ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How constants of programs and arguments that stay get to the device: once,
// before the work that reads them.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_POOL_UPLOADS_H
#define GPUASYNC_CORE_POOL_UPLOADS_H

#include "core/base/StatusImpl.h"
#include "drivers/Driver.h"

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
  /// At the context's end. `alive`: the device is not lost.
  void destroy(bool alive);

private:
  Status fill(char *destination, const char *source, uint64_t bytes);

  ContextPools &context;
  std::mutex mutex;
  NativeStream stream = nullptr; ///< made with the first upload
};

} // namespace gpuasync

#endif // GPUASYNC_CORE_POOL_UPLOADS_H
