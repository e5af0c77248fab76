//===- Report.h - What a run says of itself ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors, --benchmark, --stats, --profile and leaks.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TOOLS_GPURUNNER_REPORT_H
#define GPUASYNC_TOOLS_GPURUNNER_REPORT_H

#include "gpuasync/Context.h"
#include "gpuasync/Stats.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <vector>

namespace gpurunner {

/// A status of the runtime as an error.
llvm::Error toError(const gpuasync::Status &status);
/// Prints the error as a compiler does, with the place first that its message
/// begins with, unless MLIR has printed it. Returns 1.
int fail(llvm::Error error);

/// Where the time of a run goes, up to the end of the first call; milliseconds.
struct Times {
  double key = 0;    ///< reading the file, hashing what decides the result
  double read = 0;   ///< the program from the disk cache
  double verify = 0; ///< its checksum
  double parse = 0;
  double pipeline = 0;
  double codegen = 0;
  double store = 0; ///< to the disk cache
  double link = 0;
  double driver = 0;     ///< starting it, on a thread of its own
  double driverWait = 0; ///< for that, when all else was done
  double load = 0;       ///< kernels into the device, within the first call
  double launch = 0;     ///< the rest of the first call
  double total = 0;
};

/// What the disk cache did for this run.
struct CacheUse {
  const char *program = "off"; ///< off, miss, hit; bypassed by --print-*
  unsigned compileJobs = 0;
};

/// One JSON line or a table on stdout, of microseconds.
void printBenchmark(std::vector<double> times, bool asTable);

/// One JSON line for each context in `file`, or on stderr if there is no name.
/// The first line has `use` and `times`, too. With `firstRank`, the contexts
/// are those of ranks from this number on, and each line has its rank.
llvm::Error writeStats(llvm::StringRef file,
                       llvm::ArrayRef<gpuasync::Context> contexts,
                       std::optional<unsigned> firstRank, const CacheUse &use,
                       const Times &times);

/// The counters as tables on stderr, after a line with the rank if there are
/// several.
llvm::Error printStatsTables(llvm::ArrayRef<gpuasync::Context> contexts,
                             std::optional<unsigned> firstRank);

/// Writes what each kernel, copy, fill and graph took. `where` is a file, empty
/// for a table on stderr, or json for one line of JSON there. A file whose name
/// ends in .json has that line, any other one the table.
llvm::Error writeProfile(llvm::StringRef where);

/// Says what the program never released. Returns whether that is an error.
bool reportLeaks(const gpuasync::Context &context, bool isError);

} // namespace gpurunner

#endif // GPUASYNC_TOOLS_GPURUNNER_REPORT_H
