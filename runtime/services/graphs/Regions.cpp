//===- Regions.cpp - Regions of a program in one context ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Regions.h.
//===----------------------------------------------------------------------===//

#include "services/graphs/Regions.h"
#include "services/graphs/Recorder.h"
#include "shim/base/Clock.h"
#include "shim/context/ContextImpl.h"

#include <algorithm>
#include <utility>

using namespace gpuasync;

Regions::Regions(Instance &instance) : instance(instance) {
  recorders.reserve(maxExecutables);
}

std::atomic<int64_t (*)()> gpuasync::regionClock{nowNs};

/// Regions of the frame's instance, made on first use.
static Regions &regionsOf(Instance &instance) {
  if (Regions *regions = Regions::of(instance);
      __builtin_expect(regions != nullptr, 1))
    return *regions;
  auto made = std::make_unique<Regions>(instance);
  ServicePart *known = nullptr;
  if (instance.regions.compare_exchange_strong(known, made.get(),
                                               std::memory_order_acq_rel))
    return *made.release();
  return *Regions::of(instance);
}

static Status begin(Frame &frame, const gpuasync_site *site) {
  const Play play = process().play.load(std::memory_order_relaxed);
  if (play == Play::Streams || frame.capture || frame.more ||
      process().syncLaunches ||
      (play != Play::Stream && !frame.first.context->has(CapGraphs)))
    return Status();
  if (!site)
    return makeStatus(GPUASYNC_INVALID_ARGUMENT, "a region without a site");
  regionsOf(*frame.first.instance).enter(frame, site);
  return Status();
}

BeginRegion *const gpuasync::beginRegion = begin;

void Regions::enter(Frame &frame, const gpuasync_site *site) {
  const Play play = process().play.load(std::memory_order_relaxed);
  ExecutionMode way =
      play == Play::Stream ? ExecutionMode::Stream : ExecutionMode::Graph;
  bool isTimed = false;
  std::unique_ptr<Recorder> recorder;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (play == Play::Auto) {
      ModeTuner &tuner = regions[{site, 0}].tuner;
      way = tuner.next(/*mayTime=*/!frame.timedPass.end, isTimed);
      if (isTimed) { // the choice is told of it whatever comes
        frame.timedPass.end = [](Frame &its, bool waited) {
          regionsOf(*its.first.instance).endTimed(its, waited);
        };
        frame.timedPass.tuner = &tuner;
        frame.timedPass.mode = static_cast<uint8_t>(way);
      }
    }
    if (way != ExecutionMode::Streams) {
      if (recorders.empty()) {
        recorder = std::make_unique<Recorder>();
      } else {
        recorder = std::move(recorders.back());
        recorders.pop_back();
      }
      recorder->frame = &frame;
      recorder->regions = this;
      recorder->key = {site, 0};
      recorder->way = way;
      recorder->predicted = takeLast(recorder->key);
    }
  }
  frame.region = recorder.release();
  if (isTimed)
    frame.timedPass.from = regionClock.load()();
}

void Regions::leave(Frame &frame) {
  std::unique_ptr<Recorder> recorder(static_cast<Recorder *>(frame.region));
  frame.region = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (recorders.size() < recorders.capacity())
    recorders.push_back(std::move(recorder));
}

void Regions::endTimed(Frame &frame, bool waited) {
  const Frame::TimedPass timed =
      std::exchange(frame.timedPass, Frame::TimedPass());
  auto &tuner = *static_cast<ModeTuner *>(timed.tuner);
  const int64_t ns = regionClock.load()() - timed.from;
  std::lock_guard<std::mutex> lock(mutex);
  if (waited && !timed.spoiled)
    tuner.took(static_cast<ExecutionMode>(timed.mode),
               ns > 0 ? static_cast<uint64_t>(ns) : 1);
  else
    tuner.lost(timed.building);
}

std::unique_ptr<Executable> Regions::takeLast(const Key &key) {
  auto found = regions.find(key);
  if (found == regions.end() || found->second.idle.empty())
    return nullptr;
  auto &idle = found->second.idle;
  size_t at = idle.size() - 1;
  while (at && !idle[at]->isDone())
    --at;
  std::unique_ptr<Executable> taken = std::move(idle[at]);
  idle.erase(idle.begin() + static_cast<ptrdiff_t>(at));
  return taken;
}

