//===- Recorder.cpp - A region that a frame is in -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Recorder.h.
//===----------------------------------------------------------------------===//

#include "services/graphs/Recorder.h"

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

/// Some arguments of a predicted item are new, and not all are checked.
void Recorder::abandonItem() {
  Item &item = predicted->recording.items[matchedItems];
  item.stale = true;
  for (size_t i = item.firstCall; i < predicted->recording.endOf(item); ++i)
    predicted->markDirty(i);
}

void Recorder::diverge() {
  if (isOpen)
    abandonItem();
  recording.assign(predicted->recording, matchedItems + isOpen, matched);
  regions->give(key, std::move(predicted));
}

Call *Recorder::match(Command::Kind kind, uint32_t stream, size_t bytes,
                      Staged staged) {
  if (!predicted)
    return nullptr;
  std::vector<Call> &calls = predicted->recording.calls;
  if (__builtin_expect(matched < calls.size(), 1)) {
    Call &call = calls[matched];
    if (__builtin_expect(call.command == command && call.kind == kind &&
                             call.staged == staged && call.stream == stream &&
                             call.bytes == bytes &&
                             matched <
                                 predicted->recording.endOf(
                                     predicted->recording.items[matchedItems]),
                         1)) {
      ++matched;
      return &call;
    }
  }
  diverge();
  return nullptr;
}

Call &Recorder::append(Command::Kind kind, uint32_t stream,
                       const gpuasync_site *site, size_t bytes, Staged staged) {
  Call &call = recording.append(kind, stream, site, bytes, staged);
  call.command = command;
  return call;
}

template <typename Arguments>
void Recorder::putArguments(Command::Kind kind, Stream &stream,
                            const Arguments &arguments,
                            const gpuasync_site *site) {
  const uint32_t number = numberOf(stream);
  Call *call = match(kind, number, sizeof(arguments), Staged::No);
  if (!call)
    call = &append(kind, number, site, sizeof(arguments), Staged::No);
  setArguments(*call, arguments);
}

/// The call is the last one that was matched or appended.
template <typename Arguments>
void Recorder::setArguments(Call &call, const Arguments &arguments) {
  unsigned char *old = current().argumentsOf(call);
  if (predicted && memcmp(old, &arguments, sizeof(arguments)) != 0)
    predicted->markDirty(matched - 1);
  memcpy(old, &arguments, sizeof(arguments));
}

/// Staging takes the place of the pageable side, and the host copies between
/// the two, from a source now.
template <typename Copy>
Status Recorder::putStaged(Command::Kind kind, Stream &stream, const Copy &copy,
                           const Sides &sides, const gpuasync_site *site) {
  const Staged staged = sides.fromPageable ? Staged::Upload : Staged::Download;
  Copy onDevice = copy, onHost = copy;
  const uint64_t total = makeDense(onDevice, /*source=*/sides.fromPageable);
  makeDense(onHost, /*source=*/!sides.fromPageable);
  if (stream.external || total > maxStagedBytes - stagedBytes)
    return refuse();
  if (sides.fromPageable) {
    // Not where a part of the source has yet to be written.
    const char *low = static_cast<const char *>(copy.source) + sides.from.low;
    const uint64_t bytes = sides.from.bytes();
    bool pending = false;
    RETURN_IF_ERROR(stagingOf(*stream.use->context)
                        .isPending(stream.use->downloads, low, bytes, pending));
    if (pending || writes(low, bytes))
      return refuse();
  }
  // What it holds the device may still be reading.
  if (predicted && !predicted->isDone())
    diverge();
  MemoryPool &memory = frame->first.context->memory;
  const uint32_t number = numberOf(stream);
  Call *call = match(kind, number, sizeof(copy), staged);
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
  if (!held || held->capacity < total || memory.isShared(held)) {
    Status status = memory.takeStaging(total, fresh.block);
    if (!status.ok()) {
      if (call) {
        --matched;
        diverge();
      }
      return status.code() == GPUASYNC_OUT_OF_MEMORY ? refuse()
                                                     : std::move(status);
    }
  }
  if (!call)
    call = &append(kind, number, site, sizeof(copy), staged);
  if (fresh.block)
    std::swap(call->staging, fresh.block);
  void *const staging = call->staging->pointer;
  setStaging(onDevice, staged, staging);
  setArguments(*call, onDevice);
  stagedBytes += total;
  if (sides.fromPageable) {
    onHost.destination = staging;
    copyOnHost(onHost);
    return Status();
  }
  std::unique_ptr<StridedCopy> scatter;
  if constexpr (std::is_same_v<Copy, StridedCopy>)
    scatter = std::make_unique<StridedCopy>(onHost);
  writesLater.push_back({static_cast<uint32_t>(callCount() - 1),
                         static_cast<char *>(copy.destination) + sides.to.low,
                         sides.to.bytes(), std::move(scatter)});
  return Status();
}

