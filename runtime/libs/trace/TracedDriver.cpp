//===- TracedDriver.cpp - A driver whose work is noted --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See TracedDriver.h.
//===----------------------------------------------------------------------===//

#include "libs/trace/TracedDriver.h"

#include "shim/command/Strided.h"

#include <algorithm>

using namespace gpuasync;

/// So much work on a device may be without its times; what comes then is left
/// out of the trace.
static constexpr uint64_t mostOpen = 65536;
/// Where nobody waits, known times are read every so many pieces of work.
static constexpr uint64_t harvestEvery = 256;
/// And so many of a stream at once.
static constexpr size_t harvestAtOnce = 256;
/// A piece of work is behind so many others at most; arrows to more are left
/// out.
static constexpr size_t mostSources = 64;
/// A kernel that has told the host of its end has little left to do.
static constexpr int64_t endWaitNs = 1000000000;

namespace {

/// What the trace asks of the driver is not the program's, and not counted.
class Uncounted {
public:
  Uncounted() : count(*traceHost->driverCallCount()), before(count) {}
  Uncounted(const Uncounted &) = delete;
  ~Uncounted() { count = before; }

private:
  uint64_t &count;
  const uint64_t before;
};

/// One call of the driver, as the host saw it.
class HostCall {
public:
  HostCall(Trace &trace, const char *name, const gpuasync_site *site = nullptr)
      : trace(trace), name(name), site(site) {
    if (trace.hasListener(ListenTrace | ListenRanges))
      trace.beginSpan(span, HostKind::Driver, name, Place(site));
  }
  HostCall(const HostCall &) = delete;
  ~HostCall() {
    if (span.from)
      trace.endSpan(span, HostKind::Driver, name, Place(site), "");
  }

private:
  Trace &trace;
  const char *const name;
  const gpuasync_site *const site;
  HostSpan span;
};

} // namespace

Extensions TracedDriver::extensionsOf(Device &inner) {
  Extensions all = inner.extensions;
  if (all.graphs)
    all.graphs = this;
  if (all.foreign)
    all.foreign = this;
  if (all.gates)
    all.gates = this;
  all.observer = this;
  return all;
}

TracedDriver::~TracedDriver() {
  // A kernel that never ends keeps its time, as it keeps its memory.
  std::lock_guard<std::mutex> lock(trace.mutex);
  for (SpanRef &span : late)
    if (!span->timing.known.load())
      trace.abandoned.push_back(std::move(span));
}

//===----------------------------------------------------------------------===//
// Notes
//===----------------------------------------------------------------------===//

void TracedDriver::startSession() {
  if (session == trace.session)
    return;
  session = trace.session;
  trackCount = 0;
  freeTracks.clear();
  events.clear();
  // What is still open is of the last session.
  for (auto &[stream, track] : tracks)
    for (SpanRef &span : track.open)
      giveUp(span);
  tracks.clear();
  openCount = 0;
}

void TracedDriver::nameOnce(uint32_t track) {
  if (!trace.recording)
    return;
  if (namedIn.size() <= track)
    namedIn.resize(track + 1);
  if (namedIn[track] == trace.recording)
    return;
  namedIn[track] = trace.recording;
  if (!track) {
    const int64_t rank = inner.rank.load(std::memory_order_relaxed);
    const std::string name =
        rank < 0 ? device : device + ", rank " + std::to_string(rank);
    return trace.nameProcess(process, name.c_str());
  }
  std::string name = "stream " + std::to_string(track);
  trace.nameTrack(process, track, name.c_str());
}

TracedDriver::Track &TracedDriver::trackOf(NativeStream stream) {
  startSession();
  auto [found, isNew] = tracks.try_emplace(stream);
  Track &track = found->second;
  if (isNew && freeTracks.empty()) {
    track.number = ++trackCount;
  } else if (isNew) {
    track.number = freeTracks.back();
    freeTracks.pop_back();
  }
  nameOnce(0);
  nameOnce(track.number);
  return track;
}

void TracedDriver::add(Track &track, const SpanRef &span) {
  span->process = process;
  span->track = track.number;
  for (SpanRef &source : track.waits)
    if (source->process != process || source->track != track.number)
      span->after.push_back(std::move(source));
  track.waits.clear();
  track.last = span;
  trace.open += span->recording && span->recording == trace.recording;
}