std::unique_ptr<Executable> Regions::take(const Key &key) {
  std::lock_guard<std::mutex> lock(mutex);
  return takeLast(key);
}

std::unique_ptr<Executable> Regions::take(const Key &key,
                                          const Recording &recording,
                                          uint64_t shape,
                                          const gpuasync_stream *on) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = regions.find(key);
  if (found == regions.end())
    return nullptr;
  auto &idle = found->second.idle;
  for (size_t i = idle.size(); i-- > 0;) {
    if (idle[i]->shape != shape || !idle[i]->isFreeFor(on) ||
        !idle[i]->recording.hasShapeOf(recording, idle[i]->exactCalls))
      continue;
    std::unique_ptr<Executable> taken = std::move(idle[i]);
    idle.erase(idle.begin() + static_cast<ptrdiff_t>(i));
    return taken;
  }
  return nullptr;
}

uint64_t Regions::shapeOf(const Key &key, const Recording &recording) {
  bool exactCalls = false;
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = regions.find(key);
    exactCalls = found != regions.end() && found->second.exactCalls;
  }
  return recording.hashShape(exactCalls);
}

void Regions::give(const Key &key, std::unique_ptr<Executable> executable) {
  std::lock_guard<std::mutex> lock(mutex);
  giveBack(key, std::move(executable));
}

/// `make` has made room.
void Regions::giveBack(const Key &key, std::unique_ptr<Executable> executable) {
  regions.find(key)->second.idle.push_back(std::move(executable));
}

bool Regions::wantsGraph(const Key &key, uint64_t shape) {
  const int32_t times =
      process().play.load(std::memory_order_relaxed) == Play::Graph ? 1 : 2;
  std::lock_guard<std::mutex> lock(mutex);
  Region &region = regions[key];
  Region::Seen *found = region.find(shape);
  if (!found) {
    if (region.seen.size() >= maxExecutables)
      region.seen.erase(region.seen.begin());
    region.seen.push_back({shape});
    found = &region.seen.back();
  }
  if (found->refused || ++found->times < times)
    return false;
  --found->times; // stays one below until there is a graph
  return retired.size() < maxRetired;
}

Regions::Region::Seen *Regions::Region::find(uint64_t shape) {
  auto found = std::find_if(seen.begin(), seen.end(), [&](const Seen &each) {
    return each.shape == shape;
  });
  return found == seen.end() ? nullptr : &*found;
}

void Regions::refuse(const Key &key, uint64_t shape, bool forNow) {
  std::lock_guard<std::mutex> lock(mutex);
  Region::Seen *seen = regions[key].find(shape);
  if (!seen)
    return;
  seen->refused = !forNow;
  seen->times = -passesToRetry;
}

void Regions::retire(const Key &key, std::unique_ptr<Executable> executable,
                     uint32_t failed, bool forNow) {
  std::lock_guard<std::mutex> lock(mutex);
  Region &region = regions.find(key)->second;
  --region.made;
  const bool isCalls =
      executable->recording.calls[failed].kind == Command::Kind::Captured;
  region.exactCalls |= isCalls && !forNow;
  Region::Seen *seen = isCalls ? nullptr : region.find(executable->shape);
  if (seen) {
    seen->refused = executable->takesAnyUpdate; // and yet not this one
    seen->anyUpdate = true;
  }
  retired.push_back(std::move(executable));
  instance.context->retiredCount.fetch_add(1, std::memory_order_relaxed);
}

void Regions::takeRetired(Gone &gone) {
  std::lock_guard<std::mutex> lock(mutex);
  gone.reserve(gone.size() + retired.size());
  std::move(retired.begin(), retired.end(), std::back_inserter(gone));
  retired.clear();
}

void Regions::retireAll() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, region] : regions) {
    retired.reserve(retired.size() + region.idle.size());
    std::move(region.idle.begin(), region.idle.end(),
              std::back_inserter(retired));
    region.idle.clear();
    region.made = 0;
    region.seen.clear();
  }
}

