//===- RankCalls.h - Calls on several ranks ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts that calls on ranks take in turn. Opening one makes threads.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_RANKCALLS_H
#define GPUASYNC_LIB_LIBRARY_RANKCALLS_H

#include "Library/SharedDevice.h"

#include <mutex>
#include <vector>

namespace gpuexec {

/// A context for each rank of a call.
using RankDevices = std::vector<std::shared_ptr<SharedDevice>>;

/// Contexts that no call uses. Thread safe.
class IdleRanks {
public:
  /// Returns `count` contexts: of the cpu device, or of the driver's first
  /// GPUs.
  llvm::Expected<RankDevices> take(llvm::StringRef driver, size_t count);
  /// Keeps contexts whose work has ended without an error.
  void give(RankDevices devices);

private:
  std::mutex mutex;
  std::vector<RankDevices> idle;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_RANKCALLS_H
