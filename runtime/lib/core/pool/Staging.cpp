//===- Staging.cpp - Pageable copies through pinned memory ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Uploads are copied into pinned blocks when they are enqueued; downloads go
// into pinned blocks and are finished by the host wait that covers them. The
// blocks come from the caching allocator, which never waits for the device.
//===----------------------------------------------------------------------===//

#include "core/abi/Strided.h"
#include "core/context/ContextImpl.h"

#include <new>
#include <string.h>

using namespace gpuasync;

/// After so much staged data a flag is written, so that memory comes back
/// before the next host wait.
static constexpr uint64_t flagAfterBytes = 4 << 20;

Status gpuasync_context::takeStaging(uint64_t bytes, Staging *&out) {
  Block *block = nullptr;
  Status status = allocate(nullptr, bytes, MemoryKind::Pinned, block);
  if (!status.ok())
    return status;
  block->internal = true;
  block->bytes = bytes;
  std::unique_lock<std::mutex> lock(memoryMutex);
  if ((out = spareStagings)) {
    spareStagings = out->next;
    *out = Staging();
  } else if (!(out = new (std::nothrow) Staging)) {
    block->internal = false;
    addReady(block);
    return outOfMemoryStatus();
  }
  out->block = block;
  return Status();
}

void gpuasync_context::dropStaging(Staging *staging) {
  std::lock_guard<std::mutex> lock(memoryMutex);
  if (--staging->uses)
    return;
  staging->late.reset();
  staging->block->internal = false;
  keepOrRetire(staging->block);
  staging->next = spareStagings;
  spareStagings = staging;
}

Status gpuasync_context::useStaging(gpuasync_stream &stream, Staging *staging,
                                    uint64_t bytes) {
  StagingUse *use;
  {
    std::lock_guard<std::mutex> lock(memoryMutex);
    if ((use = spareUses)) {
      spareUses = use->next;
      *use = StagingUse();
    } else {
      use = new StagingUse;
    }
  }
  use->staging = staging;
  use->bytes = bytes;
  if (stream.stagingTail)
    stream.stagingTail->next = use;
  else
    stream.staging = use;
  stream.stagingTail = use;
  if (stream.flagSlot) {
    // The next flag covers it, whoever writes that.
    use->fence.slot = stream.flagSlot;
    use->fence.value = stream.flagValue + 1;
    stream.stagedSinceFlag += bytes;
    if (stream.stagedSinceFlag < flagAfterBytes)
      return Status();
  }
  Fence unused;
  Status status;
  try {
    status = fences.make(stream, stream.flagSlot ? unused : use->fence);
  } catch (const std::bad_alloc &) {
    status = outOfMemoryStatus();
  }
  // Without a fence only an idle stream says that the staging is free.
  use->untilIdle = !status.ok();
  return status;
}

void gpuasync_context::reapStaging(gpuasync_stream &stream, bool idle) {
  while (idle && stream.stuck) {
    Staging *staging = stream.stuck;
    stream.stuck = staging->next;
    dropStaging(staging);
  }
  while (StagingUse *use = stream.staging) {
    if (!idle && (use->untilIdle || !fences.reached(use->fence)))
      return;
    fences.drop(use->fence);
    stream.staging = use->next;
    if (!stream.staging)
      stream.stagingTail = nullptr;
    dropStaging(use->staging);
    std::lock_guard<std::mutex> lock(memoryMutex);
    use->next = spareUses;
    spareUses = use;
  }
}

//===----------------------------------------------------------------------===//
// Downloads
//===----------------------------------------------------------------------===//

Download *gpuasync_context::newDownload() {
  std::lock_guard<std::mutex> lock(memoryMutex);
  Download *download = spareDownloads;
  if (!download)
    return new Download;
  spareDownloads = download->next;
  *download = Download();
  return download;
}

static void finish(gpuasync_context &context, Download *download, bool write) {
  if (write && download->staging) {
    if (download->scatter)
      copyOnHost(*download->scatter);
    else
      memcpy(download->destination, download->staging->block->pointer,
             download->bytes);
  }
  while (LateLink *link = download->late) {
    download->late = link->next;
    if (write)
      link->staging->late->fill(link->number);
    context.dropStaging(link->staging);
    delete link;
  }
  context.fences.drop(download->fence);
  delete download->scatter;
  if (download->staging)
    context.dropStaging(download->staging);
  std::lock_guard<std::mutex> lock(context.memoryMutex);
  download->next = context.spareDownloads;
  context.spareDownloads = download;
}

void gpuasync_context::dropDownload(Download *download) {
  std::lock_guard<std::mutex> lock(memoryMutex);
  download->next = spareDownloads;
  spareDownloads = download;
}

void gpuasync_context::finishDownloads(Download *&list) {
  // The list is newest first. Fences are read in that order, so that of two
  // copies to one place the older one is seen finished whenever the newer one
  // is; they are written oldest first.
  Download *finished = nullptr;
  for (Download **link = &list; *link;) {
    Download *download = *link;
    if (!fences.reached(download->fence)) {
      link = &download->next;
      continue;
    }
    *link = download->next;
    download->next = finished;
    finished = download;
  }
  while (Download *download = finished) {
    finished = download->next;
    finish(*this, download, true);
  }
}

void gpuasync_context::dropDownloads(Download *&list) {
  while (Download *download = list) {
    list = download->next;
    finish(*this, download, false);
  }
}

void gpuasync_context::abandonDownloads(Download *list) {
  for (Download *download = list; download; download = download->next) {
    while (LateLink *link = download->late) {
      download->late = link->next;
      dropStaging(link->staging);
      delete link;
    }
    delete download->scatter;
    download->scatter = nullptr;
    download->bytes = 0;
  }
}

void gpuasync_context::finishOrphans() {
  std::lock_guard<std::mutex> lock(orphanMutex);
  finishDownloads(orphans);
  if (!orphans)
    orphanCount.store(0, std::memory_order_release);
}
