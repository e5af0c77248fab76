//===- RankCalls.h - Calls on several ranks ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contexts and ranks that calls take in turn. Opening a context makes threads,
// and the first collective of a group on GPUs takes a second.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_LIB_LIBRARY_RANKCALLS_H
#define GPUASYNC_LIB_LIBRARY_RANKCALLS_H

#include "Library/SharedDevice.h"

#include "gpuasync/Ranks.h"

#include <memory>
#include <mutex>
#include <vector>

namespace gpuexec {

struct ReleaseRanks {
  void operator()(gpuasync_ranks *ranks) const;
};

/// The ranks of a call.
struct RankSet {
  std::vector<std::shared_ptr<SharedDevice>> devices; ///< a context for each
  std::unique_ptr<gpuasync_ranks, ReleaseRanks> ranks;
};

/// Ranks that no call uses. Thread safe.
class IdleRanks {
public:
  /// Returns `count` ranks: of the cpu device, or of the driver's first GPUs.
  llvm::Expected<RankSet> take(llvm::StringRef driver, size_t count);
  /// Keeps ranks that have left, and whose work has ended without an error.
  void give(RankSet set);

private:
  std::mutex mutex;
  std::vector<RankSet> idle;
};

} // namespace gpuexec

#endif // GPUASYNC_LIB_LIBRARY_RANKCALLS_H
