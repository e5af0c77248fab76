//===- Recorder.cpp - A region that a frame is in -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Recorder.h.
//===----------------------------------------------------------------------===//

#include "core/region/Recorder.h"

#include <algorithm>
#include <utility>

using namespace gpuasync;

//===----------------------------------------------------------------------===//
// Record
//===----------------------------------------------------------------------===//

uint32_t Recorder::meet(Stream &stream) {
  streams.push_back(&stream);
  stream.region = this;
  stream.regionNumber = static_cast<uint32_t>(streams.size() - 1);
  return stream.regionNumber;
}

void Recorder::diverge() {
  recording.assign(predicted->recording, matched);
  regions->give(key, std::move(predicted));
}

Status Recorder::launch(Stream &stream, const gpuasync_launch_config &block,
                        const gpuasync_site *site) {
  RETURN_IF_ERROR(bound());
  const uint32_t number = numberOf(stream);
  const size_t bytes = Recording::paramsOffset + block.paramBytes;
  Call *call = match(Command::Kind::Launch, number, site, bytes);
  unsigned char *arguments = nullptr;
  if (__builtin_expect(call != nullptr, 1)) {
    arguments = predicted->recording.argumentsOf(*call);
    if (__builtin_expect(memcmp(arguments, &block, Recording::blockBytes) ==
                                 0 &&
                             memcmp(arguments + Recording::paramsOffset,
                                    block.params, block.paramBytes) == 0,
                         1)) {
      frame->slot->counters.launches.add(1);
      return Status();
    }
    if (!predicted->recording.takes(*call, block)) {
      --matched;
      diverge();
      call = nullptr;
    }
  }
  const gpuasync_kernel *kernel = nullptr;
  NativeFunction function = nullptr;
  bool empty = false;
  RETURN_IF_ERROR(frame->instance->findKernel(site, kernel, function));
  RETURN_IF_ERROR(checkBlock(*frame->context, *kernel, block, empty));
  frame->slot->counters.launches.add(1);
  if (call) {
    predicted->markDirty(matched - 1);
  } else {
    call = &recording.append(Command::Kind::Launch, number, site, bytes);
    arguments = recording.argumentsOf(*call);
  }
  call->empty = empty;
  memcpy(arguments, &block, sizeof(block));
  memcpy(arguments + Recording::paramsOffset, block.params, block.paramBytes);
  return Status();
}

Status Recorder::putArguments(Command::Kind kind, Stream &stream,
                              const void *arguments, size_t bytes,
                              const gpuasync_site *site) {
  RETURN_IF_ERROR(bound());
  const uint32_t number = numberOf(stream);
  if (Call *call = match(kind, number, site, bytes)) {
    unsigned char *old = predicted->recording.argumentsOf(*call);
    if (memcmp(old, arguments, bytes) != 0) {
      memcpy(old, arguments, bytes);
      predicted->markDirty(matched - 1);
    }
    return Status();
  }
  Call &call = recording.append(kind, number, site, bytes);
  memcpy(recording.argumentsOf(call), arguments, bytes);
  return Status();
}

Status Recorder::copy(Stream &stream, const ByteCopy &copy,
                      const gpuasync_site *site) {
  return putArguments(Command::Kind::CopyBytes, stream, &copy, sizeof(copy),
                      site);
}

Status Recorder::copy(Stream &stream, const StridedCopy &copy,
                      const gpuasync_site *site) {
  return putArguments(Command::Kind::Copy, stream, &copy, sizeof(copy), site);
}

