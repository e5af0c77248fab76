//===- Options.h - The command line of gpu-runner ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parsed by hand: LLVM's command line library already owns names like --stats
// in any process that loads libLLVM.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_OPTIONS_H
#define GPUASYNC_TOOLS_GPURUNNER_OPTIONS_H

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace gpurunner {

struct Options {
  std::string file;
  std::string device = "auto";
  std::string entryPoint = "main";
  std::string entryPointResult; ///< empty: as the function says
  std::vector<std::string> sharedLibs;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> targets; ///< empty: the device's
  std::optional<unsigned> maxStreams;
  uint64_t repeat = 1;
  bool benchmark = false;
  bool stats = false;
  std::string statsFile; ///< empty: stderr
  bool listDevices = false;
  std::vector<std::string> printIRAfter;
  double timeout = 0; ///< seconds; 0: none
  bool leakCheckError = false;
  bool check = false;
  unsigned optLevel = 3;
  std::optional<unsigned> subgroupSize; ///< of the cpu device
  std::string cache;      ///< off or a folder; empty: as the environment says
  std::string emit;       ///< object, llvm, mlir; empty: run
  std::string outputFile; ///< of emit
  std::string processor;  ///< of emit: a name or native; empty: any
  bool help = false;
  bool version = false;
};

llvm::Expected<Options> parseOptions(int argc, char **argv);

/// What --help prints.
extern const char *const helpText;

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_OPTIONS_H
