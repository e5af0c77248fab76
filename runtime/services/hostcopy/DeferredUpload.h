//===- DeferredUpload.h - Sources yet to be written -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Fills the staging of an upload part by part, where downloads have yet to
// write the source.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_SERVICES_HOSTCOPY_DEFERREDUPLOAD_H
#define GPUASYNC_SERVICES_HOSTCOPY_DEFERREDUPLOAD_H

#include "shim/process/Service.h"

#include <map>
#include <mutex>
#include <stdint.h>
#include <vector>

namespace gpuasync {

struct Download;

/// `PoolAllocation::late` of the staging. `fill` and `fillAll` are thread safe.
class DeferredUpload final : public ServicePart {
public:
  DeferredUpload(const char *source, char *staging, uint64_t bytes)
      : source(source), staging(staging), unclaimed({{0, bytes}}) {}
  /// Gives the download the bytes that it writes and that no newer one has.
  /// False: there are none. Before all that follows.
  bool claim(const Download &download);
  /// Copies what no download has.
  void fillUnclaimed();
  /// Copies what the download has, once.
  void fill(const Download &download);
  /// Copies what is left.
  void fillAll();

private:
  /// Bytes [begin, end) of the source.
  struct Part {
    uint64_t begin, end;
    uint64_t writer; ///< Download::number; 0 once it is copied
  };

  void claim(const char *at, uint64_t bytes, uint64_t writer);
  void copy(uint64_t begin, uint64_t end);

  std::mutex mutex;
  const char *source;
  char *staging;
  std::map<uint64_t, uint64_t> unclaimed; ///< begins and ends
  std::vector<Part> parts;
};

} // namespace gpuasync

#endif // GPUASYNC_SERVICES_HOSTCOPY_DEFERREDUPLOAD_H
