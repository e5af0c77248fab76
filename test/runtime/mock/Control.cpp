//===- Control.cpp - What tests call of the fake vendor libraries ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of Mock.h, and host code for the runtime's own kernels.
//===----------------------------------------------------------------------===//

#include "../CpuKernel.h"
#include "State.h"

#include "device/vendor/BuiltinKernels.h"

#include <string.h>

using namespace mock;

//===----------------------------------------------------------------------===//
// The runtime's kernels, as in BuiltinKernels.dev.c
//===----------------------------------------------------------------------===//

namespace {

using Arguments = gpuasync::BuiltinArguments;

/// Calls `unit(destination offset, source offset)` for the block's units.
template <typename Unit>
void forUnits(const gpuasync_cpu_block_ctx *ctx, const Arguments &arguments,
              Unit unit) {
  uint64_t threads = uint64_t(ctx->blockDim[0]);
  uint64_t step = threads * uint64_t(ctx->gridDim[0]);
  for (uint64_t thread = 0; thread < threads; ++thread)
    for (uint64_t i = uint64_t(ctx->blockIdx[0]) * threads + thread;
         i < arguments.count; i += step) {
      uint64_t index = i;
      int64_t to = 0, from = 0;
      for (uint32_t dim = arguments.rank; dim-- > 0;) {
        auto size = uint64_t(arguments.sizes[dim]);
        auto position = int64_t(dim ? index % size : index);
        index /= size;
        to += position * arguments.destinationStrides[dim];
        from += position * arguments.sourceStrides[dim];
      }
      unit(to, from);
    }
}

void builtinCopy(const gpuasync_cpu_block_ctx *ctx, const void *parameters,
                 void *) {
  auto &arguments = *static_cast<const Arguments *>(parameters);
  forUnits(ctx, arguments, [&](int64_t to, int64_t from) {
    memcpy(static_cast<char *>(arguments.destination) + to,
           static_cast<const char *>(arguments.source) + from, arguments.unit);
  });
}

void builtinFill(const gpuasync_cpu_block_ctx *ctx, const void *parameters,
                 void *) {
  auto &arguments = *static_cast<const Arguments *>(parameters);
  forUnits(ctx, arguments, [&](int64_t to, int64_t from) {
    memcpy(static_cast<char *>(arguments.destination) + to,
           arguments.pattern + from, arguments.unit);
  });
}

void builtinNothing(const gpuasync_cpu_block_ctx *, const void *, void *) {}

void builtinSignal(const gpuasync_cpu_block_ctx *, const void *parameters,
                   void *) {
  tell(static_cast<const gpuasync::SignalArguments *>(parameters)->slot);
}

const gpuasync_cpu_kernel builtins[] = {
    gpuasync_test::cpuKernel("gpuasync_copy", builtinCopy),
    gpuasync_test::cpuKernel("gpuasync_fill", builtinFill),
    gpuasync_test::cpuKernel("gpuasync_nothing", builtinNothing),
    gpuasync_test::cpuKernel("gpuasync_signal", builtinSignal)};

/// Holds the mutex and keeps what is done inside from being counted as the
/// caller's.
class Control {
public:
  Control() {
    ++thread().depth;
    lock = std::unique_lock<std::mutex>(state().mutex);
  }
  ~Control() {
    lock.unlock();
    --thread().depth;
  }
  std::unique_lock<std::mutex> lock;
};

} // namespace