void Regions::noteIdle() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[key, region] : regions)
    for (std::unique_ptr<Executable> &each : region.idle)
      each->last = Timepoint();
}

void Regions::keepTunings() {
  gpuasync_context &context = *instance.context;
  std::vector<PastTuning> kept;
  forEachTuner([&](const gpuasync_site &site, ModeTuner &tuner) {
    kept.push_back({gpuasync_site_file(&site), site.line, site.column, tuner});
    tuner = ModeTuner();
  });
  std::lock_guard<std::mutex> lock(context.choicesMutex);
  if (!context.pastTunings)
    context.pastTunings = std::make_shared<std::vector<PastTuning>>();
  std::vector<PastTuning> &past = *pastTunings(context);
  for (PastTuning &each : kept)
    if (past.size() < maxPastTunings)
      past.push_back(std::move(each));
}

std::vector<PastTuning> *gpuasync::pastTunings(gpuasync_context &context) {
  return static_cast<std::vector<PastTuning> *>(context.pastTunings.get());
}

bool Executable::isFreeFor(const gpuasync_stream *on) const {
  return (on && last.timeline == &on->timeline) || isDone();
}

void Executable::takeArguments(const Recording &other) {
  for (Item &item : recording.items) {
    for (size_t i = item.firstCall; i < recording.endOf(item); ++i) {
      Call &call = recording.calls[i];
      unsigned char *mine = recording.argumentsOf(call);
      const unsigned char *theirs = other.argumentsOf(other.calls[i]);
      if (!item.stale && memcmp(mine, theirs, call.bytes) == 0)
        continue;
      memcpy(mine, theirs, call.bytes);
      call.empty = other.calls[i].empty;
      markDirty(i);
    }
    item.stale = false;
  }
  // Between them are those of copies that were carried out otherwise.
  for (size_t i = 0; i < recording.items.size(); ++i)
    if (const PreparedFragment *prepared = recording.items[i].prepared)
      memcpy(recording.at(recording.items[i].block),
             other.at(other.items[i].block), prepared->fragment.argumentBytes);
}

void gpuasync::destroyGraphs(gpuasync_context &context, Regions::Gone &gone) {
  if (gone.empty())
    return;
  ThreadContext *slot = threadState().slotFor(&context);
  for (std::unique_ptr<Executable> &each : gone) {
    context.driver->extensions.graphs->destroyGraph(each->graph);
    each->recording.dropStaging(context.memory);
    context.physicalGraphs.fetch_sub(1, std::memory_order_relaxed);
    slot->counters.graphs.destroy();
  }
  gone.clear();
}

namespace {

/// A library call of a frame's.
class CapturedCall final : public CapturedWork {
public:
  CapturedCall() = default;
  CapturedCall(Frame &frame, const Recording &recording, const Call &call)
      : frame(&frame), library(recording.libraryOf(call)), site(call.site) {}
  Status enqueue(NativeStream stream) override {
    return captureLibrary(*frame, stream, library, site);
  }

private:
  Frame *frame = nullptr;
  LibraryCall library = {};
  const gpuasync_site *site = nullptr;
};

/// What a node points to and that lies nowhere else.
struct NodeParts {
  gpuasync_launch_config block;
  CapturedCall call;
};

} // namespace

/// Makes the command of a node; what it points to lies in the recording and in
/// `parts`.
static Status makeCommand(Frame &frame, const Recording &recording,
                          const Call &call, NodeParts &parts, Command &out) {
  if (call.kind == Command::Kind::Launch) {
    parts.block = recording.blockOf(call);
    out = Command(call.kind, call.site);
    out.launch.block = &parts.block;
    out.empty = call.empty;
    return frame.first.instance->findKernel(call.site, out.launch.kernel,
                                            out.launch.function);
  }
  if (call.kind == Command::Kind::Captured) {
    parts.call = CapturedCall(frame, recording, call);
    out = Command(call.kind, call.site);
    out.work = &parts.call;
  } else {
    out = recording.commandOf(call);
  }
  return Status();
}

