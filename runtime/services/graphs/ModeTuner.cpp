//===- ModeTuner.cpp - How a region is played best ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See ModeTuner.h.
//===----------------------------------------------------------------------===//

#include "services/graphs/ModeTuner.h"

#include <algorithm>
#include <utility>

using namespace gpuasync;

const char *gpuasync::nameOf(ExecutionMode way) {
  switch (way) {
  case ExecutionMode::Streams:
    return "streams";
  case ExecutionMode::Stream:
    return "stream";
  case ExecutionMode::Graph:
    break;
  }
  return "graph";
}

uint64_t ModeTuner::median(ExecutionMode way) const {
  const Times &known = timesOf(way);
  const size_t count = std::min<size_t>(known.count, window);
  if (!count)
    return 0;
  uint64_t sorted[window];
  std::copy_n(known.ns, count, sorted);
  std::nth_element(sorted, sorted + count / 2, sorted + count);
  return sorted[count / 2];
}

ExecutionMode ModeTuner::next(bool mayTime, bool &timed) {
  timed = false;
  if (passes++ < warmPasses)
    return best;
  if (!exploring && ++since >= exploreEvery)
    explore();
  if (!mayTime)
    return best;
  if (exploring) {
    timed = true;
    return static_cast<ExecutionMode>((ways - 1 + tried++) %
                                      ways); // the graph first
  }
  if (++sinceTimed < timedEvery)
    return best;
  sinceTimed = 0;
  timed = true;
  return best;
}

void ModeTuner::explore() {
  exploring = true;
  tried = built = 0;
  for (Times &each : times)
    each = Times();
}

void ModeTuner::took(ExecutionMode way, uint64_t ns) {
  Times &known = times[static_cast<size_t>(way)];
  known.ns[known.count++ % window] = ns;
  if (exploring) {
    if (tried >= mostPasses ||
        std::all_of(times, times + ways,
                    [](const Times &each) { return each.count >= window; }))
      decide();
    return;
  }
  // Other sizes, another machine's load: what was found may not hold.
  const uint64_t now = median(best);
  if (way == best && (now > chosenNs + chosenNs / 2 || now < chosenNs / 2))
    explore();
}

void ModeTuner::lost(bool building) {
  built += building;
  if (exploring && (tried >= mostPasses || built >= mostBuilt))
    decide();
  else if (!exploring && built >= mostBuilt)
    explore(); // it comes in other shapes than when it was measured
}

void ModeTuner::decide() {
  exploring = false;
  since = sinceTimed = 0;
  // Graphs used once do not pay.
  const bool building = std::exchange(built, 0) >= mostBuilt;
  auto known = [&](ExecutionMode way) { return timesOf(way).count >= 3; };
  ExecutionMode fastest = best;
  // Little is no reason to change.
  uint64_t least = known(best) ? median(best) - median(best) / 20 : UINT64_MAX;
  if (!decided && known(best))
    least = median(best);
  for (ExecutionMode way :
       {ExecutionMode::Graph, ExecutionMode::Stream, ExecutionMode::Streams})
    if (way != best && known(way) && median(way) < least) {
      fastest = way;
      least = median(way);
    }
  if (!known(best) && fastest == best) {
    // None came to times.
    why = building ? "a graph is made each time" : "not waited for";
    best = building ? ExecutionMode::Streams : ExecutionMode::Graph;
    return;
  }
  why = building && !known(ExecutionMode::Graph) ? "a graph is made each time"
                                                 : "fastest";
  best = fastest;
  decided = true;
  chosenNs = median(best);
}