TracedDriver::SpanRef TracedDriver::begin(NativeStream stream,
                                          const Work &work) noexcept {
  Uncounted uncounted;
  SpanRef span;
  if (!inner.extensions.clock)
    return span; // a device without times is not in the trace
  (void)guard([&]() -> Status {
    // What is captured runs when its graph does.
    CaptureState state;
    if (isVendors)
      RETURN_IF_ERROR(captureStateOf(inner, stream, state));
    if (state.kind != CaptureState::None)
      return Status();
    {
      std::lock_guard<std::mutex> lock(trace.mutex);
      startSession();
      if (openCount >= mostOpen) {
        trace.file.drop();
        return Status();
      }
      nameOnce(0);
      span = trace.makeSpan(work);
    }
    Status status = inner.extensions.clock->beginTiming(stream, span->timing);
    if (!status.ok())
      span = nullptr;
    return status;
  });
  return span;
}

void TracedDriver::end(NativeStream stream, const SpanRef &span,
                       const Status &status) noexcept {
  if (!span)
    return;
  Uncounted uncounted;
  Status ended = guard(
      [&] { return inner.extensions.clock->endTiming(stream, span->timing); });
  bool kept = false, many = false;
  {
    std::lock_guard<std::mutex> lock(trace.mutex);
    (void)guard([&] {
      // Once the trace has ended, nobody would read it or give it up.
      if (!trace.tracing() || span->session != trace.session || !status.ok() ||
          !ended.ok())
        return Status();
      Track &track = trackOf(stream);
      track.open.push_back(span);
      kept = true;
      many = ++openCount % harvestEvery == 0;
      add(track, span);
      return Status();
    });
    if (!kept)
      giveUp(span);
  }
  if (many)
    harvest();
}

void TracedDriver::noteHostCopy(NativeStream stream, uint64_t bytes,
                                const gpuasync_site *site,
                                int64_t from) noexcept {
  (void)guard([&] {
    const int64_t to = nowNs();
    Work work;
    work.name = "copy";
    work.site = site;
    work.bytes = bytes;
    SpanRef span;
    {
      std::lock_guard<std::mutex> lock(trace.mutex);
      span = trace.makeSpan(work);
      span->timing.begin = from;
      span->timing.end = to;
      span->timing.known.store(true);
      add(trackOf(stream), span);
      trace.settle(span);
    }
    trace.tell(*span, device.c_str());
    return Status();
  });
}

void TracedDriver::giveUp(const SpanRef &span) noexcept {
  span->state = Span::State::Lost;
  span->after.clear();
  inner.extensions.clock->dropTiming(span->timing);
  // The cpu device writes it when it comes to the operation.
  if (isVendors || span->timing.known.load())
    return;
  (void)guard([&] {
    late.push_back(span);
    return Status();
  });
}

void TracedDriver::harvest() noexcept {
  std::unique_lock<std::mutex> only(harvesting, std::try_to_lock);
  if (only)
    harvestAll();
}

void TracedDriver::awaitTold() noexcept {
  Uncounted uncounted;
  std::vector<SpanRef> told;
  (void)guard([&] {
    std::lock_guard<std::mutex> lock(trace.mutex);
    for (auto &[stream, track] : tracks)
      // A stream's work ends in order.
      for (auto span = track.open.rbegin(); span != track.open.rend(); ++span)
        if ((*span)->told.isSet() && (*span)->told.isTold()) {
          told.push_back(*span);
          break;
        }
    return Status();
  });
  for (const SpanRef &span : told) {
    bool done = false;
    if (span->timing.to)
      (void)inner.waitEvent(span->timing.to, endWaitNs, done);
  }
}

void TracedDriver::harvestAll() noexcept {
  Uncounted uncounted;
  const int64_t from = nowNs();
  bool any = false, more = true;
  while (more) {
    more = false;
    (void)guard([&] {
      more = harvestSome(any);
      return Status();
    });
  }
  // Not the program's time, so that a reader can tell.
  if (any && isVendors)
    trace.own("read times", from, nowNs());
}