Status Recorder::put(Stream &stream, const Command &work, const Sides &sides) {
  const bool isCopy = work.kind != Command::Kind::Fill;
  if (!sides.areReachable()) {
    // Not where the host works on the device's memory itself.
    if (!isCopy || (sides.fromPageable && sides.toPageable) ||
        frame->first.context->has(CapHostAccess))
      return refuse();
    return work.kind == Command::Kind::Copy
               ? putStaged(work.kind, stream, *work.copy, sides, work.site)
               : putStaged(work.kind, stream, work.bytes, sides, work.site);
  }
  if (!isCopy)
    putArguments(work.kind, stream, *work.fill, work.site);
  else if (work.kind == Command::Kind::Copy)
    putArguments(work.kind, stream, *work.copy, work.site);
  else
    putArguments(work.kind, stream, work.bytes, work.site);
  return Status();
}

bool Recorder::writes(const char *source, uint64_t bytes) const {
  for (const HostWrite &write : writesLater)
    if (overlaps(write.low, write.extent, source, bytes))
      return true;
  return false;
}

Status Recorder::refuse() {
  refused = true;
  return makeStatus(GPUASYNC_UNAVAILABLE, "it cannot be recorded");
}

/// The lanes get their numbers, and the item is the predicted one or a new one.
void Recorder::beginItem() {
  const gpuasync_fragment &fragment = adds->fragment;
  for (uint32_t i = 0; i < fragment.laneCount; ++i) {
    if (lanes[i]) {
      numbers[i] = numberOf(*lanes[i]);
      continue;
    }
    numbers[i] = static_cast<uint32_t>(streams.size());
    streams.push_back(nullptr);
  }
  Item *item = nextItem();
  if (item && (item->prepared != adds ||
               (fragment.laneCount &&
                memcmp(numbers, &predicted->recording.lanes[item->lanes],
                       fragment.laneCount * sizeof(uint32_t)) != 0)))
    diverge();
  changed = 0;
  if (predicted && (item->stale || memcmp(predicted->recording.at(item->block),
                                          block, fragment.argumentBytes) != 0))
    compare(*item);
  if (!predicted)
    recording.append(*adds, numbers, block);
  isOpen = true;
}

/// Finds the commands whose arguments are others than last time, unless no
/// update makes them of what the graph has.
void Recorder::compare(Item &item) {
  const gpuasync_fragment &fragment = adds->fragment;
  Recording &old = predicted->recording;
  unsigned char *mine = old.at(item.block);
  for (size_t i = item.firstCall; i < old.endOf(item); ++i) {
    const Call &call = old.calls[i];
    const gpuasync_command &its = fragment.commands[call.command];
    if ((call.kind == Command::Kind::Launch && !call.config &&
         !canBecome(old.blockOf(call), configOf(fragment, its, block))) ||
        (call.kind == Command::Kind::Captured && predicted->exactCalls &&
         memcmp(mine + its.argument,
                static_cast<const char *>(block) + its.argument,
                its.argumentBytes) != 0))
      return diverge();
  }
  for (uint32_t i = 0; i < fragment.commandCount; ++i) {
    const gpuasync_command &its = fragment.commands[i];
    if (item.stale || memcmp(mine + its.argument,
                             static_cast<const char *>(block) + its.argument,
                             its.argumentBytes) != 0)
      changed |= uint64_t(1) << i;
  }
  memcpy(mine, block, fragment.argumentBytes);
}

void Recorder::endItem() {
  command = adds->fragment.commandCount;
  if (predicted) {
    Item &item = predicted->recording.items[matchedItems];
    if (__builtin_expect(matched == predicted->recording.endOf(item), 1)) {
      item.stale = false;
      ++matchedItems;
    } else {
      diverge();
    }
  }
  isOpen = false;
}

