//===- Uniform.cpp - Values that ranks are to have in common --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the operands of gpu_async.uniform between ranks that are threads.
// The first rank that comes leaves its value, so no rank waits for another one.
//===----------------------------------------------------------------------===//

#include "Checker.h"
#include "gpuasync/Context.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

using namespace gpuasync::check;

namespace {
/// A value that not all ranks have had yet.
struct Value {
  uint64_t bits;
  int64_t rank;  ///< that left it
  int64_t hadBy; ///< so many ranks
};

/// One gpu_async.uniform of the program, and one list of ranks.
struct Place {
  std::vector<uint64_t> times;       ///< that each rank has come, by position
  std::map<uint64_t, Value> pending; ///< by the time
};

struct Uniforms {
  /// Ranks that are so much ahead of the last one are not compared with it.
  static constexpr size_t mostPending = 1 << 14;
  std::mutex mutex;
  std::map<std::pair<const char *, int64_t>, Place> places;
};
} // namespace

static Uniforms &uniforms() {
  // Never destroyed, as the checker.
  static Uniforms *all = new Uniforms;
  return *all;
}

static std::string describe(uint64_t bits, uint32_t kind) {
  char text[64];
  if (kind == GPUASYNC_CHECK_F32) {
    float value = 0;
    memcpy(&value, &bits, sizeof(value));
    snprintf(text, sizeof(text), "%.9g", static_cast<double>(value));
  } else if (kind == GPUASYNC_CHECK_F64) {
    double value = 0;
    memcpy(&value, &bits, sizeof(value));
    snprintf(text, sizeof(text), "%.17g", value);
  } else if (kind == GPUASYNC_CHECK_BITS) {
    snprintf(text, sizeof(text), "0x%" PRIx64, bits);
  } else {
    snprintf(text, sizeof(text), "%" PRId64, static_cast<int64_t>(bits));
  }
  return text;
}

/// Finds what another rank had; false: nothing else.
static bool findOther(int64_t rank, int64_t list, int64_t position,
                      int64_t size, uint64_t bits, const char *site,
                      Value &other) {
  Uniforms &all = uniforms();
  std::lock_guard<std::mutex> lock(all.mutex);
  Place &place = all.places[{site, list}];
  if (place.times.size() <= static_cast<size_t>(position))
    place.times.resize(static_cast<size_t>(position) + 1);
  const uint64_t time = place.times[static_cast<size_t>(position)]++;
  auto [found, isFirst] = place.pending.try_emplace(time, Value{bits, rank, 0});
  other = found->second;
  if (++found->second.hadBy == size)
    place.pending.erase(found);
  else if (place.pending.size() > Uniforms::mostPending)
    place.pending.erase(place.pending.begin());
  return !isFirst && other.bits != bits;
}

extern "C" void gpuasync_check_uniform(int64_t rank, int64_t list,
                                       int64_t position, int64_t size,
                                       uint64_t bits, uint32_t kind,
                                       const char *site) noexcept {
  Value other = {};
  if (position < 0 || position >= size || gpuasync_process_forked() ||
      !findOther(rank, list, position, size, bits, site, other))
    return;
  std::string mine = describe(bits, kind), others = describe(other.bits, kind);
  if (mine == others) { // NaNs
    mine = describe(bits, GPUASYNC_CHECK_BITS);
    others = describe(other.bits, GPUASYNC_CHECK_BITS);
  }
  const std::string place = siteLine(site, 0);
  Checker::get().report(
      Kind::Uniform, place, "",
      errorAt(place,
              std::string("gpu_async.uniform is not the same on all ranks") +
                  (list < 0 ? "" : " of a list") + ": it is " + mine +
                  " on rank " + std::to_string(rank) + ", and " + others +
                  " on rank " + std::to_string(other.rank) + ", in " +
                  siteLine(site, 2)));
}
