//===- Prepare.cpp - The entries of Program.h -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warm-up in parallel, release, limits and hooks.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "gpuasync/Program.h"
#include "services/modulepolicy/ModulePolicy.h"
#include "shim/abi/Load.h"
#include "shim/base/SizedStruct.h"
#include "shim/context/Entry.h"
#include "shim/context/Program.h"
#include "shim/pool/DeviceUse.h"

#include <algorithm>
#include <system_error>
#include <thread>

using namespace gpuasync;

/// Whether the calling thread is in a frame of the context.
static bool inFrameOf(gpuasync_context *context) {
  for (OpenFrame *frame = currentThread ? currentThread->innermost : nullptr;
       frame; frame = frame->outer)
    if (context && frame->findUse(context))
      return true;
  return false;
}

static uint64_t releaseModules(gpuasync_context &context) {
  ContextRef visit(context);
  if (!visit.open())
    return 0;
  uint64_t marked = ContextModulePolicy::of(context).markReleased();
  if (marked)
    context.retiredCount.fetch_add(1, std::memory_order_relaxed);
  if (!inFrameOf(&context))
    context.drainRetired();
  return marked;
}

namespace {

class ModuleHooks final : public ModuleMaker {
public:
  explicit ModuleHooks(gpuasync_context &context) : context(context) {}

  Status compile(const ModuleSource &source, gpuasync_image &image) override {
    if (!calls.compile)
      return Status();
    const gpuasync_module_request request = requestFor(source, source.image);
    const int64_t start = nowNs();
    Status status(foreign().compile(calls.user, &request, &image));
    context.modules.compileNs.fetch_add(uint64_t(nowNs() - start),
                                        std::memory_order_relaxed);
    return located("compile", source, std::move(status));
  }
  void discard(gpuasync_image &image) override {
    if (calls.discard)
      foreign().discard(calls.user, &image);
  }
  Status load(const ModuleSource &source, const gpuasync_image &image,
              LoadedModule &entry) override {
    if (!calls.load)
      return Status();
    const gpuasync_module_request request = requestFor(source, &image);
    void *made = nullptr;
    RETURN_IF_ERROR(located(
        "load", source, Status(foreign().load(calls.user, &request, &made))));
    if (!made)
      return Status();
    ForeignObjects *objects = context.driver->extensions.foreign;
    Status status = guard([&] {
      return objects ? objects->adoptModule(*source.module, image, made,
                                            entry.native, entry.functions.get())
                     : makeStatus(GPUASYNC_UNSUPPORTED,
                                  "%s adopts no modules of others",
                                  context.device.c_str());
    });
    if (status.ok())
      entry.foreign = made;
    else
      unload(made);
    return status;
  }
  void unload(void *module) override {
    if (calls.unload)
      foreign().unload(calls.user, module);
  }

  gpuasync_module_hooks calls{};

private:
  /// The hooks, to be called now: they are unknown code.
  const gpuasync_module_hooks &foreign() {
    context.driver->suspend();
    return calls;
  }
  gpuasync_module_request requestFor(const ModuleSource &source,
                                     const gpuasync_image *image) const {
    return {sizeof(gpuasync_module_request),
            &context,
            context.device.c_str(),
            context.info.arch,
            source.program,
            source.module,
            image};
  }
  static Status located(const char *hook, const ModuleSource &source,
                        Status status) {
    if (status.ok())
      return status;
    return makeStatus(status.code(), "the %s hook failed for module '%s': %s",
                      hook, source.module->name, status.message());
  }

  gpuasync_context &context;
};

} // namespace