bool TracedDriver::harvestSome(bool &any) {
  std::vector<std::pair<NativeStream, std::vector<SpanRef>>> open;
  {
    std::lock_guard<std::mutex> lock(trace.mutex);
    if (session != trace.session)
      return false;
    for (auto &[stream, track] : tracks)
      if (size_t count = std::min(track.open.size(), harvestAtOnce)) {
        auto first = track.open.begin();
        open.push_back({stream, {first, first + ptrdiff_t(count)}});
      }
  }
  bool more = false;
  // A stream's work ends in order.
  for (auto &[stream, spans] : open) {
    size_t count = 0;
    for (; count < spans.size(); ++count) {
      DeviceTiming &timing = spans[count]->timing;
      if (!timing.known.load(std::memory_order_acquire) &&
          (!inner.extensions.clock->readTiming(timing).ok() ||
           !timing.known.load()))
        break;
      inner.extensions.clock->dropTiming(timing);
    }
    more |= count == harvestAtOnce;
    spans.resize(count);
  }
  DeviceClock *clock = inner.extensions.clock;
  const int64_t error = clock ? clock->timingError() : 0;
  std::vector<SpanRef> settled;
  std::unique_lock<std::mutex> lock(trace.mutex);
  if (session != trace.session)
    return false;
  trace.clockError = std::max(trace.clockError, error);
  for (auto &[stream, spans] : open) {
    auto found = tracks.find(stream);
    for (SpanRef &span : spans) {
      if (found == tracks.end() || found->second.open.empty() ||
          found->second.open.front() != span)
        break;
      found->second.open.pop_front();
      --openCount;
      any = true;
      trace.settle(span);
      if (span->record)
        settled.push_back(span);
    }
  }
  trace.writeArrows();
  lock.unlock();
  for (SpanRef &span : settled)
    trace.tell(*span, device.c_str());
  return more;
}

void TracedDriver::readTimes(bool lost) noexcept {
  std::lock_guard<std::mutex> only(harvesting);
  if (lost)
    return;
  awaitTold();
  harvestAll();
}