void State::addBuiltins() {
  for (const gpuasync_cpu_kernel &kernel : builtins)
    kernels[kernel.name] = &kernel;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void mock_configure(const char *key, uint64_t value) {
  Control control;
  if (!state().settings.count(key)) {
    fprintf(stderr, "mock_configure: unknown key '%s'\n", key);
    abort();
  }
  state().settings[key] = value;
}

void mock_kernels(const gpuasync_cpu_kernel *table, size_t count) {
  Control control;
  for (size_t i = 0; i < count; ++i)
    state().kernels[table[i].name] = &table[i];
}

void mock_reset() {
  Control control;
  State &all = state();
  all.counts.clear();
  all.total = all.numbered = 0;
  all.failing = {};
  all.failed.clear();
  all.violations.clear();
  all.closedGates.clear();
  all.gates.notify_all();
}

uint64_t mock_calls(const char *name) {
  Control control;
  if (!name)
    return state().total;
  auto found = state().counts.find(name);
  return found == state().counts.end() ? 0 : found->second;
}

uint64_t mock_numbered() {
  Control control;
  return state().numbered;
}

void mock_fail(const char *name, uint64_t n, int code) {
  Control control;
  state().failing = {name ? name : "", n, code};
  state().failed.clear();
}

const char *mock_failed() {
  Control control;
  return state().failed.empty() ? nullptr : state().failed.c_str();
}

uint64_t mock_violations(mock_visitor visitor, void *user) {
  std::vector<std::pair<std::string, std::string>> copied;
  {
    Control control;
    copied = state().violations;
  }
  if (visitor)
    for (auto &[call, reason] : copied)
      visitor(user, call.c_str(), reason.c_str());
  return copied.size();
}

int mock_mid_frame(int inside) {
  Thread &self = thread();
  int before = self.midFrame | self.enqueued << 1 | self.outOfMemory << 2;
  self.midFrame = inside & 1;
  self.enqueued = inside & 2;
  self.outOfMemory = inside & 4;
  return before;
}

void mock_gate_close(const char *name) {
  Control control;
  state().closedGates[name] = 0;
}

void mock_gate_open(const char *name) {
  Control control;
  state().closedGates.erase(name);
  state().gates.notify_all();
}

void mock_gate_wait(const char *name, uint32_t count) {
  Control control;
  state().gates.wait(control.lock, [&] {
    auto gate = state().closedGates.find(name);
    return gate == state().closedGates.end() || gate->second >= count;
  });
}

int mock_enqueue(void *stream, int (*run)(void *), void *argument) {
  Control control;
  return state().enqueueForeign(stream, [=] { return run(argument); });
}

void mock_streams_wait() {
  Control control;
  State &all = state();
  all.progress.wait(control.lock, [&] {
    for (Object *object : all.presentObjects())
      if (object->kind == Kind::Stream &&
          !static_cast<Stream &>(*object).queue.empty())
        return false;
    return true;
  });
}

uint64_t mock_live(const char *kind) {
  Control control;
  State &all = state();
  auto wants = [&](const char *name) { return !kind || !strcmp(kind, name); };
  uint64_t result = 0;
  for (Object *object : all.presentObjects()) {
    bool here = object->alive && !object->lost &&
                (!object->context || object->contextId == object->context->id);
    static const struct {
      Kind kind;
      const char *name;
    } names[] = {{Kind::Context, "context"},
                 {Kind::Stream, "stream"},
                 {Kind::Event, "event"},
                 {Kind::Module, "module"},
                 {Kind::Pool, "pool"},
                 {Kind::Graph, "graph"},
                 {Kind::Executable, "executable"}};
    for (auto &entry : names)
      if (here && entry.kind == object->kind && wants(entry.name))
        ++result;
  }
  for (auto &[base, block] : all.memory)
    if (!block.freed && !block.lost &&
        wants(block.of == MemoryOf::Registered ? "registration" : "memory"))
      ++result;
  return result;
}

uint32_t mock_context_depth() {
  return implicitContexts ? uint32_t(thread().device)
                          : uint32_t(thread().stack.size());
}

void *mock_context_top() {
  Control control;
  return state().current();
}

void *mock_context_create(int device) {
  Control control;
  if (implicitContexts) {
    thread().device = device;
    return state().current();
  }
  auto *context = state().make<Context>(device);
  context->alive = true;
  context->id = ++state().nextContextId;
  thread().stack.push_back(context);
  return context;
}

void mock_context_destroy(void *context) {
  Control control;
  state().destroy(*static_cast<Context *>(context), control.lock);
}

void mock_context_push(void *context) {
  Control control;
  if (implicitContexts)
    thread().device = static_cast<Context *>(context)->device;
  else
    thread().stack.push_back(static_cast<Context *>(context));
}

void *mock_context_pop() {
  Control control;
  void *top = state().current();
  if (implicitContexts)
    thread().device = 0;
  else if (top)
    thread().stack.pop_back();
  return top;
}

void mock_primary_reset(int device) {
  Control control;
  Context *context = nullptr;
  if (state().primary(device, context) != Success || !context->alive)
    return;
  uint32_t retained = context->retained;
  state().destroy(*context, control.lock);
  // Its holders still hold it: their next use finds a new life.
  context->alive = true;
  context->id = ++state().nextContextId;
  context->retained = retained;
}

int mock_capture_mode(int mode) {
  int &current = thread().captureMode;
  if (mode >= 0)
    current = mode;
  return current;
}
const int *mock_depth() { return &thread().depth; }