extern "C" {

gpuasync_status *gpuasync_prepare(const gpuasync_program *const *programs,
                                  uint32_t programCount,
                                  gpuasync_context *const *contexts,
                                  uint32_t contextCount,
                                  uint32_t threads) noexcept {
  if ((!programs && programCount) || (!contexts && contextCount))
    return nullArgument("gpuasync_prepare").release();
  return entry([&]() -> Status {
    struct Task {
      const gpuasync_program *program;
      gpuasync_context *context;
      uint32_t module;
      Status status;
    };
    std::vector<Task> tasks;
    for (uint32_t p = 0; p < programCount; ++p) {
      if (!programs[p])
        return nullArgument("gpuasync_prepare");
      // Device by device for each module, so that all devices start at once.
      for (uint32_t m = 0; m < programs[p]->moduleCount; ++m)
        for (uint32_t c = 0; c < std::max(contextCount, 1u); ++c) {
          gpuasync_context *context = contextCount ? contexts[c] : nullptr;
          if (contextCount && !context)
            return nullArgument("gpuasync_prepare");
          tasks.push_back({programs[p], context, m, Status()});
        }
    }
    if (!threads)
      threads = std::max(std::thread::hardware_concurrency(), 1u);
    threads = static_cast<uint32_t>(
        std::min<size_t>(threads, std::max<size_t>(tasks.size(), 1)));
    std::atomic<size_t> next{0};
    auto work = [&]() noexcept {
      for (size_t i; (i = next.fetch_add(1)) < tasks.size();)
        tasks[i].status = enterToLoad(*tasks[i].program, tasks[i].context,
                                      &tasks[i].module, 1);
    };
    std::vector<std::thread> helpers;
    helpers.reserve(threads);
    try {
      while (helpers.size() + 1 < threads)
        helpers.emplace_back(work);
    } catch (const std::system_error &) {
      // Those that there are do it all.
    }
    work();
    const Uncancelled uncancelled;
    for (std::thread &helper : helpers)
      helper.join();
    for (Task &task : tasks)
      if (!task.status.ok())
        return std::move(task.status);
    return Status();
  });
}

uint64_t gpuasync_modules_release(gpuasync_context *context) noexcept {
  uint64_t count = 0;
  gpuasync_status *ignored = entry([&]() -> Status {
    if (context)
      count = releaseModules(*context);
    else
      forEachContext(
          [&](gpuasync_context &each) { count += releaseModules(each); });
    return Status();
  });
  gpuasync_status_free(ignored);
  return count;
}

gpuasync_status *gpuasync_modules_limit(gpuasync_context *context,
                                        uint64_t maxBytes, uint64_t maxEntries,
                                        uint32_t flags) noexcept {
  if (!context)
    return nullArgument("gpuasync_modules_limit").release();
  return entry(*context, [&]() -> Status {
    if (flags & ~uint32_t(GPUASYNC_MODULES_KEEP))
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "gpuasync_modules_limit: unknown flags 0x%x", flags);
    ContextModulePolicy &policy = ContextModulePolicy::of(*context);
    policy.setLimits(
        {maxBytes, maxEntries, (flags & GPUASYNC_MODULES_KEEP) != 0});
    if (policy.wantsTrim())
      context->retiredCount.fetch_add(1, std::memory_order_relaxed);
    if (!inFrameOf(context))
      context->drainRetired();
    return Status();
  });
}

gpuasync_status *
gpuasync_modules_hook(gpuasync_context *context,
                      const gpuasync_module_hooks *hooks) noexcept {
  if (!context)
    return nullArgument("gpuasync_modules_hook").release();
  return entry(*context, [&]() -> Status {
    std::shared_ptr<ModuleHooks> made;
    if (hooks) {
      made = std::make_shared<ModuleHooks>(*context);
      Status status = readStruct(hooks, made->calls, "gpuasync_module_hooks");
      if (!status.ok())
        return status;
      const char *options = made->calls.options;
      made->options = std::string("hooks:") + (options ? options : "");
      made->calls.options = nullptr; // the caller's
    }
    ContextModulePolicy::of(*context).setMaker(std::move(made));
    return Status();
  });
}

gpuasync_status *gpuasync_modules_insert(gpuasync_context *context,
                                         const gpuasync_program *program,
                                         uint32_t module,
                                         const gpuasync_image *image) noexcept {
  if (!context || !program || !image || !image->data)
    return nullArgument("gpuasync_modules_insert").release();
  return entry(*context, [&]() -> Status {
    if (module >= program->moduleCount)
      return makeStatus(GPUASYNC_INVALID_ARGUMENT,
                        "gpuasync_modules_insert: module %u of program '%s', "
                        "which has %u",
                        module, program->name, program->moduleCount);
    ProgramVisit visit;
    RETURN_IF_ERROR(visit.find(*program));
    CurrentContext current(*context);
    if (!current.status.ok())
      return context->noteFault(std::move(current.status));
    return context->noteFault(
        ContextModulePolicy::of(*context).insert(*visit, module, *image));
  });
}
}