/// `recorded`: it is the last call then, and its staging is nobody else's.
template <typename Copy>
Status Recorder::putStaged(Staged staged, Stream &stream, Copy &copy,
                           uint64_t bytes, const gpuasync_site *site,
                           bool &recorded) {
  recorded = false;
  if (stream.external || bytes > maxStagedBytes - stagedBytes)
    return Status();
  RETURN_IF_ERROR(bound());
  // What it holds the device may still be reading.
  if (predicted && !predicted->isDone())
    diverge();
  MemoryPool &memory = frame->context->memory;
  const uint32_t number = numberOf(stream);
  constexpr auto kind = std::is_same_v<Copy, ByteCopy>
                            ? Command::Kind::CopyBytes
                            : Command::Kind::Copy;
  Call *call = match(kind, number, site, sizeof(copy), staged);
  PoolAllocation *held = call ? call->staging : nullptr;
  struct Guard {
    MemoryPool &memory;
    PoolAllocation *block = nullptr;
    ~Guard() {
      if (block)
        memory.dropStaging(block);
    }
  } fresh{memory};
  // That of a download may wait for the host to take what it got last time.
  if (!held || held->capacity < bytes || memory.isShared(held)) {
    Status status = memory.takeStaging(bytes, fresh.block);
    if (!status.ok()) {
      if (call) {
        --matched;
        diverge();
      }
      return status.code() == GPUASYNC_OUT_OF_MEMORY ? Status()
                                                     : std::move(status);
    }
  }
  if (!call)
    call = &recording.append(kind, number, site, sizeof(copy), staged);
  if (fresh.block)
    std::swap(call->staging, fresh.block);
  setStaging(copy, staged, call->staging->pointer);
  Recording &calls = predicted ? predicted->recording : recording;
  if (!predicted ||
      memcmp(calls.argumentsOf(*call), &copy, sizeof(copy)) != 0) {
    memcpy(calls.argumentsOf(*call), &copy, sizeof(copy));
    if (predicted)
      predicted->markDirty(matched - 1);
  }
  stagedBytes += bytes;
  recorded = true;
  return Status();
}

template Status Recorder::putStaged(Staged, Stream &, ByteCopy &, uint64_t,
                                    const gpuasync_site *, bool &);
template Status Recorder::putStaged(Staged, Stream &, StridedCopy &, uint64_t,
                                    const gpuasync_site *, bool &);

bool Recorder::writes(const char *source, uint64_t bytes) const {
  for (const HostWrite &write : writesLater)
    if (overlaps(write.low, write.extent, source, bytes))
      return true;
  return false;
}

Status Recorder::fill(Stream &stream, const StridedFill &fill,
                      const gpuasync_site *site) {
  return putArguments(Command::Kind::Fill, stream, &fill, sizeof(fill), site);
}

Status Recorder::call(Stream &stream, const LibraryCall &library,
                      const gpuasync_site *site) {
  RETURN_IF_ERROR(bound());
  const uint32_t number = numberOf(stream);
  Call *call =
      match(Command::Kind::Captured, number, site, Recording::bytesOf(library));
  if (call && predicted->recording.libraryOf(*call) == library)
    return Status();
  if (call && predicted->exactCalls) {
    --matched;
    diverge();
    call = nullptr;
  }
  if (call) {
    predicted->recording.setLibrary(*call, library);
    predicted->markDirty(matched - 1);
    return Status();
  }
  recording.setLibrary(recording.append(Command::Kind::Captured, number, site,
                                        Recording::bytesOf(library)),
                       library);
  return Status();
}

Status Recorder::record(Event &event, Stream &stream,
                        const gpuasync_site *site) {
  RETURN_IF_ERROR(bound());
  const uint32_t number = numberOf(stream);
  if (!match(Command::Kind::Record, number, site, 0))
    recording.append(Command::Kind::Record, number, site, 0).event = events;
  event.region = this;
  event.regionNumber = events++;
  return Status();
}

Status Recorder::wait(Stream &stream, Event &event, const gpuasync_site *site) {
  if (event.region == this)
    RETURN_IF_ERROR(bound());
  if (event.region != this) {
    // Another's, or of a part that has been played.
    RETURN_IF_ERROR(playBefore(stream));
    stream.note(nullptr);
    return frame->driver->streamWaitEvent(stream.native, event.native);
  }
  const uint32_t number = numberOf(stream);
  Call *call = match(Command::Kind::Wait, number, site, 0);
  if (call && call->event == event.regionNumber)
    return Status();
  if (call) {
    --matched;
    diverge();
  }
  recording.append(Command::Kind::Wait, number, site, 0).event =
      event.regionNumber;
  return Status();
}

bool Recorder::give(Stream &stream) {
  if (stream.region != this)
    return false;
  stream.frame = nullptr;
  given.push(&stream);
  return true;
}

void Recorder::resolveAliases(Stream &ahead, bool idle) {
  for (Stream *each = given.first; each; each = each->next) {
    if (each->aliasOf != &ahead)
      continue;
    if (!idle)
      (void)frame->run(nullptr, [&] { return frame->follow(*each); });
    each->aliasOf = nullptr;
    each->frame = nullptr;
  }
}

Stream *Recorder::takeGiven() {
  return given.count < maxGiven ? nullptr : given.pop();
}

