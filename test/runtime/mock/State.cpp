//===- State.cpp - The model behind the fake vendor libraries -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See State.h: calls, contexts, streams and events. A violation is kept and
// printed; the call then goes on as far as the real library would.
//===----------------------------------------------------------------------===//

#include "State.h"

#include <string.h>
#include <sys/mman.h>
#include <thread>

using namespace mock;

State &mock::state() {
  static State *instance = new State;
  return *instance;
}

Thread &mock::thread() {
  static thread_local Thread instance;
  return instance;
}

Object::Object(Kind kind, Context *context)
    : kind(kind), context(context), contextId(context ? context->id : 0) {}

State::State()
    : settings{{"devices", 2},     {"major", 9},
               {"minor", 0},       {"version", 12080},
               {"rocm", 60000000}, {"pools", 1},
               {"flags", 1},       {"multiprocessors", 4},
               {"managed", 1},     {"memory", 16ull << 30},
               {"ptx", 88},        {"shifted", 0},
               {"seed", 1},        {"concurrent", 1},
               {"timing", 0}} {
  addBuiltins();
  // Addresses are never used twice (save by pools), so this is large; what is
  // not in use is inaccessible and costs nothing.
  for (arenaBytes = 1ull << 40; arenaBytes >= 1ull << 30; arenaBytes /= 2) {
    void *range = mmap(nullptr, arenaBytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range != MAP_FAILED) {
      arena = static_cast<char *>(range);
      return;
    }
  }
  abort();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

void State::violation(const std::string &reason) {
  const char *call = thread().call ? thread().call : "?";
  fprintf(stderr, "mock: %s: %s\n", call, reason.c_str());
  violations.emplace_back(call, reason);
}

void State::passGate(const std::string &name,
                     std::unique_lock<std::mutex> &lock) {
  auto gate = closedGates.find(name);
  if (gate == closedGates.end())
    return;
  ++gate->second;
  gates.notify_all();
  gates.wait(lock, [&] { return !closedGates.count(name); });
}

void mock::tellAndEnd(uint32_t *slot) {
  tell(slot);
  std::unique_lock<std::mutex> lock(state().mutex);
  state().passGate("told", lock);
}

void State::lose(uintptr_t argument) {
  auto handle = byHandle.find(reinterpret_cast<void *>(argument));
  if (handle != byHandle.end())
    handle->second->lost = true;
  auto block = memory.find(argument);
  if (block != memory.end())
    block->second.lost = true;
  auto primary = primaries.find(static_cast<int>(argument));
  if (primary != primaries.end())
    primary->second->lost = true;
}

int State::begin(const char *name, bool needsContext, uintptr_t firstArgument,
                 std::unique_lock<std::mutex> &lock) {
  ++total;
  ++counts[name];
  if (thread().worker)
    violation("called from a thread of the vendor's (a host callback)");
  passGate(name, lock);
  // How often a wait polls depends on time: only its first query is numbered.
  Thread &self = thread();
  bool repeated = self.polled == name && self.polledArgument == firstArgument;
  self.polled = nullptr;
  numbered += !repeated;
  if (failing.left && !repeated &&
      (failing.name.empty() || failing.name == name) && --failing.left == 0) {
    failed = name;
    // What could not be destroyed is nobody's leak.
    for (const char *end :
         {"Destroy", "Free", "Unload", "Unregister", "Release"})
      if (strstr(name, end))
        lose(firstArgument);
    // A fault stays.
    if (failing.code == LaunchFailed && current())
      current()->sticky = failing.code;
    return failing.code;
  }
  if (!captures.empty())
    if (int code = disturb(name, reinterpret_cast<void *>(firstArgument)))
      return code;
  if (!needsContext)
    return Success;
  Context *context = current();
  if (!context) {
    violation("no context is current on the calling thread");
    return InvalidContext;
  }
  if (!context->alive) {
    violation("the current context was destroyed");
    return ContextIsDestroyed;
  }
  return context->sticky;
}

const std::vector<Object *> &State::presentObjects() {
  const auto isGone = [](const Object *object) {
    return !object->alive && object->kind != Kind::Context &&
           (object->kind != Kind::Stream ||
            static_cast<const Stream *>(object)->queue.empty());
  };
  present.erase(std::remove_if(present.begin(), present.end(), isGone),
                present.end());
  return present;
}

void State::block(std::unique_lock<std::mutex> &lock) {
  Thread &self = thread();
  // Giving memory back to try once more is what may block (M04).
  if (self.midFrame && self.enqueued && !self.outOfMemory) {
    violation("waits for running kernels, between a frame's first enqueue and "
              "its end");
    return; // rather than hang
  }
  std::vector<std::pair<Stream *, uint64_t>> running;
  for (Object *object : presentObjects())
    if (object->kind == Kind::Stream) {
      auto *stream = static_cast<Stream *>(object);
      if (!stream->queue.empty() && stream->queue.front().run)
        running.emplace_back(stream, stream->finished);
    }
  for (auto &[stream, finished] : running)
    progress.wait(lock, [stream = stream, finished = finished] {
      return stream->finished > finished;
    });
}

/// Those that somebody is in a call on, and how many are.
static std::mutex inCallMutex;
static std::map<uintptr_t, int> &inCalls() {
  static auto *instance = new std::map<uintptr_t, int>;
  return *instance;
}

static bool enterCall(uintptr_t object) {
  std::lock_guard<std::mutex> lock(inCallMutex);
  return !object || ++inCalls()[object] == 1;
}
InCall::InCall(uintptr_t object) : alone(enterCall(object)), object(object) {}
InCall::~InCall() {
  std::lock_guard<std::mutex> lock(inCallMutex);
  if (object && !--inCalls()[object])
    inCalls().erase(object);
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

Context *State::current() {
  if (implicitContexts) {
    Context *context = nullptr;
    primary(thread().device, context);
    if (!context->alive) {
      context->alive = true;
      context->id = ++nextContextId;
      context->lost = true; // nobody made it, so nobody leaks it
    }
    return context;
  }
  auto &stack = thread().stack;
  return stack.empty() ? nullptr : stack.back();
}

int State::primary(int device, Context *&out) {
  if (device < 0 || uint64_t(device) >= settings["devices"])
    return InvalidDevice;
  Context *&context = primaries[device];
  if (!context)
    context = make<Context>(device);
  out = context;
  return Success;
}

int State::retain(int device, Context *&out) {
  if (int code = primary(device, out))
    return code;
  if (out->sticky)
    return out->sticky;
  if (!out->alive) {
    out->alive = true;
    out->id = ++nextContextId;
  }
  ++out->retained;
  return Success;
}

int State::release(int device, std::unique_lock<std::mutex> &lock) {
  Context *context = nullptr;
  if (int code = primary(device, context))
    return code;
  if (!context->retained) {
    violation("the primary context is released more often than retained");
    return InvalidContext;
  }
  if (--context->retained == 0)
    destroy(*context, lock);
  return Success;
}

void State::destroy(Context &context, std::unique_lock<std::mutex> &lock) {
  block(lock);
  context.alive = false;
  context.retained = 0;
  context.stackLimit = 1024;
  defaultStreams.erase(&context);
  for (Object *object : presentObjects())
    if (object->context == &context && object->alive) {
      object->alive = false;
      if (object->kind == Kind::Stream)
        static_cast<Stream *>(object)->wake.notify_all();
    }
  std::vector<uintptr_t> gone;
  for (auto &[base, block] : memory)
    if (block.context == &context && !block.pool)
      gone.push_back(base);
  for (uintptr_t base : gone)
    freed(base);
}

int State::setCurrent(void *handle) {
  auto &stack = thread().stack;
  if (!handle) {
    if (!stack.empty())
      stack.pop_back();
    return Success;
  }
  auto found = byHandle.find(handle);
  if (found == byHandle.end() || found->second->kind != Kind::Context) {
    violation("this is no context");
    return InvalidContext;
  }
  auto *context = static_cast<Context *>(found->second);
  if (!context->alive) {
    violation("the context was destroyed");
    return InvalidContext;
  }
  if (stack.empty())
    stack.push_back(context);
  else
    stack.back() = context;
  return Success;
}

int State::contextId(void *handle, uint64_t &id) {
  Context *context = current();
  if (handle) {
    auto found = byHandle.find(handle);
    if (found == byHandle.end() || found->second->kind != Kind::Context) {
      violation("this is no context");
      return InvalidContext;
    }
    context = static_cast<Context *>(found->second);
  }
  if (!context)
    return InvalidContext;
  if (!context->alive)
    return ContextIsDestroyed;
  id = context->id;
  return Success;
}

//===----------------------------------------------------------------------===//
// Handles
//===----------------------------------------------------------------------===//

int State::resolveStream(void *handle, Stream *&out) {
  if (handle)
    return resolve(handle, Kind::Stream, "stream", out);
  violation("the legacy default stream is used");
  Context *context = current();
  Stream *&stream = defaultStreams[context];
  if (!stream) {
    stream = make<Stream>(context, 0u);
    stream->lost = true; // nobody made it, so nobody leaks it
  }
  out = stream;
  return Success;
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

int State::createStream(unsigned flags, bool nonBlocking, Stream *&out) {
  if (!nonBlocking)
    violation("the stream waits for the legacy default stream");
  out = make<Stream>(current(), flags);
  return Success;
}

int State::destroyStream(void *handle) {
  Stream *stream = nullptr;
  if (int code = resolve(handle, Kind::Stream, "stream", stream))
    return code;
  if (stream->capture) {
    violation("the stream is being captured");
    invalidate(*stream->capture, InvalidValue);
  }
  stream->alive = false;
  stream->wake.notify_all();
  return Success;
}

/// The device's clock began at another time than the host's.
static void reach(Point &point) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  point.at = int64_t(now.tv_sec) * 1000000000 + now.tv_nsec + 3600000000000;
  point.reached = true;
}

void State::enqueue(Stream &stream, Operation operation) {
  if (stream.capture) {
    ++stream.clock[&stream];
    if (operation.run) {
      Work work;
      work.of = Work::Captured;
      work.run = std::move(operation.run);
      work.operation = operation.kernel;
      stream.capture->nodes.push_back(std::move(work));
    }
    return;
  }
  thread().enqueued |= thread().midFrame != 0;
  // Nothing to do and nothing to wait for: a point on an idle stream.
  bool ready = !operation.run && (!operation.after || operation.after->reached);
  if (ready && idle(stream)) {
    if (operation.reaches)
      reach(*operation.reaches);
    return;
  }
  if (operation.module)
    ++operation.module->pending;
  stream.queue.push_back(std::move(operation));
  if (!stream.hasThread) {
    stream.hasThread = true;
    std::thread([this, &stream] { work(stream); }).detach();
  }
  stream.wake.notify_all();
}

int State::enqueueForeign(void *handle, std::function<int()> run) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  Operation operation;
  operation.run = std::move(run);
  enqueue(*stream, std::move(operation));
  return Success;
}

void State::work(Stream &stream) {
  Thread &self = thread();
  self.worker = true;
  ++self.depth;
  std::unique_lock<std::mutex> lock(mutex);
  Context &context = *stream.context;
  while (true) {
    stream.wake.wait(lock,
                     [&] { return !stream.queue.empty() || !stream.alive; });
    if (stream.queue.empty())
      break;
    // Elements of a deque stay where they are while others are added.
    Operation &operation = stream.queue.front();
    auto cancelled = [&] {
      return context.sticky != Success || !context.alive ||
             stream.contextId != context.id;
    };
    if (operation.after && !operation.after->reached)
      operation.after->waiting.push_back(&stream);
    stream.wake.wait(lock, [&] {
      return cancelled() || !operation.after || operation.after->reached;
    });
    if (operation.run && !cancelled()) {
      if (!operation.kernel.empty())
        passGate(operation.kernel, lock);
      lock.unlock();
      --self.depth; // the kernel is the program's code
      int fault = operation.run();
      ++self.depth;
      lock.lock();
      if (fault && !context.sticky) {
        context.sticky = fault;
        for (Object *object : presentObjects())
          if (object->kind == Kind::Stream)
            static_cast<Stream *>(object)->wake.notify_all();
      }
    }
    if (operation.reaches) {
      reach(*operation.reaches);
      for (Stream *waiting : operation.reaches->waiting)
        waiting->wake.notify_all();
    }
    if (operation.module)
      --operation.module->pending;
    if (operation.executable)
      --operation.executable->running;
    if (operation.ended)
      operation.ended();
    stream.queue.pop_front();
    ++stream.finished;
    progress.notify_all();
  }
  stream.hasThread = false;
}

int State::query(void *handle) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  return idle(*stream) ? Success : NotReady;
}

