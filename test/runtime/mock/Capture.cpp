//===- Capture.cpp - Streams captured into graphs -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the vendors say of capture: which calls end one, how streams become part
// of it, what has to be joined. Its graph is a chain.
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <string.h>

using namespace mock;

namespace {

enum Mode { Global, ThreadLocal, Relaxed };
enum Status { None, Active, Invalid };

/// Calls that may wait for the device, or touch what a graph cannot know.
bool isUnsafe(const char *name) {
  const char *parts[] = {"Query",      "StreamSynchronize", "MemAlloc",
                         "MemFree",    "HostAlloc",         "HostMalloc",
                         "HostFree",   "HostRegister",      "HostUnregister",
                         "Module",     "MemPool",           "SetLimit",
                         "hipMalloc",  "hipFree",           "GraphInstantiate",
                         "GraphUpload"};
  return std::any_of(std::begin(parts), std::end(parts), [&](const char *part) {
    return strstr(name, part) && !strstr(name, "LaunchKernel");
  });
}

} // namespace

int State::invalidate(Capture &capture, int code) {
  capture.valid = false;
  return code;
}

int State::disturb(const char *name, void *streamHandle) {
  if (!isUnsafe(name))
    return Success;
  // Those that name a captured stream are looked at as such.
  auto named = byHandle.find(streamHandle);
  if (named != byHandle.end() && named->second->kind == Kind::Stream)
    if (Capture *capture = static_cast<Stream *>(named->second)->capture) {
      violation("a captured stream can be neither asked nor waited for");
      return invalidate(*capture, CaptureUnsupported);
    }
  const Thread &self = thread();
  for (auto &capture : captures) {
    if (!capture->active || self.captureMode == Relaxed)
      continue;
    bool mine = capture->owner == &self && capture->mode != Relaxed;
    bool everybodys = capture->mode == Global && self.captureMode == Global;
    if (!mine && !everybodys)
      continue;
    violation("ends a capture that is going on");
    return invalidate(*capture, CaptureUnsupported);
  }
  return Success;
}

int State::joinCapture(Stream &stream, Event &event) {
  if (!event.capture || !event.capture->active ||
      (stream.capture && stream.capture != event.capture)) {
    violation("the event and the stream are not of one capture");
    if (stream.capture)
      invalidate(*stream.capture, CaptureIsolation);
    return CaptureIsolation;
  }
  if (!event.capture->valid)
    return CaptureInvalidated;
  stream.capture = event.capture;
  for (auto [other, count] : event.clock)
    stream.clock[other] = std::max(stream.clock[other], count);
  ++stream.clock[&stream];
  return Success;
}

int State::captureInfo(void *handle, int &status, uint64_t &id) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  status = !stream->capture ? None : stream->capture->valid ? Active : Invalid;
  id = stream->capture ? stream->capture->id : 0;
  return Success;
}

int State::beginCapture(void *handle, int mode) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  if (stream->capture)
    return InvalidValue;
  auto capture = std::make_unique<Capture>();
  capture->id = captures.size() + 1;
  capture->origin = stream;
  capture->mode = mode;
  capture->owner = &thread();
  stream->capture = capture.get();
  stream->clock = {{stream, 1}};
  captures.push_back(std::move(capture));
  return Success;
}

int State::endCapture(void *handle, void *&graph) {
  Stream *origin = nullptr;
  if (int code = resolveStream(handle, origin))
    return code;
  Capture *capture = origin->capture;
  graph = nullptr;
  if (!capture || capture->origin != origin)
    return InvalidValue;
  bool joined = true;
  Clock reached = origin->clock;
  for (Object *object : presentObjects()) {
    if (object->kind != Kind::Stream)
      continue;
    auto *stream = static_cast<Stream *>(object);
    if (stream->capture != capture)
      continue;
    joined &= reached[stream] >= stream->clock[stream];
    stream->capture = nullptr;
    stream->clock.clear();
  }
  capture->active = false;
  int code = !capture->valid ? CaptureInvalidated
             : !joined       ? CaptureUnjoined
                             : Success;
  Graph *made = nullptr;
  createGraph(made);
  made->memory = std::make_shared<GraphMemory>(std::move(capture->memory));
  capture->memory.clear();
  GraphNode *last = nullptr;
  for (Work &work : capture->nodes) {
    void *after = last;
    addNode(made, &after, last ? 1 : 0, std::move(work), last);
  }
  capture->nodes.clear();
  if (code)
    destroyGraph(made);
  else
    graph = made;
  return code;
}