//===----------------------------------------------------------------------===//
// Play
//===----------------------------------------------------------------------===//

/// What it follows has nothing left to do. One of the frame's can be given work
/// then; one that was given back has no frame.
void Recorder::stopFollowing(Stream &stream) {
  stream.aliasOf = nullptr;
  for (Stream *each = frame->streams; each; each = each->next)
    if (each == &stream)
      stream.frame = frame;
}

/// Where a graph can be launched so that it starts after what its streams have
/// been given before; null: nowhere. What is `ahead` is to be put before it.
Stream *Recorder::findGraphStream() {
  Stream *busy = nullptr, *kept = nullptr;
  ahead.clear();
  for (Stream *stream : streams) {
    Stream *work = &stream->work();
    // Of a caller's stream nobody knows what is on it.
    if (work->external || !work->timeline.isIdle()) {
      if (!work->external && work->waits.hasMemoryOnly(work->timeline)) {
        if (std::find(ahead.begin(), ahead.end(), work) == ahead.end())
          ahead.push_back(work);
      } else if (!busy) {
        busy = work;
      } else if (busy != work && !work->beginsWith(*busy)) {
        return nullptr;
      }
    }
    if (stream->frame && !kept)
      kept = stream;
  }
  if (!busy) {
    for (Stream *each : ahead)
      if (each->frame)
        return each; // which it is behind anyway
    Stream *on = kept ? kept : streams.front();
    if (on->aliasOf)
      stopFollowing(*on);
    return on;
  }
  // What is on it may wait for work of this region: none of that may wait for
  // it which does not on streams.
  onBusy.resize(streams.size());
  for (size_t i = 0; i < streams.size(); ++i) {
    Stream &work = streams[i]->work();
    onBusy[i] = &work == busy || work.beginsWith(*busy);
  }
  if (!predicted)
    return recording.isBehind(onBusy) ? busy : nullptr;
  if (predicted->askedFor != onBusy) {
    predicted->isBehind = predicted->recording.isBehind(onBusy);
    predicted->askedFor = onBusy;
  }
  return predicted->isBehind ? busy : nullptr;
}

/// Memory that was handed out on other streams may be used on `on` from here
/// on: that waits for nothing, so nothing can wait for it in vain.
Status Recorder::putAhead(Stream &on) {
  for (Stream *each : ahead)
    if (each != &on)
      RETURN_IF_ERROR(frame->join(on, *each));
  return Status();
}

Status Recorder::playGraph(Executable &executable, Stream &on) {
  played = ExecutionMode::Graph;
  // What else is put on a caller's stream nobody tells us: the last graph's
  // word would be taken for the end of that too.
  Completion completion;
  const bool isAwaited = !on.external && executable.awaited->expect();
  RETURN_IF_ERROR(frame->driver->extensions.graphs->launchGraph(
      executable.graph, on.native, isAwaited ? &completion : nullptr));
  on.note(key.site);
  if (isAwaited)
    on.timeline.noteSignal(completion);
  on.timeline.seal();
  executable.last = on.timeline.now();
  frame->lastGraph = {executable.awaited, &on.timeline, on.timeline.position()};
  frame->slot->counters.graphLaunches.add(1);
  // Before events of the region are behind it: who waits for one of them finds
  // the memory written.
  for (HostWrite &write : writesLater) {
    PoolAllocation *staging = executable.recording.calls[write.call].staging;
    frame->context->memory.shareStaging(staging);
    Status status = guard([&] { return expect(write, on, staging); });
    if (status.ok())
      continue;
    frame->context->memory.dropStaging(staging);
    return status;
  }
  return serializeAfter(on);
}

/// The host writes it when all that `stream` has been given is done. Takes over
/// `staging` unless it fails.
Status Recorder::expect(HostWrite &write, Stream &stream,
                        PoolAllocation *staging) {
  if (write.scatter)
    write.scatter->source = staging->pointer;
  return frame->context->staging.expect(frame->downloads, stream, write.low,
                                        write.extent, staging,
                                        write.scatter.get());
}

Status Recorder::playOneStream(Recording &calls, Stream &on) {
  played = ExecutionMode::Stream;
  for (Call &call : calls.calls)
    if (call.isWork())
      RETURN_IF_ERROR(playWork(calls, call, on));
  frame->slot->counters.regionsOnStreams.add(1);
  return serializeAfter(on);
}

