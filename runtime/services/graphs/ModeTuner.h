//===- ModeTuner.h - How a region is played best ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With `auto` each region is played in each way a few times, and then in the
// one that took least. That is done anew when its time has changed, and now
// and then. Knows no clock: who asks tells what a pass took.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_GRAPHS_MODETUNER_H
#define GPUASYNC_SERVICES_GRAPHS_MODETUNER_H

#include <stddef.h>
#include <stdint.h>
#include <string>

namespace gpuasync {

/// Straight to its streams; recorded, and then all on one of them, which needs
/// no events; recorded, and then as a graph.
enum class ExecutionMode : uint8_t { Streams, Stream, Graph };
const char *nameOf(ExecutionMode way);

/// Of one region. Not thread safe.
class ModeTuner {
public:
  /// Passes before the first that is timed: a graph is made meanwhile.
  static constexpr uint32_t warmPasses = 3;
  /// Times of which the median counts.
  static constexpr size_t window = 5;
  /// Passes of one exploration, of which not all come to a time, and among them
  /// those that make a graph.
  static constexpr uint32_t mostPasses = 30, mostBuilt = 5;
  /// One of so many passes is timed later on, and after so many all ways are
  /// tried again: fewer than one of 100 goes another way.
  static constexpr uint32_t timedEvery = 128, exploreEvery = 4096;

  /// How the next pass is played. `timed`: its time is to be told, by `took` or
  /// `lost`; asked for only if `mayTime`.
  ExecutionMode next(bool mayTime, bool &timed);
  void took(ExecutionMode way, uint64_t ns);
  /// It came to no time: nothing waited for it. `building`: a graph was made.
  void lost(bool building);

  ExecutionMode current() const { return best; }
  /// Of the last times, in nanoseconds; 0 if there are none.
  uint64_t median(ExecutionMode way) const;
  /// Why it is played so.
  const char *reason() const { return why; }
  bool asked() const { return passes; }

private:
  static constexpr size_t ways = 3;
  struct Times {
    uint64_t ns[window] = {};
    uint32_t count = 0;
  };
  const Times &timesOf(ExecutionMode way) const {
    return times[static_cast<size_t>(way)];
  }
  void explore();
  void decide();

  ExecutionMode best = ExecutionMode::Graph;
  bool exploring = true, decided = false;
  uint64_t passes = 0;
  uint32_t tried = 0;                 ///< in this exploration
  uint32_t built = 0;                 ///< since it began, or ended
  uint32_t sinceTimed = 0, since = 0; ///< passes since it ended
  uint64_t chosenNs = 0;              ///< of `best`, when it was chosen
  const char *why = "not measured yet";
  Times times[ways];
};

/// Of a region whose program was released.
struct PastTuning {
  std::string file;
  uint32_t line = 0, column = 0;
  ModeTuner tuner;
};

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_GRAPHS_MODETUNER_H