int State::synchronize(void *handle, std::unique_lock<std::mutex> &lock) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  uint64_t last = stream->finished + stream->queue.size();
  progress.wait(lock, [&] { return stream->finished >= last; });
  return stream->context->sticky;
}

int State::createEvent(bool isTimed, Event *&out) {
  if (isTimed && !settings["timing"])
    violation("an event with timing is slower");
  out = make<Event>(current(), isTimed);
  return Success;
}

int State::destroyEvent(void *handle) {
  Event *event = nullptr;
  if (int code = resolve(handle, Kind::Event, "event", event))
    return code;
  event->alive = false;
  event->point = nullptr;
  return Success;
}

int State::record(void *eventHandle, void *streamHandle) {
  Event *event = nullptr;
  Stream *stream = nullptr;
  if (int code = resolve(eventHandle, Kind::Event, "event", event))
    return code;
  if (int code = resolveStream(streamHandle, stream))
    return code;
  event->capture = stream->capture;
  if (stream->capture) {
    ++stream->clock[stream];
    event->clock = stream->clock;
    event->point = nullptr;
    return Success;
  }
  event->point = std::make_shared<Point>();
  Operation operation;
  operation.reaches = event->point;
  enqueue(*stream, std::move(operation));
  return Success;
}

int State::wait(void *streamHandle, void *eventHandle) {
  Event *event = nullptr;
  Stream *stream = nullptr;
  if (int code = resolveStream(streamHandle, stream))
    return code;
  // The one handle that may be another context's.
  if (int code = resolve(eventHandle, Kind::Event, "event", event,
                         /*anywhere=*/true))
    return code;
  if (event->capture || stream->capture)
    return joinCapture(*stream, *event);
  if (!event->point) {
    violation("the event was never recorded");
    return Success; // as the vendors do
  }
  Operation operation;
  operation.after = event->point;
  enqueue(*stream, std::move(operation));
  return Success;
}