/// The fragment is not recorded.
void Recorder::dropItem() {
  if (predicted) {
    abandonItem();
    isOpen = false;
    matched = predicted->recording.items[matchedItems].firstCall;
    diverge();
  } else {
    isOpen = false;
    recording.dropLast(frame->first.context->memory);
  }
  while (!writesLater.empty() && writesLater.back().call >= callCount())
    writesLater.pop_back();
}

/// A lane that was none gets a stream, which ends with the part.
Status Recorder::takeOwn(uint32_t number, Stream *&out) {
  RETURN_IF_ERROR(frame->first.context->streams.take(frame->first.slot,
                                                     /*isUrgent=*/false, out));
  streams[number] = out;
  out->use = &frame->first;
  out->region = this;
  out->regionNumber = number;
  given.push(out);
  return Status();
}

Status Recorder::add(const PreparedFragment &prepared, Stream *const *its,
                     const void *arguments) {
  const gpuasync_fragment &fragment = prepared.fragment;
  RETURN_IF_ERROR(bound(fragment.commandCount));
  adds = &prepared;
  lanes = its;
  block = arguments;
  command = 0;
  refused = false;
  Status status = guard([&] { return addCommands(); });
  if (refused)
    return addToStreams();
  frame->first.slot->counters.launches.add(prepared.launches);
  frame->first.slot->counters.libraryCalls.add(prepared.libraryCalls);
  return status.ok()
             ? Status()
             : locate(frame->first.context->noteFault(std::move(status)),
                      frame->siteAt(fragment.commands[command].site));
}

Status Recorder::addToStreams() {
  const gpuasync_fragment &fragment = adds->fragment;
  dropItem();
  RETURN_IF_ERROR(checkAllArguments(*adds, block));
  RETURN_IF_ERROR(flush());
  for (uint32_t i = 0; i < fragment.laneCount; ++i)
    if (lanes[i])
      RETURN_IF_ERROR(frame->follow(*lanes[i]));
  frame->region = nullptr;
  runOnStreams(*frame, *adds, lanes, block);
  frame->region = this;
  return Status();
}

Status Recorder::addCommands() {
  const uint32_t count = adds->fragment.commandCount;
  if (!count)
    return Status();
  beginItem();
  uint32_t number = 0;
  if (__builtin_expect(predicted && !changed, 1)) {
    // Only what memory the others work on can be new.
    const Recording &old = predicted->recording;
    const size_t end = old.endOf(old.items[matchedItems]);
    for (uint32_t each : adds->looked) {
      while (matched < end && old.calls[matched].command < each)
        ++matched;
      RETURN_IF_ERROR(addCommand(each));
      number = each + 1;
      if (!predicted)
        break;
    }
    if (predicted) {
      matched = end;
      endItem();
      return Status();
    }
  }
  for (; number < count; ++number)
    RETURN_IF_ERROR(addCommand(number));
  endItem();
  return Status();
}

Status Recorder::addLaunch(uint32_t number, Call *call) {
  const gpuasync_fragment &fragment = adds->fragment;
  const gpuasync_command &launch = fragment.commands[number];
  const gpuasync_site *site = frame->siteAt(launch.site);
  const gpuasync_launch_config config = configOf(fragment, launch, block);
  const gpuasync_kernel *kernel = nullptr;
  NativeFunction function = nullptr;
  bool empty = false;
  RETURN_IF_ERROR(frame->first.instance->findKernel(site, kernel, function));
  RETURN_IF_ERROR(checkBlock(*frame->first.context, *kernel, config, empty));
  if (!call) {
    call = &append(Command::Kind::Launch, numbers[launch.lane], site, 0,
                   Staged::No);
    if (hasConfig(launch))
      call->config = reinterpret_cast<const gpuasync_launch_config *>(
          static_cast<const char *>(fragment.constants) + launch.config);
  }
  call->empty = empty;
  return Status();
}

Status Recorder::transfer(const gpuasync_command &command, Stream &stream,
                          const gpuasync_site *site) {
  switch (command.kind) {
  case GPUASYNC_COMMAND_COPY: {
    const auto &copy = argumentsAs<gpuasync_copy>(command, block);
    return copyBytes(*frame, stream, site, copy.destination, copy.source,
                     copy.bytes);
  }
  case GPUASYNC_COMMAND_COPY_STRIDED: {
    const auto &copy = argumentsAs<gpuasync_copy_strided>(command, block);
    const auto *sizes = static_cast<const int64_t *>(behind(copy));
    return copyArray(*frame, stream, site, copy.destination, sizes + copy.rank,
                     copy.source, sizes + 2 * copy.rank, sizes, copy.rank,
                     copy.elementBytes);
  }
  default: {
    const auto &fill = argumentsAs<gpuasync_fill>(command, block);
    if (command.kind == GPUASYNC_COMMAND_FILL)
      return fillRow(*frame, stream, site, fill.destination, fill.count,
                     fill.pattern, fill.elementBytes);
    const auto *sizes = static_cast<const int64_t *>(behind(fill));
    return fillArray(*frame, stream, site, fill.destination, sizes + fill.rank,
                     sizes, fill.rank, fill.pattern, fill.elementBytes);
  }
  }
}

