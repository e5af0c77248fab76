//===- Options.h - The command line of gpu-runner ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsed by hand: LLVM's command line library already owns names like --stats
// in any process that loads libLLVM.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_OPTIONS_H
#define GPUASYNC_TOOLS_GPURUNNER_OPTIONS_H

#include "Execution/Compile.h"
#include "GPUAsync/Options.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace gpurunner {
using gpuexec::Emit;

/// What the end does about buffers that the program never released.
enum class LeakCheck { List, Error };

struct Options {
  std::string file;
  std::string device = "auto";
  std::string entryPoint = "main"; ///< of --emit=shared a list
  bool hasEntryPoint = false;      ///< it was given
  std::string entryPointResult; ///< a type or void; empty: as the function says
  std::vector<std::string> sharedLibs;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> expected;
  double tolerance = 0;             ///< of expected: relative, by norms
  std::vector<std::string> targets; ///< empty: the device's
  std::optional<unsigned> maxStreams;
  std::optional<mlir::gpuasync::MemoryMode> memory;
  mlir::gpuasync::OffloadMode offload = mlir::gpuasync::OffloadMode::Auto;
  mlir::gpuasync::PlaceMode place = mlir::gpuasync::PlaceMode::Copy;
  mlir::gpuasync::BlasMode blas = mlir::gpuasync::BlasMode::Off;
  mlir::gpuasync::ImportMode importMode = mlir::gpuasync::ImportMode::Trust;
  bool takeStream = false; ///< functions are ordered into the caller's
  /// Numbers of the entry point's arguments that stay on the device.
  std::vector<unsigned> residents;
  /// As --play says, else GPU_ASYNC_PLAY.
  mlir::gpuasync::Play play = mlir::gpuasync::Play::Auto;
  uint64_t repeat = 1;
  uint64_t warmup = 0; ///< calls before those
  bool benchmark = false, benchmarkTable = false;
  bool stats = false, statsTable = false;
  std::string statsFile; ///< empty: stderr
  std::string trace;     ///< file; empty: none
  bool profile = false;
  std::string profileFile; ///< empty: stderr; json: as JSON there
  bool listDevices = false;
  std::vector<mlir::gpuasync::Form> printIRAfter;
  std::optional<std::string> printSchedule; ///< file; empty: stderr
  gpuexec::TimingMode timing = gpuexec::TimingMode::Off;
  std::optional<double> timeout; ///< seconds; 0: no limit
  LeakCheck leakCheck = LeakCheck::List;
  bool check = false;
  unsigned optLevel = 3;
  std::optional<unsigned> subgroupSize; ///< of the cpu device
  std::string cache;        ///< off or a folder; empty: as the environment says
  std::optional<Emit> emit; ///< none: run
  std::string outputFile;   ///< of emit
  std::string header;       ///< of emit=shared; empty: none
  std::string linker;       ///< of emit=shared and exe; empty: the first found
  std::string processor;    ///< of emit: a name or native; empty: any
  bool help = false;
  bool version = false;
};

llvm::Expected<Options> parseOptions(int argc, char **argv);

/// What --help prints.
extern const char *const helpText;

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
