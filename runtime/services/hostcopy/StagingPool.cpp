//===- StagingPool.cpp - Pageable copies through pinned memory ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See StagingPool.h.
//===----------------------------------------------------------------------===//

#include "services/hostcopy/StagingPool.h"
#include "services/hostcopy/DeferredUpload.h"
#include "shim/command/Strided.h"

#include <new>
#include <string.h>

using namespace gpuasync;

/// After so much staged data a flag is written, so that memory comes back
/// before the next host wait.
static constexpr uint64_t flagAfterBytes = 4 << 20;

Status StagingPool::use(Stream &stream, PoolAllocation *staging,
                        uint64_t bytes) {
  StagingUse *use;
  {
    std::lock_guard<std::mutex> lock(mutex);
    use = uses.take();
  }
  use->staging = staging;
  use->point = stream.timeline.now();
  stream.staging.append(use);
  // The next flag covers it, whoever writes that.
  if (stream.timeline.hasFlag() &&
      stream.timeline.noteStaged(bytes) < flagAfterBytes)
    return Status();
  return guard(
      [&] { return context.timepoints.make(stream.timeline, use->point); });
}

HeldStaging::~HeldStaging() {
  if (!staging)
    return;
  if (inUse)
    stream.stuck.push(staging);
  else
    context.memory.dropStaging(staging);
}

Status HeldStaging::take(uint64_t bytes) {
  return context.memory.takeStaging(bytes, staging);
}

void StagingPool::reapSome(Stream &stream, bool idle) {
  while (PoolAllocation *staging = idle ? stream.stuck.pop() : nullptr)
    context.memory.dropStaging(staging);
  while (StagingUse *use = stream.staging.first) {
    if (!idle && !context.timepoints.isOver(use->point))
      return;
    context.timepoints.drop(use->point);
    stream.staging.pop();
    context.memory.dropStaging(use->staging);
    std::lock_guard<std::mutex> lock(mutex);
    uses.give(use);
  }
}

Status StagingPool::expect(Download *&list, Stream &stream, char *destination,
                           uint64_t bytes, PoolAllocation *staging,
                           const StridedCopy *scatter) {
  Download *download;
  {
    std::lock_guard<std::mutex> lock(mutex);
    download = downloads.take();
    download->number = ++numbered;
  }
  Status status;
  try {
    status = context.timepoints.make(stream.timeline, download->point);
  } catch (...) {
    drop(download);
    throw;
  }
  if (!status.ok()) {
    // Without a timepoint nobody would ever know that it is done.
    drop(download);
    return status;
  }
  download->destination = destination;
  download->bytes = bytes;
  download->hasFailed = false;
  download->staging = staging;
  if ((download->isStrided = scatter))
    download->scatter = *scatter;
  download->next = list;
  list = download;
  return Status();
}

void StagingPool::drop(Download *download) {
  std::lock_guard<std::mutex> lock(mutex);
  downloads.give(download);
}

/// Its links go; `fill`: the parts of uploads that waited for it are there.
static void endLinks(ContextPools &context, Download &download, bool fill) {
  while (LateLink *link = download.late) {
    download.late = link->next;
    if (fill)
      static_cast<DeferredUpload &>(*link->staging->late).fill(download);
    context.memory.dropStaging(link->staging);
    delete link;
  }
}

void StagingPool::end(Download *download, bool write) {
  if (write && download->staging) {
    if (download->isStrided)
      copyOnHost(download->scatter);
    else
      memcpy(download->destination, download->staging->pointer,
             download->bytes);
  }
  endLinks(context, *download, write);
  context.timepoints.drop(download->point);
  if (download->staging)
    context.memory.dropStaging(download->staging);
  drop(download);
}

Status StagingPool::finishReached(Download *&list, Download *&others) {
  // Points are read newest first, so that of two copies to one place the older
  // one is seen finished whenever the newer one is; they are written oldest
  // first, and none of them if a question says nothing of the work.
  Status loss;
  for (Download *one = list, *other = others; one || other;) {
    Download *&newest = isNewer(one, other) ? one : other;
    bool reached = false;
    Status status = context.timepoints.settle(newest->point, reached);
    if (!status.ok()) {
      if (!reached)
        return status;
      // Another error is told to whoever waits for the work.
      newest->hasFailed = true;
      if (loss.ok() && status.code() == GPUASYNC_DEVICE_LOST)
        loss = std::move(status);
    }
    newest = newest->next;
  }
  Stack<Download> finished;
  for (Download **one = &list, **other = &others; *one || *other;) {
    Download **&link = isNewer(*one, *other) ? one : other;
    Download *download = *link;
    if (download->point.isSet()) {
      link = &download->next;
      continue;
    }
    *link = download->next;
    finished.push(download);
  }
  while (Download *download = finished.pop())
    end(download, /*write=*/!download->hasFailed);
  return loss;
}

Status StagingPool::finishReached(Download *&list) {
  Download *none = nullptr;
  if (!anyOrphans.load(std::memory_order_acquire))
    return finishReached(list, none);
  std::lock_guard<std::mutex> lock(orphanMutex);
  Status status = finishReached(list, orphans);
  if (!orphans)
    anyOrphans.store(false, std::memory_order_release);
  return status;
}

Status StagingPool::settle(Download *&list, const char *first, uint64_t bytes,
                           bool staged, const Timeline *own) {
  if (!mayBePending(list))
    return Status();
  const Deadline deadline = callDeadline();
  while (true) {
    bool pending = false, done = false;
    RETURN_IF_ERROR(
        forEachWriter(list, first, bytes, [&](const Download &download) {
          return !(pending = download.staging || !staged);
        }));
    if (!pending)
      return Status();
    // After an error nobody writes the word of a download.
    if (const Timeline *timeline = list ? list->point.timeline : own)
      RETURN_IF_ERROR(context.timepoints.query(timeline->whenIdle(), done));
    if (deadline.over())
      return makeStatus(GPUASYNC_TIMEOUT,
                        "timed out waiting for an earlier copy into host "
                        "memory at %p",
                        static_cast<const void *>(first));
    sleepNs(50000);
  }
}

void StagingPool::dropAll(Download *&list) {
  while (Download *download = list) {
    list = download->next;
    end(download, /*write=*/false);
  }
}

void StagingPool::abandon(Download *list) {
  for (Download *download = list; download; download = download->next) {
    endLinks(context, *download, /*fill=*/false);
    download->bytes = 0;
  }
}

void StagingPool::adopt(Download *&list) {
  if (!list)
    return;
  std::lock_guard<std::mutex> lock(orphanMutex);
  for (Download **link = &orphans; list; link = &(*link)->next)
    if (isNewer(list, *link)) {
      Download *rest = *link;
      *link = list;
      list = list->next;
      (*link)->next = rest;
    }
  anyOrphans.store(true, std::memory_order_release);
}