Status Recorder::addCommand(uint32_t number) {
  const gpuasync_fragment &fragment = adds->fragment;
  const gpuasync_command &added = fragment.commands[number];
  const gpuasync_site *site = frame->siteAt(added.site);
  const bool isChanged = !predicted || (changed >> number & 1);
  command = number;
  if (isChanged)
    RETURN_IF_ERROR(checkArguments(fragment, added, block));
  if (added.kind == GPUASYNC_COMMAND_LAUNCH ||
      added.kind == GPUASYNC_COMMAND_CALL) {
    const bool isLaunch = added.kind == GPUASYNC_COMMAND_LAUNCH;
    const auto kind =
        isLaunch ? Command::Kind::Launch : Command::Kind::Captured;
    Call *call =
        match(kind, numbers[added.lane], added.argumentBytes, Staged::No);
    if (call && !isChanged)
      return Status();
    if (isLaunch)
      RETURN_IF_ERROR(addLaunch(number, call));
    else if (!call)
      append(kind, numbers[added.lane], site, 0, Staged::No);
    if (predicted) {
      predicted->markDirty(matched - 1);
    } else {
      Call &last = recording.calls.back();
      last.arguments = recording.items.back().block + added.argument;
      last.bytes = added.argumentBytes;
    }
    return Status();
  }
  // One that reaches the device's memory only is what it was.
  if (predicted && !isChanged &&
      (added.flags & GPUASYNC_COMMAND_DEVICE_MEMORY)) {
    const Recording &old = predicted->recording;
    const size_t end = old.endOf(old.items[matchedItems]);
    while (matched < end && old.calls[matched].command == number)
      ++matched;
    return Status();
  }
  Stream *stream = lanes[added.lane];
  if (!stream) {
    stream = &standIn;
    standIn.use = &frame->first;
    standIn.region = this;
    standIn.regionNumber = numbers[added.lane];
  }
  adding = true;
  Status status = guard([&] { return transfer(added, *stream, site); });
  adding = false;
  // It may have been more boxes last time.
  if (predicted && status.ok()) {
    const Recording &old = predicted->recording;
    if (matched < old.endOf(old.items[matchedItems]) &&
        old.calls[matched].command == number)
      diverge();
  }
  return status;
}

Status Recorder::record(Event &event, Stream &stream) {
  RETURN_IF_ERROR(bound(1));
  putEvent(/*isWait=*/false, numberOf(stream), events);
  event.region = this;
  event.regionNumber = events++;
  return Status();
}

Status Recorder::wait(Stream &stream, Event &event) {
  if (event.region == this)
    RETURN_IF_ERROR(bound(1));
  if (event.region != this) {
    // Another's, or of a part that has been played.
    RETURN_IF_ERROR(frame->flushBefore(stream));
    stream.note(nullptr);
    return frame->first.device->streamWaitEvent(stream.native, event.native);
  }
  putEvent(/*isWait=*/true, numberOf(stream), event.regionNumber);
  return Status();
}

