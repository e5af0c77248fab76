//===- Rounds.h - Several ways of one program in turns ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the benchmarks of this folder share: compiled programs, how they are
// played, batches in turns, and medians of the rounds' ratios.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_BENCH_CUDA_ROUNDS_H
#define GPUASYNC_BENCH_CUDA_ROUNDS_H

#include "CudaDriver.h"

#include "gpuasync/Context.h"
#include "gpuasync/Stats.h"

#include <functional>
#include <string>
#include <vector>

namespace bench {

struct Options {
  std::string folder = ".", device = "cuda", only;
  std::vector<std::string> ways = {"auto", "graph", "streams", "stream"};
  int rounds = 50;
  int calls = 200; ///< of a batch, at most
  /// Milliseconds that a batch of calls takes at most, if it is not one call.
  double batch = 4;

  bool wants(const std::string &program) const {
    return only.empty() ||
           ("," + only + ",").find("," + program + ",") != std::string::npos;
  }
};

/// Takes `argument` if it is one of the options above.
bool parseOption(const char *argument, Options &options);
extern const char *const optionsHelp;

/// Makes the device's primary context current, and opens the runtime's on it;
/// frames of this thread use it. The process ends with 77, "skipped" to
/// scripts, if there is no such device.
gpuasync_context *openDevice(const Options &options, const char *tool);
/// Whether hand-written programs can run: not on the cpu device.
bool hasDriver(const Options &options);

/// Throws a Failure with the message if `status` is an error.
void must(gpuasync_status *status, const char *what);

/// A value is wrong, or a call failed.
struct Failure {
  std::string text;
};

/// A compiled function of two memrefs of rank 1, passed as MLIR passes them:
/// what it reads, and what it writes.
using InOutFunction = gpuasync_status *(*)(void *, void *, int64_t, int64_t,
                                           int64_t, void *, void *, int64_t,
                                           int64_t, int64_t);

/// FOLDER/LIBRARY.so's function `name`; null if there is no such library.
void *findFunction(const Options &options, const std::string &library,
                   const char *name);

/// Regions that begin from now on are played so.
void setPlay(const std::string &way);

double median(std::vector<double> values);
/// Microseconds, on a steady clock.
double now();

struct Side {
  std::string name;
  std::function<void()> call;
  std::string way = ""; ///< how regions are played; empty: as before
  std::vector<double> microseconds = {}; ///< of a call, one a round
  int calls = 1;                         ///< of a batch
};

/// The median over all rounds of `numerator`'s time by the least of
/// `denominators`' is at most `most`.
struct Goal {
  std::string numerator;
  std::vector<std::string> denominators;
  double most;
};

/// Work of one warm call, and what it is at most; 0: no limit.
struct Counts {
  double driverCalls = 0, allocations = 0, graphsMade = 0, graphLaunches = 0;
};
Counts countCalls(gpuasync_context *context, const std::string &way,
                  const std::function<void()> &call);

/// The rows of a table, and whether they meet their goals.
class Table {
public:
  /// Batches in turns: forwards in even rounds, backwards in odd ones, so that
  /// no side always follows the same other. The first two rounds are not kept.
  /// Prints a JSON line with everything, `extra` in it; goals of sides that are
  /// missing are left out.
  void compare(const std::string &program, const Options &options,
               std::vector<Side> sides, const std::vector<Goal> &goals,
               const std::string &extra = "");
  /// Another row: `value` is at most (or, `least`, at least) `bound`.
  void add(const std::string &program, const std::string &what, double value,
           double bound, bool least = false);
  /// Another row: a figure without a goal.
  void note(const std::string &program, const std::string &what, double value);
  /// Runs `row`, which calls those above; a Failure is a row of its own, and
  /// those that follow go on.
  void guard(const std::string &program, const std::function<void()> &row);
  /// To stderr. The process's exit code: 0 if there was no Failure.
  int finish() const;

private:
  bool failed = false;
  std::vector<std::string> rows;
};

} // namespace bench

#endif // GPUASYNC_BENCH_CUDA_ROUNDS_H
