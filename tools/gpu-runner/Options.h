//===- Options.h - The command line of gpu-runner ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsed by hand: LLVM's command line library already owns names like --stats
// in any process that loads libLLVM.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_OPTIONS_H
#define GPUASYNC_TOOLS_GPURUNNER_OPTIONS_H

#include "Execution/CompileOptions.h"
#include "libs/launcher/Launcher.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace gpurunner {
using namespace gpuexec;

/// What the end does about buffers that the program never released.
enum class LeakCheck { List, Error };

using gpuasync::ranks::Launched;
/// Reads the variables of torchrun, mpirun, mpiexec or srun; none: none of them
/// started this process.
llvm::Expected<std::optional<Launched>> findLaunched();

struct Options {
  /// Its entryPoint is a list with --emit=shared, and its targets are empty for
  /// those of the device.
  CompileOptions compile;
  std::string file;
  std::string device = "auto";
  std::optional<unsigned> ranks;    ///< threads; none: one, if not launched
  std::optional<Launched> launched; ///< the program runs on processes
  bool hasEntryPoint = false;       ///< it was given
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> expected;
  double tolerance = 0; ///< of expected: relative, by norms
  uint64_t repeat = 1;
  uint64_t warmup = 0; ///< calls before those
  bool benchmark = false, benchmarkTable = false;
  bool stats = false, statsTable = false;
  std::string statsFile; ///< empty: stderr
  std::string trace;     ///< file; empty: none
  bool profile = false;
  std::string profileFile; ///< empty: stderr; json: as JSON there
  bool listDevices = false;
  std::optional<double> timeout; ///< seconds; 0: no limit
  LeakCheck leakCheck = LeakCheck::List;
  std::string cache;        ///< off or a folder; empty: as the environment says
  std::optional<Emit> emit; ///< none: run
  std::string outputFile;   ///< of emit
  std::string header;       ///< of emit=shared; empty: none
  std::string linker;       ///< of emit=shared and exe; empty: the first found
  bool help = false;
  bool version = false;

  /// Whether what is printed has the number of a rank.
  bool hasRanks() const { return ranks || launched; }
  /// The ranks of this process have these numbers and the following ones.
  unsigned firstRank() const { return launched ? launched->rank : 0; }
  unsigned ranksHere() const { return ranks.value_or(1); }
};

llvm::Expected<Options> parseOptions(int argc, char **argv);

/// The text of --help.
std::string helpText();

} // namespace gpurunner

namespace mlir::gpuasync {
template <>
struct Words<gpurunner::LeakCheck> {
  static constexpr Word<gpurunner::LeakCheck> all[] = {
      {gpurunner::LeakCheck::Error, "error", ""},
      {gpurunner::LeakCheck::List, "list", ""}};
};
} // namespace mlir::gpuasync

#endif // GPUASYNC_TOOLS_GPURUNNER_OPTIONS_H