int State::queryEvent(void *handle) {
  Event *event = nullptr;
  if (int code = resolve(handle, Kind::Event, "event", event))
    return code;
  if (event->capture) {
    violation("the event was recorded in a capture");
    return CapturedEvent;
  }
  if (!event->point) {
    violation("the event was never recorded");
    return Success;
  }
  return event->point->reached ? Success : NotReady;
}

int State::elapsed(float &milliseconds, void *from, void *to) {
  const Event *events[2];
  void *const handles[] = {from, to};
  for (int i = 0; i < 2; ++i) {
    Event *event = nullptr;
    if (int code = resolve(handles[i], Kind::Event, "event", event))
      return code;
    if (!event->isTimed || !event->point || event->capture) {
      violation("the event has no time");
      return InvalidValue;
    }
    if (!event->point->reached)
      return NotReady;
    events[i] = event;
  }
  milliseconds =
      float(double(events[1]->point->at - events[0]->point->at) / 1e6);
  return Success;
}

int State::writeValue(void *handle, void *address, uint32_t value) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  bool known = false;
  if (int code = checkRange(address, 4, "written word", known))
    return code;
  if (!known) {
    violation("the word lies in pageable memory");
    return InvalidValue;
  }
  if (!settings["flags"])
    return NotSupported;
  Operation operation;
  operation.run = [address, value] {
    __atomic_store_n(static_cast<uint32_t *>(address), value, __ATOMIC_RELEASE);
    return 0;
  };
  enqueue(*stream, std::move(operation));
  return Success;
}