void TracedDriver::finish() noexcept {
  std::lock_guard<std::mutex> only(harvesting);
  std::lock_guard<std::mutex> lock(trace.mutex);
  for (auto &[stream, track] : tracks)
    for (SpanRef &span : track.open)
      giveUp(span);
  late.erase(
      std::remove_if(late.begin(), late.end(),
                     [](SpanRef &span) { return span->timing.known.load(); }),
      late.end());
  tracks.clear();
  events.clear();
  graphs.clear();
  freeTracks.clear();
  openCount = 0;
  session = 0;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

template <typename Start>
Status TracedDriver::put(NativeStream stream, const char *name,
                         const Work &work, Start start) {
  if (!trace.tracing())
    return start();
  SpanRef span = begin(stream, work);
  Status status;
  char text[128];
  if (work.kind == WorkKind::Kernel) {
    snprintf(text, sizeof(text), "%s %s", name, work.name);
    name = text;
  }
  {
    HostCall call(trace, name, work.site);
    if (span)
      span->cause = lastRecordOfThread();
    status = guard(start);
  }
  if (span && work.completion && work.completion->word)
    span->told =
        Timepoint::ofWord(work.completion->word, work.completion->value);
  end(stream, span, status);
  return status;
}

/// Where the driver can say on which side memory is, the direction.
const char *TracedDriver::copyName(const void *destination,
                                   const void *source) {
  if (!isVendors || !trace.tracing())
    return "copy";
  Uncounted uncounted;
  auto onHost = [&](const void *pointer) {
    PointerKind kind = inner.pointerKind(pointer);
    return kind == PointerKind::Pageable || kind == PointerKind::Registered;
  };
  const bool from = onHost(source), to = onHost(destination);
  return from == to ? "copy" : from ? "upload" : "download";
}

static uint64_t movedBytes(const Command &command) {
  switch (command.kind) {
  case Command::Kind::CopyBytes:
    return command.bytes.bytes;
  case Command::Kind::Copy:
    return bytesOf(*command.copy);
  case Command::Kind::Fill:
    return bytesOf(*command.fill);
  default:
    return 0;
  }
}

static Work launchOf(const Command::Launch &launch, const gpuasync_site *site) {
  Work work;
  work.kind = WorkKind::Kernel;
  work.name = launch.kernel->name;
  work.site = site;
  work.block = launch.block;
  work.launches = 1;
  return work;
}

Work TracedDriver::workOf(const Command &command) {
  if (command.kind == Command::Kind::Launch) {
    Work work = launchOf(command.launch, command.site);
    work.completion = command.completion;
    return work;
  }
  Work work;
  work.site = command.site;
  work.bytes = movedBytes(command);
  if (isCopy(command)) {
    work.name = copyName(destinationOf(command), sourceOf(command));
  } else if (command.kind == Command::Kind::Fill) {
    work.kind = WorkKind::Fill;
    work.name = "fill";
  } else {
    work.kind = WorkKind::Call;
    work.name = "call";
  }
  return work;
}

Status TracedDriver::submit(NativeStream stream, const Command &command) {
  auto start = [&] { return inner.submit(stream, command); };
  // The runtime's own calls are a part of its copies.
  if (!trace.tracing() || command.kind == Command::Kind::Call)
    return start();
  const Work work = workOf(command);
  const char *name = work.kind == WorkKind::Kernel ? "launch"
                     : work.kind == WorkKind::Copy ? "copy"
                     : work.kind == WorkKind::Fill ? "fill"
                                                   : "host function";
  return put(stream, name, work, start);
}

Status TracedDriver::launchPointers(NativeStream stream,
                                    const Command::Launch &launch,
                                    void **parameters,
                                    const gpuasync_site *site) {
  return put(stream, "launch", launchOf(launch, site), [&] {
    return objects->launchPointers(stream, launch, parameters, site);
  });
}

Status TracedDriver::makeGraph(const GraphNode *nodes, uint32_t count,
                               bool anyUpdate, NativeGraph &out) {
  HostCall call(trace, "make graph", nodes[0].command.site);
  RETURN_IF_ERROR(
      inner.extensions.graphs->makeGraph(nodes, count, anyUpdate, out));
  // Without memory it is launched as one of which nothing is known.
  (void)guard([&] {
    Graph graph;
    for (uint32_t i = 0; i < count; ++i) {
      const Command &command = nodes[i].command;
      graph.nodes.push_back({command.kind, command.empty,
                             command.empty ? 0 : movedBytes(command)});
      if (!graph.site)
        graph.site = command.site;
    }
    std::lock_guard<std::mutex> lock(trace.mutex);
    graph.session = trace.session;
    graphs[out] = std::move(graph);
    return Status();
  });
  return Status();
}

TracedDriver::Graph *TracedDriver::find(NativeGraph graph) {
  auto found = graphs.find(graph);
  return found != graphs.end() && found->second.session == trace.session
             ? &found->second
             : nullptr;
}

Status TracedDriver::updateGraph(NativeGraph graph, const uint32_t *indices,
                                 const GraphNode *nodes, uint32_t count,
                                 uint32_t &failed) {
  HostCall call(trace, "update graph", count ? nodes[0].command.site : nullptr);
  RETURN_IF_ERROR(inner.extensions.graphs->updateGraph(graph, indices, nodes,
                                                       count, failed));
  std::lock_guard<std::mutex> lock(trace.mutex);
  if (Graph *known = find(graph))
    for (uint32_t i = 0; i < count; ++i) {
      const Command &command = nodes[i].command;
      known->nodes[indices[i]] = {command.kind, command.empty,
                                  command.empty ? 0 : movedBytes(command)};
    }
  return Status();
}

Status TracedDriver::launchGraph(NativeGraph graph, NativeStream stream,
                                 Completion *completion) {
  auto start = [&] {
    return inner.extensions.graphs->launchGraph(graph, stream, completion);
  };
  if (!trace.tracing())
    return start();
  Work work;
  work.completion = completion;
  work.kind = WorkKind::Graph;
  work.name = "graph";
  {
    std::lock_guard<std::mutex> lock(trace.mutex);
    if (const Graph *known = find(graph)) {
      work.site = known->site;
      for (const Node &node : known->nodes) {
        work.bytes += node.bytes;
        if (node.empty)
          continue;
        work.launches += node.kind == Command::Kind::Launch;
        work.copies += node.kind == Command::Kind::CopyBytes ||
                       node.kind == Command::Kind::Copy;
        work.fills += node.kind == Command::Kind::Fill;
      }
    }
  }
  return put(stream, "launch graph", work, start);
}

void TracedDriver::destroyGraph(NativeGraph graph) noexcept {
  {
    std::lock_guard<std::mutex> lock(trace.mutex);
    graphs.erase(graph);
  }
  inner.extensions.graphs->destroyGraph(graph);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

Status TracedDriver::recordEvent(NativeEvent event, NativeStream stream) {
  RETURN_IF_ERROR(inner.recordEvent(event, stream));
  if (trace.tracing())
    (void)guard([&] {
      std::lock_guard<std::mutex> lock(trace.mutex);
      const Track &track = trackOf(stream);
      Sources sources = track.waits;
      if (track.last)
        sources.push_back(track.last);
      events[event] = std::move(sources);
      return Status();
    });
  return Status();
}

Status TracedDriver::streamWaitEvent(NativeStream stream, NativeEvent event) {
  RETURN_IF_ERROR(inner.streamWaitEvent(stream, event));
  if (trace.tracing())
    (void)guard([&] {
      std::lock_guard<std::mutex> lock(trace.mutex);
      Track &track = trackOf(stream);
      auto found = events.find(event);
      if (found == events.end())
        return Status();
      for (const SpanRef &source : found->second)
        if (track.waits.size() < mostSources &&
            std::find(track.waits.begin(), track.waits.end(), source) ==
                track.waits.end())
          track.waits.push_back(source);
      return Status();
    });
  return Status();
}

void TracedDriver::destroyEvent(NativeEvent event) noexcept {
  {
    std::lock_guard<std::mutex> lock(trace.mutex);
    events.erase(event);
  }
  inner.destroyEvent(event);
}

void TracedDriver::destroyStream(NativeStream stream) noexcept {
  // No work is pending, so its times are known, or will be at once.
  harvest();
  {
    std::lock_guard<std::mutex> lock(trace.mutex);
    auto found = tracks.find(stream);
    if (found != tracks.end() && found->second.open.empty()) {
      (void)guard([&] {
        freeTracks.push_back(found->second.number);
        return Status();
      });
      tracks.erase(found);
    }
  }
  inner.destroyStream(stream);
}

//===----------------------------------------------------------------------===//
// The rest
//===----------------------------------------------------------------------===//

void TracedDriver::restore(SavedContext &saved) noexcept {
  // The end of a frame, whose work has mostly ended too.
  if (trace.tracing() && (!isVendors || saved.vendor))
    harvest();
  inner.restore(saved);
}

uint64_t TracedDriver::close(bool lost) noexcept {
  readTimes(lost);
  finish();
  return inner.close(lost);
}

Status TracedDriver::loadModule(const gpuasync_module &module,
                                const gpuasync_image &image, NativeModule &out,
                                NativeFunction *functions) {
  HostCall call(trace, "load module");
  return inner.loadModule(module, image, out, functions);
}
Status TracedDriver::adoptModule(const gpuasync_module &module,
                                 const gpuasync_image &image, void *foreign,
                                 NativeModule &out, NativeFunction *functions) {
  HostCall call(trace, "load module");
  return objects->adoptModule(module, image, foreign, out, functions);
}
void TracedDriver::unloadModule(NativeModule module) noexcept {
  HostCall call(trace, "unload module");
  inner.unloadModule(module);
}
/// The call of a library.
static Work callOf(const gpuasync_site *site) {
  Work work;
  work.kind = WorkKind::Call;
  work.name = "call";
  work.site = site;
  if (site && strstr(gpuasync_site_op(site), "gpu_async.collective"))
    work.name = "collective";
  return work;
}

Status TracedDriver::closeGate(NativeStream stream,
                               const Command::HostCall &call,
                               const gpuasync_site *site, StreamGate *&out) {
  return put(stream, "host function", callOf(site), [&] {
    return inner.extensions.gates->closeGate(stream, call, site, out);
  });
}
void TracedDriver::beginLibrary(NativeStream stream,
                                const gpuasync_site *site) noexcept {
  // On the cpu device it enqueues by callHost.
  if (!isVendors || !trace.tracing())
    return;
  SpanRef span = begin(stream, callOf(site));
  if (span)
    span->cause = lastRecordOfThread(); // the call's
  std::lock_guard<std::mutex> lock(trace.mutex);
  (void)guard([&] {
    libraries[stream] = span;
    return Status();
  });
}
void TracedDriver::endLibrary(NativeStream stream) noexcept {
  if (!isVendors)
    return;
  SpanRef span;
  {
    std::lock_guard<std::mutex> lock(trace.mutex);
    auto found = libraries.find(stream);
    if (found == libraries.end())
      return;
    span = std::move(found->second);
    libraries.erase(found);
  }
  end(stream, span, Status());
}
Status TracedDriver::allocMemory(MemoryKind kind, uint64_t bytes, void *&out) {
  HostCall call(trace, "allocate");
  return inner.allocMemory(kind, bytes, out);
}
void TracedDriver::freeMemory(MemoryKind kind, void *pointer) noexcept {
  HostCall call(trace, "free");
  inner.freeMemory(kind, pointer);
}
Status TracedDriver::registerHost(void *pointer, uint64_t bytes, bool &owned) {
  HostCall call(trace, "register host memory");
  return inner.registerHost(pointer, bytes, owned);
}
void TracedDriver::unregisterHost(void *pointer) noexcept {
  HostCall call(trace, "unregister host memory");
  inner.unregisterHost(pointer);
}