void Recorder::putEvent(bool isWait, uint32_t stream, uint32_t event) {
  const Item *item = nextItem();
  if (item && !item->prepared && item->isWait == isWait &&
      item->stream == stream && item->event == event) {
    ++matchedItems;
    return;
  }
  if (item)
    diverge();
  recording.appendEvent(isWait, stream, event);
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
    if (!stream)
      continue;
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
    Stream *on = kept;
    for (size_t i = 0; i < streams.size() && !on; ++i)
      on = streams[i];
    if (!on)
      return nullptr;
    if (on->aliasOf)
      stopFollowing(*on);
    return on;
  }
  // What is on it may wait for work of this region: none of that may wait for
  // it which does not on streams.
  onBusy.resize(streams.size());
  for (size_t i = 0; i < streams.size(); ++i) {
    Stream *work = streams[i] ? &streams[i]->work() : nullptr;
    onBusy[i] = work && (work == busy || work->beginsWith(*busy));
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
  RETURN_IF_ERROR(frame->first.device->extensions.graphs->launchGraph(
      executable.graph, on.native, isAwaited ? &completion : nullptr));
  on.note(key.site);
  if (isAwaited)
    on.timeline.noteSignal(completion);
  on.timeline.seal();
  executable.last = on.timeline.now();
  frame->lastGraph = {executable.awaited, &on.timeline, on.timeline.position()};
  frame->first.slot->counters.graphLaunches.add(1);
  // Before events of the region are behind it: who waits for one of them finds
  // the memory written.
  for (HostWrite &write : writesLater) {
    PoolAllocation *staging = executable.recording.calls[write.call].staging;
    frame->first.context->memory.shareStaging(staging);
    Status status = guard([&] { return expect(write, on, staging); });
    if (status.ok())
      continue;
    frame->first.context->memory.dropStaging(staging);
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
  return stagingOf(*frame->first.context)
      .expect(frame->first.downloads, stream, write.low, write.extent, staging,
              write.scatter.get());
}

Status Recorder::playOneStream(Recording &calls, Stream &on) {
  played = ExecutionMode::Stream;
  for (Call &call : calls.calls)
    RETURN_IF_ERROR(playWork(calls, call, on));
  frame->first.slot->counters.regionsOnStreams.add(1);
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
      frame->mayHaveAliases = true;
    } else if (stream->aliasOf && stream->aliasOf != &on &&
               stream->aliasOf->region == this) {
      stream->aliasOf = nullptr;
      stream->frame = frame;
    }
  }
  Status status;
  for (Event *event = frame->events; event && status.ok(); event = event->next)
    if (event->region == this)
      status = frame->first.device->recordEvent(event->native, on.native);
  return status;
}

/// Its staging is the stream's from then on.
Status Recorder::playStaged(const Command &copy, Call &call, Stream &stream) {
  gpuasync_context &context = *frame->first.context;
  context.hostCopies->reap(stream, /*idle=*/false);
  HeldStaging staging(context, stream);
  staging.takeOver(std::exchange(call.staging, nullptr));
  RETURN_IF_ERROR(frame->first.device->submit(stream.native, copy));
  if (call.staged == Staged::Download) {
    RETURN_IF_ERROR(expect(writesLater[written++], stream, staging.get()));
    staging.passOn();
    return Status();
  }
  Status status =
      stagingOf(context).use(stream, staging.get(), staging.get()->bytes);
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
    status = frame->first.instance->findKernel(call.site, kernel, function);
    if (status.ok())
      status = putLaunch(*frame, stream, function, *kernel, calls.blockOf(call),
                         call.site);
  } else if (call.kind == Command::Kind::Captured) {
    Stream *const on = &stream;
    status = callLibrary(*frame, &on, 1, calls.libraryOf(call), call.site);
  } else if (call.staged != Staged::No) {
    status = playStaged(calls.commandOf(call), call, stream);
  } else {
    status = frame->first.device->submit(stream.native, calls.commandOf(call));
  }
  return status.ok()
             ? Status()
             : locate(frame->first.context->noteFault(std::move(status)),
                      call.site);
}

/// Records an event of the pool's on the stream.
static Status recordNew(Frame &frame, Stream &stream, Event *&event) {
  RETURN_IF_ERROR(frame.first.context->events.take(frame.first.slot, event));
  return frame.first.device->recordEvent(event->native, stream.native);
}

