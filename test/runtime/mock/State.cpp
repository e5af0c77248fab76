//===- State.cpp - The model behind the fake vendor libraries -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See State.h. A violation is kept and printed; the call then goes on as far as
// the real library would.
//===----------------------------------------------------------------------===//

#include "State.h"

#include <algorithm>
#include <ctype.h>
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
               {"ptx", 88},        {"shifted", 0}} {
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

void State::block(std::unique_lock<std::mutex> &lock) {
  Thread &self = thread();
  // Giving memory back to try once more is what may block (M04).
  if (self.midFrame && self.enqueued && !self.outOfMemory) {
    violation("waits for running kernels, between a frame's first enqueue and "
              "its end");
    return; // rather than hang
  }
  std::vector<std::pair<Stream *, uint64_t>> running;
  for (auto &object : objects)
    if (object->kind == Kind::Stream) {
      auto *stream = static_cast<Stream *>(object.get());
      if (!stream->queue.empty() && stream->queue.front().run)
        running.emplace_back(stream, stream->finished);
    }
  for (auto &[stream, finished] : running)
    progress.wait(lock, [stream = stream, finished = finished] {
      return stream->finished > finished;
    });
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
  for (auto &object : objects)
    if (object->context == &context && object->alive) {
      object->alive = false;
      if (object->kind == Kind::Stream)
        static_cast<Stream *>(object.get())->wake.notify_all();
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

template <typename T>
int State::resolve(void *handle, Kind kind, const char *what, T *&out) {
  auto found = byHandle.find(handle);
  if (found == byHandle.end() || found->second->kind != kind) {
    violation(std::string("this is no ") + what);
    return InvalidHandle;
  }
  out = static_cast<T *>(found->second);
  if (!out->alive || (out->context && out->contextId != out->context->id)) {
    violation(std::string("the ") + what + " was destroyed");
    return InvalidHandle;
  }
  if (out->context && out->context != current()) {
    violation(std::string("the ") + what + " belongs to another context");
    return InvalidHandle;
  }
  return Success;
}

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

void State::enqueue(Stream &stream, Operation operation) {
  if (stream.capture) {
    ++stream.clock[&stream];
    if (operation.run)
      stream.capture->nodes.push_back(std::move(operation.run));
    return;
  }
  thread().enqueued |= thread().midFrame != 0;
  // Nothing to do and nothing to wait for: a point on an idle stream.
  bool ready = !operation.run && (!operation.after || operation.after->reached);
  if (ready && idle(stream)) {
    if (operation.reaches)
      operation.reaches->reached = true;
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
        for (auto &object : objects)
          if (object->kind == Kind::Stream)
            static_cast<Stream *>(object.get())->wake.notify_all();
      }
    }
    if (operation.reaches) {
      operation.reaches->reached = true;
      for (Stream *waiting : operation.reaches->waiting)
        waiting->wake.notify_all();
    }
    if (operation.module)
      --operation.module->pending;
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

int State::createEvent(Event *&out) {
  out = make<Event>(current());
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
  if (int code = resolve(eventHandle, Kind::Event, "event", event))
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

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

namespace {

void addParameter(Function &function, size_t size, size_t align) {
  size_t offset = (function.parameterBytes + align - 1) / align * align;
  function.parameters.push_back({offset, size});
  function.parameterBytes = offset + size;
}

/// Reads `.param .u64 .ptr .align 1 name` and `.param .align 8 .b8 name[264]`.
bool parseParameter(const std::string &text, Function &function) {
  size_t size = 0, align = 0, count = 1;
  size_t at = 0;
  while ((at = text.find('.', at)) != std::string::npos) {
    size_t end = text.find_first_of(" \t\n[,", at);
    std::string word = text.substr(at + 1, end - at - 1);
    at = end == std::string::npos ? text.size() : end;
    if (word.size() >= 2 && strchr("bsuf", word[0]) && isdigit(word[1]))
      size = strtoul(word.c_str() + 1, nullptr, 10) / 8;
    else if (word == "align" && !size)
      align = strtoul(text.c_str() + at, nullptr, 10);
  }
  if (size_t bracket = text.find('['); bracket != std::string::npos)
    count = strtoul(text.c_str() + bracket + 1, nullptr, 10);
  if (!size)
    return false;
  addParameter(function, size * count, align ? align : size);
  return true;
}

/// "sm_90a" as 90.
uint64_t archOf(const std::string &text) {
  size_t at = text.find("sm_");
  return at == std::string::npos ? 0
                                 : strtoul(text.c_str() + at + 3, nullptr, 10);
}

} // namespace

/// PTX as compilers write it: its version, its target, and of each `.entry` the
/// name and parameters; or text that begins with "gpuasync-mock-image", then
/// lines "arch sm_90" and "kernel NAME BYTES..." (of the parameters).
int State::load(const void *image, Module *&out, std::string &log,
                std::unique_lock<std::mutex> &lock) {
  block(lock);
  const std::string text(static_cast<const char *>(image));
  auto module = std::make_unique<Module>(current());
  auto add = [&](const std::string &name) {
    auto function = std::make_unique<Function>(module->context);
    function->name = name;
    module->functions.push_back(std::move(function));
    return module->functions.back().get();
  };
  uint64_t chip = settings["major"] * 10 + settings["minor"];
  if (text.compare(0, 19, "gpuasync-mock-image") == 0) {
    size_t at = text.find('\n');
    while (at != std::string::npos && at + 1 < text.size()) {
      size_t end = text.find('\n', at + 1);
      std::string line = text.substr(at + 1, end - at - 1);
      at = end;
      if (line.compare(0, 5, "arch ") == 0) {
        if (archOf(line) != chip && line.find("gfx") == std::string::npos)
          return NoBinaryForGpu;
      } else if (line.compare(0, 7, "kernel ") == 0) {
        size_t space = line.find(' ', 7);
        Function *function = add(line.substr(7, space - 7));
        while (space != std::string::npos) {
          char *rest = nullptr;
          size_t size = strtoul(line.c_str() + space, &rest, 10);
          if (size)
            addParameter(*function, size, size <= 8 ? size : 8);
          space = line.find(' ', space + 1);
        }
      }
    }
  } else {
    size_t version = text.find(".version");
    size_t target = text.find(".target");
    if (version == std::string::npos || target == std::string::npos) {
      log = "ptxas fatal   : Missing .version directive at start of file";
      return InvalidPtx;
    }
    double number = strtod(text.c_str() + version + 8, nullptr);
    if (uint64_t(number * 10 + 0.5) > settings["ptx"])
      return UnsupportedPtxVersion;
    size_t targetEnd = text.find('\n', target);
    if (archOf(text.substr(target, targetEnd - target)) > chip)
      return NoBinaryForGpu;
    for (size_t at = text.find(".entry"); at != std::string::npos;
         at = text.find(".entry", at + 1)) {
      size_t name = text.find_first_not_of(" \t\n", at + 6);
      size_t end = text.find_first_of(" \t\n({", name);
      Function *function = add(text.substr(name, end - name));
      size_t open = text.find_first_not_of(" \t\n", end);
      if (open == std::string::npos || text[open] != '(')
        continue;
      size_t close = text.find(')', open);
      std::string list = text.substr(open, close - open);
      for (size_t p = list.find(".param"); p != std::string::npos;) {
        size_t next = list.find(".param", p + 1);
        if (!parseParameter(list.substr(p + 6, next - p - 6), *function)) {
          log = "ptxas fatal   : bad parameter of " + function->name;
          return InvalidPtx;
        }
        p = next;
      }
    }
  }
  for (auto &function : module->functions) {
    auto kernel = kernels.find(function->name);
    if (kernel == kernels.end()) {
      log =
          "ptxas fatal   : the test has no host function for " + function->name;
      return InvalidPtx;
    }
    function->kernel = kernel->second;
    function->module = module.get();
    byHandle[function.get()] = function.get();
  }
  out = module.get();
  byHandle[out] = out;
  objects.push_back(std::move(module));
  return Success;
}

int State::unload(void *handle, std::unique_lock<std::mutex> &lock) {
  Module *module = nullptr;
  if (int code = resolve(handle, Kind::Module, "module", module))
    return code;
  block(lock);
  if (module->pending)
    violation("kernels of the module are queued or running");
  module->alive = false;
  for (auto &function : module->functions)
    function->alive = false;
  return Success;
}

int State::function(void *handle, const char *name, Function *&out) {
  Module *module = nullptr;
  if (int code = resolve(handle, Kind::Module, "module", module))
    return code;
  for (auto &function : module->functions)
    if (function->name == name) {
      out = function.get();
      return Success;
    }
  return NotFound;
}

int State::function(void *handle, Function *&out, bool loads,
                    std::unique_lock<std::mutex> &lock) {
  if (int code = resolve(handle, Kind::Function, "function", out))
    return code;
  if (loads && !out->loaded) {
    block(lock);
    out->loaded = true;
  }
  return Success;
}

/// Runs all blocks one after the other; returns a fault's code.
static int runKernel(const gpuasync_cpu_kernel &kernel, const Launch &launch,
                     const void *parameters) {
  mock_launch own = {0};
  gpuasync_cpu_block_ctx context = {};
  for (int i = 0; i < 3; ++i) {
    context.gridDim[i] = launch.grid[i];
    context.blockDim[i] = launch.block[i];
  }
  context.dynamicSharedBytes = launch.sharedBytes;
  context.launch = &own;
  std::vector<char> workgroup((kernel.workgroupBytes + 15) / 16 * 16 +
                              launch.sharedBytes + 16);
  for (context.blockIdx[2] = 0; context.blockIdx[2] < context.gridDim[2];
       ++context.blockIdx[2])
    for (context.blockIdx[1] = 0; context.blockIdx[1] < context.gridDim[1];
         ++context.blockIdx[1])
      for (context.blockIdx[0] = 0; context.blockIdx[0] < context.gridDim[0];
           ++context.blockIdx[0]) {
        kernel.function(&context, parameters, workgroup.data());
        if (own.trap)
          return own.trap;
      }
  return 0;
}

int State::launch(Function &function, void *handle, const Launch &launch,
                  const void *parameters, size_t parameterBytes,
                  std::unique_lock<std::mutex> &lock) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  if (!function.loaded) {
    block(lock);
    function.loaded = true;
  }
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (!launch.grid[i] || !launch.block[i])
      return InvalidValue;
    threads *= launch.block[i];
  }
  if (threads > 1024 ||
      launch.sharedBytes > unsigned(function.maxDynamicShared))
    return InvalidValue;
  if (parameterBytes < function.parameterBytes) {
    violation("kernel " + function.name + " takes " +
              std::to_string(function.parameterBytes) + " bytes, " +
              std::to_string(parameterBytes) + " are passed");
    return InvalidValue;
  }
  uint64_t blocks = uint64_t(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  if (launch.cooperative &&
      blocks > settings["multiprocessors"] * (2048 / threads))
    return CooperativeLaunchTooLarge;
  auto *bytes = static_cast<const char *>(parameters);
  // The buffer of a kernel is aligned for any parameter.
  struct alignas(16) Unit {
    char bytes[16];
  };
  std::vector<Unit> copied((parameterBytes + 15) / 16 + 1);
  if (parameterBytes)
    memcpy(copied.data(), bytes, parameterBytes);
  Operation operation;
  operation.kernel = function.name;
  operation.module = function.module;
  operation.run = [kernel = function.kernel, launch,
                   copied = std::move(copied)] {
    return runKernel(*kernel, launch, copied.data());
  };
  enqueue(*stream, std::move(operation));
  return Success;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static constexpr size_t page = 4096;

void *State::takeAddresses(size_t bytes) {
  // A page between two pieces stays inaccessible.
  size_t room = (bytes + page - 1) / page * page;
  if (room + page > arenaBytes - arenaUsed)
    return nullptr;
  char *result = arena + arenaUsed;
  if (mprotect(result, room, PROT_READ | PROT_WRITE))
    return nullptr;
  arenaUsed += room + page;
  return result;
}

void State::giveAddresses(uintptr_t base, size_t bytes) {
  auto *pointer = reinterpret_cast<char *>(base);
  size_t room = (bytes + page - 1) / page * page;
  madvise(pointer, room, MADV_DONTNEED);
  mprotect(pointer, room, PROT_NONE);
}

/// A piece of memory is no more.
void State::freed(uintptr_t base) {
  auto found = memory.find(base);
  Memory block = found->second;
  memory.erase(found);
  if (block.of == MemoryOf::Registered)
    return;
  if (block.of != MemoryOf::Pinned)
    deviceBytes -= block.bytes;
  giveAddresses(base, block.bytes);
}

uint64_t State::freeBytes() { return settings["memory"] - deviceBytes; }

int State::allocate(MemoryOf of, size_t bytes, void *&out) {
  if (!bytes)
    return InvalidValue;
  if (of != MemoryOf::Pinned && bytes > freeBytes())
    return OutOfMemory;
  void *pointer = takeAddresses(bytes);
  if (!pointer)
    return OutOfMemory;
  if (of != MemoryOf::Pinned)
    deviceBytes += bytes;
  Memory block;
  block.base = reinterpret_cast<uintptr_t>(pointer);
  block.bytes = bytes;
  block.of = of;
  block.context = current();
  block.contextId = block.context ? block.context->id : 0;
  memory[block.base] = block;
  out = pointer;
  return Success;
}

Memory *State::find(const void *pointer) {
  auto address = reinterpret_cast<uintptr_t>(pointer);
  auto next = memory.upper_bound(address);
  if (next == memory.begin())
    return nullptr;
  Memory &block = std::prev(next)->second;
  return address - block.base < block.bytes ? &block : nullptr;
}

int State::checkRange(const void *pointer, size_t bytes, const char *what,
                      bool &known) {
  Memory *block = find(pointer);
  auto address = reinterpret_cast<uintptr_t>(pointer);
  known = block;
  if (!block) {
    if (static_cast<const char *>(pointer) >= arena &&
        static_cast<const char *>(pointer) < arena + arenaBytes) {
      violation(std::string(what) + ": the memory was freed");
      return InvalidValue;
    }
    auto next = memory.upper_bound(address);
    if (next == memory.end() || next->first >= address + bytes)
      return Success;
  } else if (block->freed) {
    violation(std::string(what) + ": the memory was freed");
    return InvalidValue;
  } else if (bytes <= block->bytes - (address - block->base)) {
    return Success;
  }
  violation(std::string(what) + ": beyond the bounds of its memory");
  return InvalidValue;
}

int State::free(void *pointer, MemoryOf first, MemoryOf second,
                std::unique_lock<std::mutex> &lock) {
  if (!pointer)
    return Success;
  auto isRight = [&] {
    auto found = memory.find(reinterpret_cast<uintptr_t>(pointer));
    return found != memory.end() &&
           (found->second.of == first || found->second.of == second);
  };
  if (!isRight()) {
    violation("this is not the beginning of such memory");
    return InvalidValue;
  }
  block(lock);
  freed(reinterpret_cast<uintptr_t>(pointer));
  return Success;
}

int State::createPool(int device, Pool *&out) {
  if (device < 0 || uint64_t(device) >= settings["devices"])
    return InvalidDevice;
  if (!settings["pools"])
    return NotSupported;
  out = make<Pool>();
  out->device = device;
  return Success;
}

int State::pool(void *handle, Pool *&out) {
  return resolve(handle, Kind::Pool, "memory pool", out);
}

int State::destroyPool(void *handle) {
  Pool *pool = nullptr;
  if (int code = this->pool(handle, pool))
    return code;
  pool->alive = false;
  for (auto &[bytes, base] : pool->idle)
    giveAddresses(base, bytes);
  pool->idle.clear();
  return Success;
}

int State::trim(void *handle, size_t keepBytes,
                std::unique_lock<std::mutex> &lock) {
  Pool *pool = nullptr;
  if (int code = this->pool(handle, pool))
    return code;
  block(lock);
  uint64_t kept = 0;
  for (auto at = pool->idle.begin(); at != pool->idle.end();) {
    if (kept + at->first <= keepBytes) {
      kept += at->first;
      ++at;
      continue;
    }
    giveAddresses(at->second, at->first);
    at = pool->idle.erase(at);
  }
  return Success;
}

int State::allocateFrom(void *poolHandle, size_t bytes, void *streamHandle,
                        void *&out) {
  Pool *pool = nullptr;
  Stream *stream = nullptr;
  if (int code = this->pool(poolHandle, pool))
    return code;
  if (int code = resolveStream(streamHandle, stream))
    return code;
  if (pool->internalDependencies)
    violation("the pool may add order between streams to reuse memory");
  if (auto idle = pool->idle.find(bytes);
      idle != pool->idle.end() && bytes <= freeBytes()) {
    Memory block;
    block.base = idle->second;
    block.bytes = bytes;
    block.context = current();
    pool->idle.erase(idle);
    deviceBytes += bytes;
    memory[block.base] = block;
    out = reinterpret_cast<void *>(block.base);
  } else if (int code = allocate(MemoryOf::Pool, bytes, out)) {
    return code;
  }
  Memory &block = *find(out);
  block.of = MemoryOf::Pool;
  block.pool = pool;
  block.capture = stream->capture;
  if (stream->capture)
    stream->capture->memory.push_back(block.base);
  enqueue(*stream, Operation());
  return Success;
}

void State::returnToPool(uintptr_t base) {
  auto at = memory.find(base);
  Memory block = at->second;
  // Whoever still reads it finds that out.
  memset(reinterpret_cast<void *>(base), 0xdd, std::min(block.bytes, page));
  memory.erase(at);
  deviceBytes -= block.bytes;
  if (block.pool->alive)
    block.pool->idle.emplace(block.bytes, block.base);
  else
    giveAddresses(block.base, block.bytes);
}

int State::freeAsync(void *pointer, void *handle) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  auto found = memory.find(reinterpret_cast<uintptr_t>(pointer));
  if (found == memory.end() || found->second.of != MemoryOf::Pool ||
      found->second.freed) {
    violation("this is not the beginning of memory of a pool");
    return InvalidValue;
  }
  if (found->second.capture != stream->capture) {
    violation("the memory does not belong to the graph");
    return InvalidValue;
  }
  found->second.freed = true;
  Operation operation;
  if (!stream->capture) // else it goes with the graph
    operation.run = [this, pointer] {
      std::lock_guard<std::mutex> lock(mutex);
      returnToPool(reinterpret_cast<uintptr_t>(pointer));
      return 0;
    };
  enqueue(*stream, std::move(operation));
  return Success;
}

int State::registerHost(void *pointer, size_t bytes) {
  auto base = reinterpret_cast<uintptr_t>(pointer);
  if (!pointer || !bytes)
    return InvalidValue;
  auto next = memory.upper_bound(base);
  if (find(pointer) || (next != memory.end() && next->first < base + bytes))
    return HostMemoryAlreadyRegistered;
  Memory block;
  block.base = base;
  block.bytes = bytes;
  block.of = MemoryOf::Registered;
  block.context = current();
  memory[base] = block;
  return Success;
}

int State::unregisterHost(void *pointer, std::unique_lock<std::mutex> &lock) {
  auto base = reinterpret_cast<uintptr_t>(pointer);
  auto found = memory.find(base);
  if (found == memory.end() || found->second.of != MemoryOf::Registered) {
    violation("this memory is not registered");
    return HostMemoryNotRegistered;
  }
  block(lock);
  freed(base);
  return Success;
}

//===----------------------------------------------------------------------===//
// Copies and fills
//===----------------------------------------------------------------------===//

int State::copy(const Rows &rows, void *handle,
                std::unique_lock<std::mutex> &lock) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  if (!rows.width || !rows.height)
    return Success;
  size_t last = rows.height - 1;
  bool toKnown = false, fromKnown = false;
  if (int code = checkRange(rows.destination,
                            last * rows.destinationPitch + rows.width,
                            "destination", toKnown))
    return code;
  if (int code = checkRange(rows.source, last * rows.sourcePitch + rows.width,
                            "source", fromKnown))
    return code;
  auto onHost = [&](const void *pointer) {
    Memory *block = find(pointer);
    return !block || block->of == MemoryOf::Pinned ||
           block->of == MemoryOf::Registered;
  };
  bool hostToHost = onHost(rows.destination) && onHost(rows.source);
  Operation operation;
  operation.run = [rows] {
    for (size_t i = 0; i < rows.height; ++i)
      memmove(rows.destination + i * rows.destinationPitch,
              rows.source + i * rows.sourcePitch, rows.width);
    return 0;
  };
  bool waits = !toKnown || hostToHost;
  if (!fromKnown && toKnown) {
    // The vendor copies what is small at once, and waits with the rest.
    if (rows.height == 1 && rows.width <= (64 << 10)) {
      std::vector<char> staged(rows.source, rows.source + rows.width);
      operation.run = [rows, staged = std::move(staged)] {
        memcpy(rows.destination, staged.data(), rows.width);
        return 0;
      };
    } else {
      waits = true;
    }
  }
  enqueue(*stream, std::move(operation));
  if (!waits)
    return Success;
  if (thread().midFrame) {
    violation("a copy of pageable memory, or from host to host, waits for its "
              "stream");
    return Success; // rather than hang
  }
  uint64_t end = stream->finished + stream->queue.size();
  progress.wait(lock, [&] { return stream->finished >= end; });
  return stream->context->sticky;
}

int State::fill(void *destination, size_t pitch, uint32_t value,
                unsigned element, size_t width, size_t height, void *handle) {
  Stream *stream = nullptr;
  if (int code = resolveStream(handle, stream))
    return code;
  if (!width || !height)
    return Success;
  bool known = false;
  if (int code = checkRange(destination, (height - 1) * pitch + width * element,
                            "destination", known))
    return code;
  if (!known) {
    violation("a fill of pageable memory");
    return InvalidValue;
  }
  Operation operation;
  operation.run = [=] {
    for (size_t y = 0; y < height; ++y)
      for (size_t x = 0; x < width; ++x)
        memcpy(static_cast<char *>(destination) + y * pitch + x * element,
               &value, element);
    return 0;
  };
  enqueue(*stream, std::move(operation));
  return Success;
}
