//===- Ranks.h - The ranks of a run -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --ranks: contexts, each of a GPU of its own or of the cpu device, and each
// with a thread that calls the program. Under a launcher (mpirun, torchrun)
// this process is one rank.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_RANKS_H
#define GPUASYNC_TOOLS_GPURUNNER_RANKS_H

#include "Options.h"

#include "gpuasync/Context.h"
#include "gpuasync/Ranks.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace gpurunner {

/// `values` for one rank: %r in them is its number.
std::vector<std::string> ofRank(llvm::ArrayRef<std::string> values,
                                unsigned rank);

class Ranks {
public:
  Ranks() = default;
  Ranks(const Ranks &) = delete;
  /// Threads: rank 0 has the context `first`; opens contexts for the others,
  /// of the cpu device or of the GPUs that follow.
  llvm::Error open(gpuasync::Context first, unsigned count);
  /// Processes: the rank of this one has the context. Waits for the others.
  llvm::Error join(gpuasync::Context context, const Launched &launched);
  /// Calls `body(i)` for each rank of this process, on a thread of its own if
  /// there are several, in a scope of its context. Its status is what the rank
  /// leaves with. Calls `failed` for those that failed, in their order: at the
  /// end, and a second after the first one if others go on. Once a rank has
  /// timed out, or `timeout` seconds are over (0: no limit), the others have a
  /// second to end. False: some have not. What they run is in use, so the
  /// caller ends the process.
  bool run(double timeout, llvm::function_ref<gpuasync::Status(unsigned)> body,
           llvm::function_ref<void(unsigned, const gpuasync::Status &)> failed);
  /// Tells the other processes of an error before this one has joined: they
  /// wait for it. Nothing if they cannot be reached.
  static void leaveBeforeJoining(const Launched &launched,
                                 llvm::StringRef error);
  /// Processes: waits until the others have ended their calls. The error says
  /// which of them failed.
  gpuasync::Status wait();
  /// Closes the contexts. The first error.
  gpuasync::Status close();

  llvm::ArrayRef<gpuasync::Context> contexts() const { return all; }

private:
  gpuasync::Status runOne(unsigned rank,
                          llvm::function_ref<gpuasync::Status(unsigned)> body);
  void leave(unsigned index, const gpuasync::Status &status);
  /// Says where the rank is in its collectives; empty: unknown.
  std::string describe(unsigned index) const;

  std::vector<gpuasync::Context> all;
  gpuasync_ranks *ranks = nullptr; ///< null: there is one rank
  unsigned firstRank = 0;
};

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_RANKS_H