Status Recorder::playFragment(Recording &calls, const Item &item) {
  const gpuasync_fragment &fragment = item.prepared->fragment;
  const AwaitedInFragment &awaited = item.prepared->awaited;
  struct Events {
    Frame &frame;
    Event *commands[GPUASYNC_FRAGMENT_COMMANDS] = {};
    Event *lanes[GPUASYNC_FRAGMENT_COMMANDS] = {};
    ~Events() {
      for (Event *each : commands)
        if (each)
          frame.first.context->events.give(frame.first.slot, each);
      for (Event *each : lanes)
        if (each)
          frame.first.context->events.give(frame.first.slot, each);
    }
  } events{*frame};
  auto streamOf = [&](uint32_t lane) -> Stream *& {
    return streams[calls.lanes[item.lanes + lane]];
  };
  for (uint32_t i = 0; i < fragment.laneCount; ++i)
    if ((awaited.lanes >> i & 1) && streamOf(i))
      RETURN_IF_ERROR(recordNew(*frame, *streamOf(i), events.lanes[i]));
  size_t call = item.firstCall;
  const size_t end = calls.endOf(item);
  for (uint32_t i = 0; i < fragment.commandCount; ++i) {
    const gpuasync_command &command = fragment.commands[i];
    Stream *&stream = streamOf(command.lane);
    if (!stream)
      RETURN_IF_ERROR(takeOwn(calls.lanes[item.lanes + command.lane], stream));
    Status status;
    auto waitFor = [&](Event *event) {
      if (!event || !status.ok())
        return;
      stream->note(nullptr);
      status =
          frame->first.device->streamWaitEvent(stream->native, event->native);
    };
    forEachWait(
        fragment, command,
        [&](uint32_t index) { waitFor(events.commands[index]); },
        [&](uint32_t lane) { waitFor(events.lanes[lane]); });
    for (; status.ok() && call < end && calls.calls[call].command == i; ++call)
      status = playWork(calls, calls.calls[call], *stream);
    if (status.ok() && (awaited.commands >> i & 1))
      status = recordNew(*frame, *stream, events.commands[i]);
    if (!status.ok())
      return locate(frame->first.context->noteFault(std::move(status)),
                    frame->siteAt(command.site));
  }
  return Status();
}

Status Recorder::playItems(Recording &calls, std::vector<Event *> &native) {
  for (const Item &item : calls.items) {
    if (item.prepared) {
      RETURN_IF_ERROR(playFragment(calls, item));
      continue;
    }
    Stream &stream = *streams[item.stream];
    Event *&event = native[item.event];
    if (item.isWait) {
      stream.note(nullptr);
      RETURN_IF_ERROR(
          frame->first.device->streamWaitEvent(stream.native, event->native));
    } else if (event) {
      RETURN_IF_ERROR(
          frame->first.device->recordEvent(event->native, stream.native));
    } else {
      RETURN_IF_ERROR(
          frame->first.context->events.take(frame->first.slot, event));
      event->regionNumber = UINT32_MAX; // ours
      RETURN_IF_ERROR(
          frame->first.device->recordEvent(event->native, stream.native));
    }
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
      if (stream)
        RETURN_IF_ERROR(frame->follow(*stream));
    return playItems(calls, native);
  });
  for (Event *event : native)
    if (event && event->regionNumber == UINT32_MAX)
      frame->first.context->events.give(frame->first.slot, event);
  frame->first.slot->counters.regionsOnStreams.add(1);
  return status;
}

/// What is recorded is an executable's own no more.
void Recorder::takeBack() {
  recording.assign(predicted->recording, predicted->recording.items.size(),
                   predicted->recording.calls.size());
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
  StagingPool &pool = stagingOf(*frame->first.context);
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
  if (predicted && matchedItems < predicted->recording.items.size())
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
  frame->timedPass.spoiled = frame->timedPass.building = true;
  if (Status status = guard(
          [&] { return regions->make(key, recording, shape, on, *frame); });
      !status.ok()) {
    regions->refuse(key, shape,
                    /*forNow=*/status.code() != GPUASYNC_UNSUPPORTED);
    if (status.code() == GPUASYNC_DEVICE_LOST)
      return frame->first.context->noteFault(std::move(status));
  }
  return Status();
}

Status Recorder::finish() {
  Status status;
  if (itemCount()) {
    playing = true;
    status = frame->first.context->noteFault(guard([&] { return playPart(); }));
    playing = false;
  }
  drop();
  return status;
}

const char *Recorder::end(const gpuasync_site *site) {
  if (frame->failed)
    drop();
  else
    frame->run(site, [&] { return finish(); });
  const char *mode = nameOf(played);
  regions->leave(*frame);
  return mode;
}

Status Recorder::flush() {
  // A library's function that is called now may enter frames of its own.
  if (!itemCount() || playing)
    return Status();
  Status status = finish();
  key.part = std::min(key.part + 1, maxParts);
  predicted = regions->take(key);
  return status;
}

void Recorder::drop() {
  if (predicted && isOpen)
    abandonItem();
  isOpen = false;
  if (predicted)
    regions->give(key, std::move(predicted));
  recording.dropStaging(frame->first.context->memory);
  writesLater.clear();
  stagedBytes = written = 0;
  for (Stream *stream : streams)
    if (stream)
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
  matchedItems = matched = 0;
}
