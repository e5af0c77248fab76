//===- Stats.h - Counters and leaks -----------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a context did: objects as the program asked for them and as the driver
// made them, launches, waits, driver calls; and what was never released.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_STATS_H
#define GPUASYNC_STATS_H

#include "gpuasync/RuntimeABI.h"

#ifdef __cplusplus
extern "C" {
#endif

/// `created` to `peak` count what the program asked for; `physical` is how many
/// objects the driver holds now. With several threads `peak` is the sum of the
/// threads' peaks, an upper bound.
typedef struct gpuasync_object_stats {
  uint64_t created, destroyed, live, peak, physical;
} gpuasync_object_stats;

typedef struct gpuasync_stats {
  GPUASYNC_STRUCT_SIZE(gpuasync_stats);
  gpuasync_object_stats streams, events, modules, buffers, graphs;
  /// Modules that a frame found loaded, and that it had to load.
  uint64_t moduleCacheHits, moduleCacheMisses;
  uint64_t moduleCacheEvictions; ///< unloaded for a limit or for memory
  uint64_t moduleCacheEntries;   ///< loaded, and loading, now
  uint64_t moduleCacheBytes;     ///< of the images of those loaded now
  /// Time in compile hooks, and in the driver's loading (or load hooks), which
  /// for PTX includes the driver's compiling; nanoseconds, summed over threads.
  uint64_t moduleCompileNs, moduleLoadNs;
  uint64_t launches, hostWaits, driverCalls;
  uint64_t bufferBytes; ///< live bytes as asked for
  uint64_t deviceBytes; ///< bytes that the driver holds for us, all kinds
  /// Regions, or parts of one, that were played as a graph, and on streams.
  uint64_t graphLaunches, regionsOnStreams;
  /// Copies made of the program's constants, and of arguments that stay on the
  /// device (gpuasync_constant, gpuasync_resident); and their bytes.
  uint64_t constantUploads, residentUploads, uploadedBytes;
  /// Library calls captured for graphs, and those that could not be: their
  /// region was played on streams.
  uint64_t capturedCalls, failedCaptures;
  /// Calls of libraries' functions that the program made, however they were
  /// played.
  uint64_t libraryCalls;
} gpuasync_stats;

/// Thread safe; what other threads do meanwhile may or may not be counted.
/// Valid after gpuasync_context_close too. GPUASYNC_INVALID_ARGUMENT if
/// an argument is null or `out->structSize` is not set, GPUASYNC_SHUT_DOWN in a
/// forked child.
GPUASYNC_API gpuasync_status *
gpuasync_stats_read(const gpuasync_context *context,
                    gpuasync_stats *out) GPUASYNC_NOEXCEPT;
/// Counts from here: created, destroyed, hits, launches and so on restart at
/// 0 and created at what is live; peaks restart at what is live. Null is
/// ignored.
GPUASYNC_API void
gpuasync_stats_reset(gpuasync_context *context) GPUASYNC_NOEXCEPT;

/// Visits one line for each buffer, registration or event that the program has
/// not released yet, "file:line:col: op: 4096 bytes never freed"; after
/// gpuasync_context_close those that it never released. Returns their number. A
/// null visitor only counts; a null context has none.
typedef void (*gpuasync_leak_visitor)(void *user, const char *line);
GPUASYNC_API uint64_t gpuasync_leaks_list(const gpuasync_context *context,
                                          gpuasync_leak_visitor visitor,
                                          void *user) GPUASYNC_NOEXCEPT;

/// Writes the statistics as one JSON object without a newline (the line that
/// gpu-runner --stats prints) to `buffer`, cut off at `size` bytes with the
/// terminating NUL; returns the full length. Into a null buffer nothing is
/// written; of a null context there is nothing, "".
GPUASYNC_API uint64_t gpuasync_stats_json(const gpuasync_context *context,
                                          char *buffer,
                                          uint64_t size) GPUASYNC_NOEXCEPT;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // GPUASYNC_STATS_H