/// What could not be captured the statistics tell.
static Status noteCapture(Frame &frame, Status status) {
  if (status.code() != GPUASYNC_UNAVAILABLE)
    return status;
  frame.first.slot->counters.failedCaptures.add(1);
  std::lock_guard<std::mutex> lock(frame.first.context->choicesMutex);
  (void)guard([&] {
    frame.first.context->failedCapture = status.message();
    return Status();
  });
  return status;
}

Status Regions::make(const Key &key, Recording &recording, uint64_t shape,
                     gpuasync_stream *on, Frame &frame) {
  auto made = std::make_unique<Executable>();
  const std::vector<Call> &calls = recording.calls;
  const std::vector<std::vector<uint32_t>> edges = edgesOf(recording);
  std::vector<GraphNode> nodes;
  std::vector<NodeParts> parts(calls.size());
  nodes.reserve(calls.size());
  made->dirty.reserve(calls.size());
  // Staging for calls of which it was passed on.
  for (uint32_t each : recording.staged)
    RETURN_IF_ERROR(
        recording.takeStaging(recording.calls[each], instance.context->memory));
  for (size_t i = 0; i < calls.size(); ++i) {
    GraphNode node;
    RETURN_IF_ERROR(
        makeCommand(frame, recording, calls[i], parts[i], node.command));
    node.after = edges[i].data();
    node.afterCount = static_cast<uint32_t>(edges[i].size());
    nodes.push_back(node);
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    Region &region = regions[key];
    if (region.made >= maxExecutables) {
      if (region.idle.empty() || retired.size() >= maxRetired)
        return makeStatus(GPUASYNC_UNAVAILABLE, "too many graphs");
      retired.reserve(retired.size() + 1);
      retired.push_back(std::move(region.idle.front()));
      region.idle.erase(region.idle.begin());
      --region.made;
      instance.context->retiredCount.fetch_add(1, std::memory_order_relaxed);
    }
    region.idle.reserve(maxExecutables);
    retired.reserve(maxRetired + maxExecutables);
    ++region.made;
    made->awaited = &region.awaited;
    const Region::Seen *seen = region.find(shape);
    made->takesAnyUpdate = seen && seen->anyUpdate;
    made->exactCalls = region.exactCalls;
  }
  Status status = guard([&] {
    return instance.context->driver->extensions.graphs->makeGraph(
        nodes.data(), static_cast<uint32_t>(nodes.size()), made->takesAnyUpdate,
        made->graph);
  });
  if (!status.ok()) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      --regions.find(key)->second.made;
    }
    return noteCapture(frame, std::move(status));
  }
  instance.context->physicalGraphs.fetch_add(1, std::memory_order_relaxed);
  frame.first.slot->counters.graphs.create();
  std::swap(made->recording, recording);
  made->shape = shape;
  if (on->external)
    made->last = on->timeline.now();
  give(key, std::move(made));
  return Status();
}

Status Regions::update(Executable &executable, Frame &frame, uint32_t &failed) {
  constexpr size_t atOnce = 64;
  GraphNode nodes[atOnce];
  NodeParts parts[atOnce];
  uint32_t indices[atOnce];
  while (!executable.dirty.empty()) {
    const size_t count = std::min(atOnce, executable.dirty.size());
    for (size_t i = 0; i < count; ++i) {
      uint32_t call = executable.dirty[executable.dirty.size() - 1 - i];
      indices[i] = call;
      nodes[i] = GraphNode();
      RETURN_IF_ERROR(makeCommand(frame, executable.recording,
                                  executable.recording.calls[call], parts[i],
                                  nodes[i].command));
    }
    uint32_t at = 0;
    Status status = instance.context->driver->extensions.graphs->updateGraph(
        executable.graph, indices, nodes, static_cast<uint32_t>(count), at);
    if (!status.ok()) {
      failed = executable.dirty[executable.dirty.size() - 1 - at];
      return noteCapture(frame, std::move(status));
    }
    for (size_t i = 0; i < count; ++i) {
      executable.recording.calls[executable.dirty.back()].dirty = false;
      executable.dirty.pop_back();
    }
  }
  return Status();
}