Status Recorder::serializeAfter(Stream &on) {
  // What comes on the other streams that are still there, and who waits for
  // events of the region that are, is behind all of it. One that has gone
  // behind another had nothing left to do (findGraphStream): who followed it is
  // free.
  for (Stream *stream = frame->streams; stream; stream = stream->next) {
    if (stream == &on)
      continue;
    if (stream->region == this) {
      stream->aliasOf = &on;
      stream->frame = nullptr;
    } else if (stream->aliasOf && stream->aliasOf != &on &&
               stream->aliasOf->region == this) {
      stream->aliasOf = nullptr;
      stream->frame = frame;
    }
  }
  Status status;
  for (Event *event = frame->events; event && status.ok(); event = event->next)
    if (event->region == this)
      status = frame->driver->recordEvent(event->native, on.native);
  return status;
}

/// Its staging is the stream's from then on.
Status Recorder::playStaged(const Command &copy, Call &call, Stream &stream) {
  gpuasync_context &context = *frame->context;
  context.staging.reap(stream, /*idle=*/false);
  HeldStaging staging(context, stream);
  staging.takeOver(std::exchange(call.staging, nullptr));
  RETURN_IF_ERROR(frame->driver->submit(stream.native, copy));
  if (call.staged == Staged::Download) {
    RETURN_IF_ERROR(expect(writesLater[written++], stream, staging.get()));
    staging.passOn();
    return Status();
  }
  Status status =
      context.staging.use(stream, staging.get(), staging.get()->bytes);
  staging.passOn();
  return status;
}

Status Recorder::playWork(Recording &calls, Call &call, Stream &stream) {
  stream.note(call.site);
  Status status;
  if (call.kind == Command::Kind::Launch) {
    if (call.empty)
      return Status(); // keeps order by doing nothing
    const gpuasync_kernel *kernel = nullptr;
    NativeFunction function = nullptr;
    status = frame->instance->findKernel(call.site, kernel, function);
    if (status.ok())
      status = putLaunch(*frame, stream, function, *kernel, calls.blockOf(call),
                         call.site);
  } else if (call.kind == Command::Kind::Captured) {
    Stream *const on = &stream;
    status = callLibrary(*frame, &on, 1, calls.libraryOf(call), call.site);
  } else if (call.staged != Staged::No) {
    status = playStaged(calls.commandOf(call), call, stream);
  } else {
    status = frame->driver->submit(stream.native, calls.commandOf(call));
  }
  return status.ok()
             ? Status()
             : locate(frame->context->noteFault(std::move(status)), call.site);
}

Status Recorder::playCalls(Recording &calls, std::vector<Event *> &native) {
  Device &driver = *frame->driver;
  for (Call &call : calls.calls) {
    Stream &stream = *streams[call.stream];
    Status status;
    if (call.isWork()) {
      RETURN_IF_ERROR(playWork(calls, call, stream));
    } else if (call.kind == Command::Kind::Record) {
      Event *&event = native[call.event];
      if (!event) {
        status = frame->context->events.take(frame->slot, event);
        if (status.ok())
          event->regionNumber = UINT32_MAX; // ours
      }
      if (status.ok())
        status = driver.recordEvent(event->native, stream.native);
    } else {
      stream.note(nullptr);
      status =
          driver.streamWaitEvent(stream.native, native[call.event]->native);
    }
    if (!status.ok())
      return locate(frame->context->noteFault(std::move(status)), call.site);
  }
  return Status();
}

Status Recorder::playStreams(Recording &calls) {
  played = ExecutionMode::Streams;
  std::vector<Event *> native(calls.events, nullptr);
  for (Event *event = frame->events; event; event = event->next)
    if (event->region == this)
      native[event->regionNumber] = event;
  Status status = guard([&]() -> Status {
    for (Stream *stream : streams)
      RETURN_IF_ERROR(frame->follow(*stream));
    return playCalls(calls, native);
  });
  for (Event *event : native)
    if (event && event->regionNumber == UINT32_MAX)
      frame->context->events.give(frame->slot, event);
  frame->slot->counters.regionsOnStreams.add(1);
  return status;
}

/// What is recorded is an executable's own no more.
void Recorder::takeBack() {
  recording.assign(predicted->recording, predicted->recording.calls.size());
  recording.streams = predicted->recording.streams;
  recording.events = predicted->recording.events;
  regions->give(key, std::move(predicted));
}

