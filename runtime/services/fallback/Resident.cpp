//===- Resident.cpp - Resident arguments without device mirrors -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each call uploads the argument again. The copy is freed once nothing of the
// context runs.
//===----------------------------------------------------------------------===//

#include "gpuasync/Memory.h"
#include "shim/abi/Frame.h"

using namespace gpuasync;

Status gpuasync::findResident(Frame &, DeviceUse &use, const void *pointer,
                              uint64_t bytes, PoolAllocation *&out) {
  Uploads &uploads = use.context->uploads;
  RETURN_IF_ERROR(uploads.makeResident(pointer, bytes, out));
  if (!out)
    return Status();
  use.slot->counters.residentUploads.add(1);
  // This frame runs, so the copy stays until that has ended. No caller's graph
  // can read it, since this runtime takes part in no capture.
  uploads.giveUp(out);
  return Status();
}

void gpuasync_host_memory_changed(const void *, uint64_t) noexcept {}
