//===- DeferredUpload.h - Sources that downloads have yet to write --*- C++
//-*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills the staging of an upload part by part, where downloads have yet to
// write the source.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_CORE_POOL_DEFERREDUPLOAD_H
#define GPUASYNC_CORE_POOL_DEFERREDUPLOAD_H

#include <mutex>
#include <stdint.h>
#include <vector>

namespace gpuasync {

struct Download;

/// `fill` and `fillAll` are thread safe.
class DeferredUpload {
public:
  DeferredUpload(const char *source, char *staging, uint64_t bytes)
      : source(source), staging(staging), bytes(bytes) {}
  /// Gives the bytes that the download writes, and that no newer one has, to
  /// part `number` (from 1); false: there are none. Before all that follows.
  bool claim(const Download &download, uint32_t number);
  /// Copies what no part has.
  void fillUnclaimed();
  /// Copies the part, once.
  void fill(uint32_t number);
  /// Copies what is left.
  void fillAll();

private:
  /// Bytes [begin, end) of the source. Downloads write few ranges, or as many
  /// as they copy elements.
  struct Range {
    uint64_t begin, end;
    uint32_t part; ///< `filled` once it is copied
  };
  static constexpr uint32_t filled = UINT32_MAX;

  void copy(uint64_t begin, uint64_t end);

  std::mutex mutex;
  const char *source;
  char *staging;
  uint64_t bytes;
  std::vector<Range> ranges; ///< in order; they do not overlap
};

} // namespace gpuasync

#endif // GPUASYNC_CORE_POOL_DEFERREDUPLOAD_H