/// One that can be launched on `on` now gets the recording's arguments.
Status Recorder::findExecutable(uint64_t shape, Stream &on) {
  predicted = regions->take(key, recording, shape, &on);
  if (!predicted)
    return Status();
  predicted->takeArguments(recording);
  for (uint32_t each : recording.staged) {
    Call &mine = predicted->recording.calls[each];
    std::swap(mine.staging, recording.calls[each].staging);
  }
  if (predicted->isDone())
    return Status();
  // Its last launch may still run, ahead of this one on the same stream: what
  // that works on is the stream's from now on, whatever fails.
  struct Kept {
    Recording &recording;
    Stream &on;
    ~Kept() {
      for (uint32_t each : recording.staged)
        if (PoolAllocation *block =
                std::exchange(recording.calls[each].staging, nullptr))
          on.stuck.push(block);
    }
  } kept{recording, on};
  StagingPool &pool = frame->context->staging;
  pool.reap(on, /*idle=*/false);
  for (uint32_t each : recording.staged) {
    PoolAllocation *&block = recording.calls[each].staging;
    if (!block)
      continue; // it was passed on
    Status status = pool.use(on, block, block->bytes);
    block = nullptr;
    RETURN_IF_ERROR(std::move(status));
  }
  return Status();
}

Status Recorder::playPart() {
  if (predicted && matched < predicted->recording.calls.size())
    diverge();
  if (!predicted) {
    recording.streams = static_cast<uint32_t>(streams.size());
    recording.events = events;
  }
  Stream *on = findGraphStream();
  // Nobody would know when the staging is free.
  if (on && on->external && stagedBytes)
    on = nullptr;
  if (!on)
    return playStreams(predicted ? predicted->recording : recording);
  RETURN_IF_ERROR(putAhead(*on));
  if (way == ExecutionMode::Stream)
    return playOneStream(predicted ? predicted->recording : recording, *on);
  // Calls that overlap have one each.
  if (predicted && !predicted->isFreeFor(on))
    takeBack();
  uint64_t shape = 0;
  if (!predicted) {
    shape = regions->shapeOf(key, recording);
    RETURN_IF_ERROR(findExecutable(shape, *on));
  }
  if (predicted) {
    uint32_t failed = 0;
    Status status = predicted->dirty.empty()
                        ? Status()
                        : regions->update(*predicted, *frame, failed);
    if (status.code() != GPUASYNC_UNSUPPORTED &&
        status.code() != GPUASYNC_UNAVAILABLE)
      return status.ok() ? playGraph(*predicted, *on) : std::move(status);
    const bool forNow = status.code() == GPUASYNC_UNAVAILABLE;
    status = playStreams(predicted->recording);
    regions->retire(key, std::move(predicted), failed, forNow);
    return status;
  }
  RETURN_IF_ERROR(playStreams(recording));
  // The device has work meanwhile.
  if (!recording.gainsAsGraph() || !regions->wantsGraph(key, shape))
    return Status();
  frame->modeTiming.spoiled = frame->modeTiming.building = true;
  if (Status status = guard(
          [&] { return regions->make(key, recording, shape, on, *frame); });
      !status.ok()) {
    regions->refuse(key, shape,
                    /*forNow=*/status.code() != GPUASYNC_UNSUPPORTED);
    if (status.code() == GPUASYNC_DEVICE_LOST)
      return frame->context->noteFault(std::move(status));
  }
  return Status();
}

Status Recorder::finish() {
  Status status;
  if (count()) {
    playing = true;
    status = frame->context->noteFault(guard([&] { return playPart(); }));
    playing = false;
  }
  drop();
  return status;
}

Status Recorder::play() {
  // A library's function that is called now may enter frames of its own.
  if (!count() || playing)
    return Status();
  Status status = finish();
  key.part = std::min(key.part + 1, maxParts);
  predicted = regions->take(key);
  return status;
}

void Recorder::drop() {
  if (predicted)
    regions->give(key, std::move(predicted));
  recording.dropStaging(frame->context->memory);
  writesLater.clear();
  stagedBytes = written = 0;
  for (Stream *stream : streams)
    stream->region = nullptr;
  streams.clear();
  for (Event *event = frame->events; event; event = event->next)
    if (event->region == this)
      event->region = nullptr;
  while (Stream *stream = given.pop()) {
    const bool idle = stream->timeline.isIdle();
    frame->resolveAliases(*stream, idle);
    frame->end(*stream, idle);
  }
  recording.clear();
  events = 0;
  matched = 0;
}
