//===- Prepare.cpp - The entries of Program.h -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warm-up in parallel, release, limits and hooks. What they do is in
// ModuleCache.cpp.
//===----------------------------------------------------------------------===//

#include "core/base/SizedStruct.h"
#include "core/context/Entry.h"
#include "core/module/Program.h"
#include "core/pool/DeviceUse.h"
#include "gpuasync/Context.h"
#include "gpuasync/Program.h"

#include <algorithm>
#include <system_error>
#include <thread>

using namespace gpuasync;

/// Loads modules of a program by entering a frame that reaches them.
static Status enterToLoad(const gpuasync_program &program,
                          gpuasync_context *context, const uint32_t *modules,
                          uint32_t count) {
  gpuasync_function function{};
  function.name = "load";
  function.file = program.name;
  function.program = &program;
  function.modules = modules;
  function.moduleCount = count;
  if (context)
    if (gpuasync_status *status = gpuasync_scope_push(context))
      return Status(status);
  gpuasync_frame frame;
  gpuasync_frame_enter(&frame, &function);
  Status status(gpuasync_frame_leave(&frame));
  if (context)
    gpuasync_scope_pop();
  return status;
}

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
  uint64_t marked = context.modules.markReleased();
  if (marked)
    context.retiredCount.fetch_add(1, std::memory_order_relaxed);
  if (!inFrameOf(&context))
    context.drainRetired();
  return marked;
}

extern "C" {

gpuasync_status *gpuasync_program_load(const gpuasync_program *program,
                                       gpuasync_context *context) noexcept {
  if (!program)
    return nullArgument("gpuasync_program_load").release();
  return entry([&] {
    std::vector<uint32_t> all(program->moduleCount);
    for (uint32_t i = 0; i < program->moduleCount; ++i)
      all[i] = i;
    return enterToLoad(*program, context, all.data(), program->moduleCount);
  });
}

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
    std::vector<gpuasync_context *> all;
    if (context) {
      all.push_back(context);
      context->retainPart();
    } else {
      Process &shared = process();
      std::lock_guard<std::mutex> lock(shared.mutex);
      all = shared.contexts;
      for (gpuasync_context *each : all)
        each->retainPart();
    }
    for (gpuasync_context *each : all) {
      count += releaseModules(*each);
      each->releasePart();
    }
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
    context->modules.setLimits(
        {maxBytes, maxEntries, (flags & GPUASYNC_MODULES_KEEP) != 0});
    if (context->modules.wantsTrim())
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
      made = std::make_shared<ModuleHooks>();
      Status status = readStruct(hooks, made->calls, "gpuasync_module_hooks");
      if (!status.ok())
        return status;
      const char *options = made->calls.options;
      made->options = std::string("hooks:") + (options ? options : "");
      made->calls.options = nullptr; // the caller's
    }
    context->modules.setHooks(std::move(made));
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
    Registration *registration = nullptr;
    Status status = registerProgram(program, registration);
    if (!status.ok())
      return status;
    CurrentContext current(*context);
    if (!current.status.ok())
      return context->noteFault(std::move(current.status));
    return context->noteFault(
        context->modules.insert(*registration, module, *image));
  });
}

gpuasync_status *gpuasync_status_make(uint32_t code,
                                      const char *message) noexcept {
  return makeStatus(code ? code : uint32_t(GPUASYNC_DRIVER_ERROR), "%s",
                    message ? message : "unknown error")
      .release();
}
}
