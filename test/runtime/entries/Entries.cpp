//===- Entries.cpp - Each public entry, called once -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Entries.h.
//===----------------------------------------------------------------------===//

#include "Entries.h"

#include "gpuasync/Memory.h"
#include "gpuasync/Trace.h"
#include "mgpu/Symbols.h"
#include "services/session/Session.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

//===----------------------------------------------------------------------===//
// What entries are called with
//===----------------------------------------------------------------------===//

World::World(const char *device) : device(device) {
  modules[0] = program.module;
  modules[1] = {"w", nullptr, &constant, 0, 1};
  program.program.modules = modules;
  program.program.moduleCount = 2;
  program.function.modules = indices;
  program.function.moduleCount = 2;
  setenv("GPU_ASYNC_DEVICE", device, 1);
  setenv("GPU_ASYNC_MGPU_ON_ERROR", "continue", 1);
  for (gpuasync_image &image : second.images)
    if (image.format != GPUASYNC_IMAGE_CPU)
      image.hash[0] = 0x9999;
}

Status World::make() {
  Status first;
  auto note = [&](Status status) {
    if (first.ok())
      first = std::move(status);
  };
  if (!context) {
    note(Status(gpuasync_context_open(device, &context)));
    if (!first.ok())
      return first;
    note(Status(gpuasync_scope_push(context)));
    note(Status(gpuasync_program_load(&second.program, context)));
  }
  if (!callers)
    note(Status(gpuasync_context_stream_create(context, &callers)));
  if (!token) {
    gpuasync_frame made;
    gpuasync_frame_enter(&made, &program.function);
    gpuasync_stream *own = gpuasync_stream_create(&made, 0, SITE("create"));
    token = gpuasync_event_export(
        &made, gpuasync_event_record(&made, own, SITE("record")),
        SITE("return"));
    note(Status(gpuasync_frame_leave(&made)));
  }
  if (!open) {
    gpuasync_frame_enter(&frame, &program.function);
    open = true;
    stream = nullptr;
    event = nullptr;
    x = nullptr;
  }
  if (!stream)
    stream = gpuasync_stream_create(&frame, 0, SITE("create"));
  if (!event)
    event = gpuasync_event_record(&frame, stream, SITE("record"));
  if (!x)
    x = static_cast<uint32_t *>(
        gpuasync_alloc(&frame, 0, stream, 4096, 0, SITE("alloc")));
  if (!flag)
    flag = static_cast<uint32_t *>(gpuasync_alloc(
        &frame, 0, nullptr, 4, GPUASYNC_ALLOC_HOST_SHARED, SITE("alloc")));
  gpuasync_host_register(&frame, host.data(), 4096, SITE("register"));
  if (!cache)
    cache = gpuasync_disk_cache_open("/nowhere/to/be/found", 1 << 20);
  if (!mgpuStream)
    mgpuStream = mgpuStreamCreate();
  if (!mgpuEvent)
    mgpuEvent = mgpuEventCreate();
  if (!mgpuMemory)
    mgpuMemory = mgpuMemAlloc(256, nullptr, false);
  if (strcmp(device, "cpu") != 0) {
    std::string text = detail::ptx();
    if (!mgpuModule)
      mgpuModule = mgpuModuleLoad(text.data(), text.size());
    mgpuFunction = mgpuModuleGetFunction(mgpuModule, "store");
  }
  if (frame.failed) {
    open = false;
    note(Status(gpuasync_frame_leave(&frame)));
  }
  if (const char *error = gpuasync_mgpu_error())
    note(Status(gpuasync_status_make(GPUASYNC_DRIVER_ERROR, error)));
  return first;
}

void World::leave() {
  if (open)
    gpuasync_status_free(gpuasync_frame_leave(&frame));
  open = false;
}

void World::end() {
  if (flag)
    openGate(flag);
  leave();
  (void)gpuasync_mgpu_close();
  gpuasync_event_release(token);
  gpuasync_context_stream_destroy(callers);
  gpuasync_scope_pop();
  gpuasync_status_free(gpuasync_program_release(&program.program));
  gpuasync_status_free(gpuasync_program_release(&second.program));
  if (context) {
    gpuasync_status_free(gpuasync_context_close(context));
    gpuasync_context_release(context);
  }
  gpuasync_disk_cache_close(cache);
  gpuasync_status_free(gpuasync_shutdown());
}

//===----------------------------------------------------------------------===//
// The entries
//===----------------------------------------------------------------------===//

namespace {

using Table = std::vector<EntryCall>;

/// Handles are used up by some entries.
template <typename T>
T *take(T *&from) {
  T *taken = from;
  from = nullptr;
  return taken;
}

/// `status`, or success where the error is about what the world is like.
Status except(std::initializer_list<uint32_t> codes, gpuasync_status *raw) {
  Status status(raw);
  for (uint32_t code : codes)
    if (status.code() == code)
      return Status();
  return status;
}

gpuasync_digest digest() {
  gpuasync_digest result;
  memset(result.bytes, 7, sizeof(result.bytes));
  return result;
}

const int64_t sizes[] = {4, 4}, strides[] = {8, 1};

/// Arguments of a fragment of one launch, which allocate nothing.
struct Launched {
  struct alignas(16) Block {
    gpuasync_launch_config config;
    StoreParams params;
  };
  Block block;

  explicit Launched(World &w)
      : block{makeLaunch(1, 64, StoreParams()), {w.x, 1}} {
    block.config.params = nullptr;
    block.config.paramBytes = w.program.kernels[Store].paramBytes;
  }
  /// The fragment, a constant as those of programs are.
  static const gpuasync_fragment &fragment(World &w) {
    static const gpuasync_command launch = {
        GPUASYNC_COMMAND_LAUNCH,
        0,
        0,
        w.program.launchSites[Store],
        0,
        uint32_t(sizeof(gpuasync_launch_config)) +
            w.program.kernels[Store].paramBytes,
        GPUASYNC_NO_CONFIG,
        0,
        0,
        0,
        0,
        0};
    static const gpuasync_fragment one = {
        1, 1, sizeof(Block), SITE("op"), &launch, nullptr, nullptr, nullptr};
    return one;
  }
};

/// Calls of a frame: what it says is the frame's error.
void addFrameEntries(Table &table) {
  auto add = [&](const char *name,
                 std::function<void(World &, gpuasync_frame *)> call) {
    table.push_back({name, EntryCall::Refuses, [call](World &w) {
                       call(w, &w.frame);
                       if (!w.open || !w.frame.failed)
                         return Status();
                       w.open = false;
                       // The cpu has no tensor maps.
                       return except({GPUASYNC_UNSUPPORTED},
                                     gpuasync_frame_leave(&w.frame));
                     }});
  };
  add("gpuasync_frame_resume",
      [](World &, gpuasync_frame *f) { gpuasync_frame_resume(f); });
  add("gpuasync_frame_suspend", [](World &, gpuasync_frame *f) {
    gpuasync_frame_suspend(f);
    gpuasync_frame_resume(f);
  });
  add("gpuasync_region_begin",
      [](World &, gpuasync_frame *f) { gpuasync_region_begin(f, SITE("op")); });
  add("gpuasync_region_end", [](World &, gpuasync_frame *f) {
    gpuasync_region_begin(f, SITE("op"));
    gpuasync_region_end(f, SITE("op"));
  });
  add("gpuasync_region_run", [](World &w, gpuasync_frame *f) {
    Launched launched(w);
    gpuasync_region_run(f, &Launched::fragment(w), &w.stream, &launched.block);
  });
  add("gpuasync_region_add", [](World &w, gpuasync_frame *f) {
    Launched launched(w);
    gpuasync_region_begin(f, SITE("op"));
    gpuasync_region_add(f, &Launched::fragment(w), &w.stream, &launched.block);
    gpuasync_region_end(f, SITE("op"));
  });
  add("gpuasync_check_fragment", [](World &w, gpuasync_frame *f) {
    Launched launched(w);
    gpuasync_region_begin(f, SITE("op"));
    gpuasync_check_fragment(f, &Launched::fragment(w), &w.stream,
                            &launched.block);
    gpuasync_region_end(f, SITE("op"));
  });
  add("gpuasync_stream_create", [](World &, gpuasync_frame *f) {
    gpuasync_stream_create(f, 0, SITE("op"));
  });
  add("gpuasync_stream_create_urgent", [](World &, gpuasync_frame *f) {
    gpuasync_stream_create_urgent(f, 0, SITE("op"));
  });
  add("gpuasync_stream_external", [](World &w, gpuasync_frame *f) {
    gpuasync_stream_external(f, 0, gpuasync_context_stream_native(w.callers),
                             SITE("op"));
  });
  add("gpuasync_stream_native", [](World &w, gpuasync_frame *f) {
    gpuasync_stream_native(f, w.stream, SITE("op"));
  });
  add("gpuasync_call_begin", [](World &w, gpuasync_frame *f) {
    if (gpuasync_call_begin(f, &w.stream, 1, SITE("op")))
      gpuasync_call_end(f, 0, SITE("op"));
  });
  add("gpuasync_call_end", [](World &w, gpuasync_frame *f) {
    const gpuasync_call *call =
        gpuasync_call_begin(f, &w.stream, 1, SITE("op"));
    if (!call)
      return;
    call->report(call, "a text");
    gpuasync_call_end(f, 0, SITE("op"));
  });
  add("gpuasync_call_copy", [](World &w, gpuasync_frame *f) {
    const gpuasync_call *call =
        gpuasync_call_begin(f, &w.stream, 1, SITE("op"));
    if (!call)
      return;
    Status status(gpuasync_call_copy(call, w.x, nullptr, 4096));
    gpuasync_call_end(f, 0, SITE("op"));
  });
  add("gpuasync_call_replayable", [](World &w, gpuasync_frame *f) {
    gpuasync_call_replayable(
        f, &w.stream, 1,
        [](const gpuasync_call *call, const void *) -> int32_t {
          call->report(call, "a text");
          return 0;
        },
        sizes, sizeof(sizes), SITE("op"));
  });
  add("gpuasync_stream_destroy", [](World &w, gpuasync_frame *f) {
    gpuasync_stream_destroy(f, take(w.stream), 0, SITE("op"));
  });
  add("gpuasync_stream_wait", [](World &w, gpuasync_frame *f) {
    gpuasync_stream_wait(f, w.stream, w.event, SITE("op"));
  });
  add("gpuasync_stream_synchronize", [](World &w, gpuasync_frame *f) {
    gpuasync_stream_synchronize(f, &w.stream, 1, SITE("op"));
  });
  add("gpuasync_stream_query", [](World &w, gpuasync_frame *f) {
    gpuasync_stream_query(f, w.stream, SITE("op"));
  });
  add("gpuasync_event_record", [](World &w, gpuasync_frame *f) {
    gpuasync_event_record(f, w.stream, SITE("op"));
  });
  add("gpuasync_event_destroy", [](World &w, gpuasync_frame *f) {
    gpuasync_event_destroy(f, take(w.event), SITE("op"));
  });
  add("gpuasync_event_synchronize", [](World &w, gpuasync_frame *f) {
    gpuasync_event_synchronize(f, &w.event, 1, SITE("op"));
  });
  add("gpuasync_event_export", [](World &w, gpuasync_frame *f) {
    gpuasync_event_release(gpuasync_event_export(f, take(w.event), SITE("op")));
  });
  add("gpuasync_event_import", [](World &w, gpuasync_frame *f) {
    gpuasync_event_import(f, take(w.token), SITE("op"));
  });
  add("gpuasync_launch", [](World &w, gpuasync_frame *f) {
    alignas(16) StoreParams params = {w.x, 1};
    gpuasync_launch_config block = makeLaunch(1, 64, params);
    block.paramBytes = w.program.kernels[Store].paramBytes;
    gpuasync_launch(f, w.stream, w.program.launchSites[Store], &block);
  });
  add("gpuasync_extent", [](World &, gpuasync_frame *f) {
    gpuasync_extent(f, sizes, strides, 2, 4, SITE("op"));
  });
  add("gpuasync_alloc", [](World &w, gpuasync_frame *f) {
    gpuasync_alloc(f, 0, w.stream, 1 << 20, 0, SITE("op"));
  });
  add("gpuasync_dealloc", [](World &w, gpuasync_frame *f) {
    gpuasync_dealloc(f, 0, w.stream, take(w.x), SITE("op"));
  });
  add("gpuasync_memcpy", [](World &w, gpuasync_frame *f) {
    static uint32_t out[1024];
    gpuasync_memcpy(f, w.stream, out, w.x, 4096, SITE("op"));
  });
  add("gpuasync_memcpy_strided", [](World &w, gpuasync_frame *f) {
    static uint32_t in[1024];
    gpuasync_memcpy_strided(f, w.stream, w.x, strides, in, strides, sizes, 2, 4,
                            SITE("op"));
  });
  add("gpuasync_memset", [](World &w, gpuasync_frame *f) {
    gpuasync_memset(f, w.stream, w.x, sizes, 4, 1024, SITE("op"));
  });
  add("gpuasync_memset_strided", [](World &w, gpuasync_frame *f) {
    gpuasync_memset_strided(f, w.stream, w.x, strides, sizes, 2, sizes, 4,
                            SITE("op"));
  });
  add("gpuasync_host_register", [](World &, gpuasync_frame *f) {
    static uint32_t own[1024];
    gpuasync_host_register(f, own, 4096, SITE("op"));
  });
  add("gpuasync_host_unregister", [](World &w, gpuasync_frame *f) {
    gpuasync_host_unregister(f, w.host.data(), SITE("op"));
  });
  add("gpuasync_constant", [](World &, gpuasync_frame *f) {
    gpuasync_constant(f, 0, 1, SITE("op"));
  });
  add("gpuasync_resident", [](World &, gpuasync_frame *f) {
    static uint32_t own[1024];
    gpuasync_resident(f, 0, own, 4096, SITE("op"));
  });
  add("gpuasync_tensor_map_encode", [](World &w, gpuasync_frame *f) {
    alignas(64) char map[128];
    const int64_t extents[] = {64, 64}, rows[] = {64, 1}, box[] = {16, 16};
    gpuasync_tensor_format format = {7, 2, 0, 0, 0, 0};
    gpuasync_tensor_map_encode(f, 0, map, w.x, extents, rows, 2, box, &format,
                               SITE("op"));
  });
}

/// The functions that stand in for a frame's, in a frame of their own.
Status callStandIns(World &w) {
  auto standIn = [](auto *function, const char *name) {
    return reinterpret_cast<decltype(function)>(gpuasync_check_find(name));
  };
#define STAND_IN(name) standIn(&::name, #name)
  static uint32_t own[1024];
  gpuasync_frame inner;
  STAND_IN(gpuasync_frame_enter)(&inner, &w.second.function);
  gpuasync_stream *stream =
      STAND_IN(gpuasync_stream_create)(&inner, 0, SITE("op"));
  gpuasync_stream *urgent =
      STAND_IN(gpuasync_stream_create_urgent)(&inner, 0, SITE("op"));
  STAND_IN(gpuasync_stream_destroy)(&inner, urgent, 0, SITE("op"));
  void *y = STAND_IN(gpuasync_alloc)(&inner, 0, stream, 4096, 0, SITE("op"));
  STAND_IN(gpuasync_memset)(&inner, stream, y, sizes, 4, 1024, SITE("op"));
  STAND_IN(gpuasync_host_register)(&inner, own, 4096, SITE("op"));
  STAND_IN(gpuasync_host_unregister)(&inner, own, SITE("op"));
  gpuasync_event *point =
      STAND_IN(gpuasync_event_record)(&inner, stream, SITE("op"));
  STAND_IN(gpuasync_stream_wait)(&inner, stream, point, SITE("op"));
  STAND_IN(gpuasync_event_destroy)(&inner, point, SITE("op"));
  STAND_IN(gpuasync_dealloc)(&inner, 0, stream, y, SITE("op"));
  if (!inner.failed)
    STAND_IN(gpuasync_stream_query)(&inner, stream, SITE("op"));
  if (!inner.failed)
    STAND_IN(gpuasync_stream_synchronize)(&inner, &stream, 1, SITE("op"));
  STAND_IN(gpuasync_stream_destroy)(&inner, stream, 0, SITE("op"));
  return Status(STAND_IN(gpuasync_frame_leave)(&inner));
#undef STAND_IN
}

void addEntriesOfPrograms(Table &table) {
  auto add = [&](const char *name, EntryCall::Kind kind,
                 std::function<Status(World &)> call) {
    table.push_back({name, kind, std::move(call)});
  };
  constexpr auto refuses = EntryCall::Refuses, silent = EntryCall::IsSilent,
                 serves = EntryCall::Serves, ends = EntryCall::Ends;
  //===--- RuntimeABI.h
  add("gpuasync_frame_enter", refuses, [](World &w) {
    gpuasync_frame inner;
    gpuasync_frame_enter(&inner, &w.second.function);
    return Status(gpuasync_frame_leave(&inner));
  });
  add("gpuasync_frame_leave", silent, [](World &w) {
    w.leave();
    return Status();
  });
  add("gpuasync_frame_leave_or_abort", EntryCall::Aborts, [](World &w) {
    gpuasync_frame inner;
    gpuasync_frame_enter(&inner, &w.second.function);
    gpuasync_frame_leave_or_abort(&inner);
    return Status();
  });
  add("gpuasync_frame_fail", serves, [](World &w) {
    gpuasync_frame_fail(&w.frame, nullptr);
    return Status();
  });
  add("gpuasync_frame_fail_at", serves, [](World &w) {
    gpuasync_frame_fail_at(&w.frame, nullptr, 0);
    return Status();
  });
  add("gpuasync_host_assert_fail", refuses, [](World &w) {
    gpuasync_frame inner;
    gpuasync_frame_enter(&inner, &w.second.function);
    gpuasync_host_assert_fail(&inner, 0);
    return except({GPUASYNC_KERNEL_ASSERT}, gpuasync_frame_leave(&inner));
  });
  add("gpuasync_stream_enqueue_host", refuses, [](World &w) {
    // The cpu device's only.
    return except({GPUASYNC_UNSUPPORTED},
                  gpuasync_stream_enqueue_host(
                      w.callers, [](void *) -> int32_t { return 0; }, sizes,
                      sizeof(sizes)));
  });
  add("gpuasync_stream_enqueue_gate", refuses, [](World &w) {
    gpuasync_gate *gate = nullptr;
    Status status = except({GPUASYNC_UNSUPPORTED},
                           gpuasync_stream_enqueue_gate(
                               w.callers, [](void *, const char *) {}, sizes,
                               sizeof(sizes), &gate));
    gpuasync_gate_open(gate, nullptr);
    return status;
  });
  add("gpuasync_gate_open", serves, [](World &) {
    gpuasync_gate_open(nullptr, nullptr);
    return Status();
  });
  add("gpuasync_program_release", ends, [](World &w) {
    return Status(gpuasync_program_release(&w.second.program));
  });
  add("gpuasync_program_release_or_abort", EntryCall::Aborts, [](World &w) {
    gpuasync_program_release_or_abort(&w.second.program);
    return Status();
  });
  add("gpuasync_status_get_code", serves, [](World &) {
    gpuasync_status_get_code(nullptr);
    return Status();
  });
  add("gpuasync_status_get_message", serves, [](World &) {
    gpuasync_status_get_message(nullptr);
    return Status();
  });
  add("gpuasync_status_make", serves, [](World &) {
    gpuasync_status_free(gpuasync_status_make(1, "text"));
    return Status();
  });
  add("gpuasync_status_free", serves, [](World &) {
    gpuasync_status_free(nullptr);
    return Status();
  });
  add("gpuasync_event_wait", refuses,
      [](World &w) { return Status(gpuasync_event_wait(w.token)); });
  add("gpuasync_event_release", silent, [](World &w) {
    gpuasync_event_release(take(w.token));
    return Status();
  });
  add("gpuasync_abi_version", serves, [](World &) {
    gpuasync_abi_version();
    return Status();
  });

  //===--- Program.h
  add("gpuasync_program_load", refuses, [](World &w) {
    return Status(gpuasync_program_load(&w.second.program, w.context));
  });
  add("gpuasync_prepare", refuses, [](World &w) {
    const gpuasync_program *programs[] = {&w.program.program,
                                          &w.second.program};
    return Status(gpuasync_prepare(programs, 2, &w.context, 1, 2));
  });
  add("gpuasync_modules_release", silent, [](World &) {
    gpuasync_modules_release(nullptr);
    return Status();
  });
  add("gpuasync_modules_limit", refuses, [](World &w) {
    return Status(gpuasync_modules_limit(w.context, UINT64_MAX, 8, 0));
  });
  add("gpuasync_modules_hook", refuses, [](World &w) {
    gpuasync_module_hooks hooks = {};
    hooks.structSize = sizeof(hooks);
    return Status(gpuasync_modules_hook(w.context, &hooks));
  });
  add("gpuasync_modules_insert", refuses, [](World &w) {
    const gpuasync_image *fitting = nullptr;
    for (const gpuasync_image &image : w.second.images)
      if (image.format ==
          (!strcmp(w.device, "cpu") ? GPUASYNC_IMAGE_CPU : GPUASYNC_IMAGE_PTX))
        fitting = &image;
    // It is loaded already.
    return except(
        {GPUASYNC_INVALID_ARGUMENT},
        gpuasync_modules_insert(w.context, &w.second.program, 0, fitting));
  });

  //===--- Stats.h
  add("gpuasync_stats_read", EntryCall::Reads, [](World &w) {
    gpuasync_stats stats;
    stats.structSize = sizeof(stats);
    return Status(gpuasync_stats_read(w.context, &stats));
  });
  add("gpuasync_stats_reset", silent, [](World &w) {
    gpuasync_stats_reset(w.context);
    return Status();
  });
  add("gpuasync_leaks_list", silent, [](World &w) {
    gpuasync_leaks_list(w.context, nullptr, nullptr);
    return Status();
  });
  add("gpuasync_stats_json", silent, [](World &w) {
    char text[2000];
    gpuasync_stats_json(w.context, text, sizeof(text));
    return Status();
  });

  //===--- Trace.h
  // There may be one, or none.
  add("gpuasync_trace_start", refuses, [](World &) {
    return except({GPUASYNC_INVALID_ARGUMENT}, gpuasync_trace_start(nullptr));
  });
  add("gpuasync_trace_stop", refuses, [](World &) {
    return except({GPUASYNC_INVALID_ARGUMENT}, gpuasync_trace_stop());
  });
  add("gpuasync_trace_subscribe", refuses, [](World &) {
    return except({GPUASYNC_INVALID_ARGUMENT},
                  gpuasync_trace_subscribe(
                      [](void *, const gpuasync_trace_record *) {}, nullptr));
  });
  add("gpuasync_trace_unsubscribe", refuses, [](World &) {
    return except({GPUASYNC_INVALID_ARGUMENT}, gpuasync_trace_unsubscribe());
  });
  add("gpuasync_profile_list", silent, [](World &) {
    gpuasync_profile_list(nullptr, nullptr);
    return Status();
  });

  //===--- Memory.h
  static char known[64];
  add("gpuasync_host_memory_add", refuses, [](World &) {
    return Status(gpuasync_host_memory_add(known, 64, "known", nullptr));
  });
  add("gpuasync_host_memory_find", silent, [](World &) {
    gpuasync_host_memory_find(known, 4, nullptr, nullptr, nullptr, nullptr);
    return Status();
  });
  add("gpuasync_host_memory_remove", silent, [](World &) {
    gpuasync_host_memory_remove(known);
    return Status();
  });
  add("gpuasync_host_memory_changed", silent, [](World &) {
    gpuasync_host_memory_changed(known, 64);
    return Status();
  });
  static gpuasync_call_array array = {known, 64, "known"};
  static gpuasync_call_arrays arrays = {&array, 1, nullptr};
  add("gpuasync_call_arrays_push", silent, [](World &) {
    gpuasync_call_arrays_push(&arrays);
    gpuasync_call_arrays_pop();
    return Status();
  });
  add("gpuasync_call_arrays_pop", silent, [](World &) {
    gpuasync_call_arrays_pop();
    return Status();
  });

  //===--- Context.h
  add("gpuasync_device_list", silent, [](World &w) {
    gpuasync_device_list([](void *, const char *, const char *, const char *,
                            uint64_t, const char *) {},
                         &w);
    return Status();
  });
  add("gpuasync_context_open", refuses, [](World &w) {
    gpuasync_context *made = nullptr;
    Status status(gpuasync_context_open(w.device, &made));
    gpuasync_context_release(made);
    return status;
  });
  add("gpuasync_context_adopt", refuses, [](World &w) {
    // There is nothing to adopt.
    gpuasync_context *made = nullptr;
    return except({GPUASYNC_INVALID_ARGUMENT, GPUASYNC_UNSUPPORTED},
                  gpuasync_context_adopt(w.device, &w, &made));
  });
  add("gpuasync_context_default", refuses, [](World &w) {
    gpuasync_context *found = nullptr;
    Status status(gpuasync_context_default(&w.program.program, &found));
    gpuasync_context_release(found);
    return status;
  });
  add("gpuasync_context_retain", serves, [](World &w) {
    gpuasync_context_retain(w.context);
    gpuasync_context_release(w.context);
    return Status();
  });
  add("gpuasync_context_release", serves, [](World &w) {
    gpuasync_context_retain(w.context);
    gpuasync_context_release(w.context);
    return Status();
  });
  add("gpuasync_context_close", ends, [](World &w) {
    w.leave();
    Status status(gpuasync_context_close(w.context));
    if (status.code() != GPUASYNC_TIMEOUT)
      w.x = w.flag = nullptr; // given back
    // Something is alive.
    return except({GPUASYNC_INVALID_ARGUMENT}, status.release());
  });
  add("gpuasync_context_trim", ends, [](World &w) {
    w.leave();
    // The library of upstream's symbols may hold a stream.
    return except({GPUASYNC_INVALID_ARGUMENT},
                  gpuasync_context_trim(w.context, 0.05));
  });
  add("gpuasync_context_wait_abandoned", refuses, [](World &w) {
    return Status(gpuasync_context_wait_abandoned(w.context, 0.05));
  });
  add("gpuasync_context_device", serves, [](World &w) {
    gpuasync_context_device(w.context);
    return Status();
  });
  add("gpuasync_context_device_name", serves, [](World &w) {
    gpuasync_context_device_name(w.context);
    return Status();
  });
  add("gpuasync_scope_push", refuses, [](World &w) {
    Status status(gpuasync_scope_push(w.context));
    if (status.ok())
      gpuasync_scope_pop();
    return status;
  });
  add("gpuasync_scope_push_devices", refuses, [](World &w) {
    Status status(gpuasync_scope_push_devices(&w.context, 1));
    if (status.ok())
      gpuasync_scope_pop();
    return status;
  });
  add("gpuasync_scope_pop", ends, [](World &w) {
    gpuasync_scope_pop();
    return Status(gpuasync_scope_push(w.context));
  });
  add("gpuasync_thread_driver", serves, [](World &) {
    gpuasync_thread_driver();
    return Status();
  });
  add("gpuasync_thread_context", serves, [](World &) {
    gpuasync_thread_context();
    return Status();
  });
  add("gpuasync_context_stream_create", refuses, [](World &w) {
    gpuasync_stream *made = nullptr;
    Status status(gpuasync_context_stream_create(w.context, &made));
    gpuasync_context_stream_destroy(made);
    return status;
  });
  add("gpuasync_context_stream_native", serves, [](World &w) {
    gpuasync_context_stream_native(w.callers);
    return Status();
  });
  add("gpuasync_context_stream_synchronize", refuses, [](World &w) {
    return Status(gpuasync_context_stream_synchronize(w.callers));
  });
  add("gpuasync_context_stream_destroy", silent, [](World &w) {
    gpuasync_context_stream_destroy(take(w.callers));
    return Status();
  });
  add("gpuasync_set_timeout", serves, [](World &) {
    gpuasync_set_timeout(0.05);
    return Status();
  });
  add("gpuasync_get_timeout", serves, [](World &) {
    (void)gpuasync_get_timeout();
    return Status();
  });
  add("gpuasync_context_fail", serves, [](World &) {
    gpuasync_context_fail(nullptr, "a text");
    return Status();
  });
  add("gpuasync_context_set_rank", serves, [](World &) {
    gpuasync_context_set_rank(nullptr, 1);
    return Status();
  });
  add("gpuasync_set_spin", serves, [](World &) {
    gpuasync_set_spin(50);
    return Status();
  });
  add("gpuasync_set_cpu_schedule", refuses,
      [](World &) { return Status(gpuasync_set_cpu_schedule("fair")); });
  add("gpuasync_set_play", refuses,
      [](World &) { return Status(gpuasync_set_play("streams")); });
  add("gpuasync_process_forked", serves, [](World &) {
    gpuasync_process_forked();
    return Status();
  });
  add("gpuasync_process_exiting", serves, [](World &) {
    gpuasync_process_exiting();
    return Status();
  });
  add("gpuasync_thread_end_in_exit", serves, [](World &) {
    gpuasync_thread_end_in_exit();
    return Status();
  });
  add("gpuasync_shutdown", ends, [](World &w) {
    w.leave();
    Status status(gpuasync_shutdown());
    if (status.code() != GPUASYNC_TIMEOUT)
      w.x = w.flag = nullptr; // given back
    // Something is alive, of upstream's symbols too.
    return except({GPUASYNC_INVALID_ARGUMENT, GPUASYNC_DRIVER_ERROR},
                  status.release());
  });
}

void addDiskCache(Table &table) {
  auto add = [&](const char *name, std::function<void(World &)> call) {
    table.push_back({name, EntryCall::Serves, [call](World &w) {
                       call(w);
                       return Status();
                     }});
  };
  auto addHasher = [&](const char *name,
                       std::function<void(gpuasync_hasher *)> call) {
    add(name, [call](World &) {
      gpuasync_hasher hasher;
      gpuasync_hasher_begin(&hasher);
      call(&hasher);
    });
  };
  addHasher("gpuasync_hasher_begin", [](gpuasync_hasher *) {});
  addHasher("gpuasync_hasher_add", [](gpuasync_hasher *hasher) {
    gpuasync_hasher_add(hasher, sizes, sizeof(sizes));
  });
  addHasher("gpuasync_hasher_add_part", [](gpuasync_hasher *hasher) {
    gpuasync_hasher_add_part(hasher, "sizes", sizes, sizeof(sizes));
  });
  addHasher("gpuasync_hasher_add_code", [](gpuasync_hasher *hasher) {
    gpuasync_hasher_add_code(hasher, nullptr);
  });
  addHasher("gpuasync_hasher_add_file", [](gpuasync_hasher *hasher) {
    gpuasync_hasher_add_file(hasher, "/bin/sh");
  });
  addHasher("gpuasync_hasher_end", [](gpuasync_hasher *hasher) {
    gpuasync_digest key;
    gpuasync_hasher_end(hasher, &key);
  });
  add("gpuasync_disk_cache_default",
      [](World &) { gpuasync_disk_cache_default(); });
  add("gpuasync_disk_cache_open", [](World &) {
    gpuasync_disk_cache_close(gpuasync_disk_cache_open("/nowhere", 1));
  });
  add("gpuasync_disk_cache_close", [](World &) {
    gpuasync_disk_cache_close(gpuasync_disk_cache_open("/nowhere", 1));
  });
  add("gpuasync_disk_cache_lookup", [](World &w) {
    gpuasync_disk_entry entry;
    gpuasync_digest key = digest();
    if (w.cache && gpuasync_disk_cache_lookup(w.cache, &key, &entry))
      gpuasync_disk_entry_free(&entry);
  });
  add("gpuasync_disk_entry_free", [](World &) {
    gpuasync_disk_entry entry = {};
    gpuasync_disk_entry_free(&entry);
  });
  add("gpuasync_disk_cache_store", [](World &) {
    // A folder that cannot be made: there is a warning then.
    gpuasync_digest key = digest();
    gpuasync_disk_cache *cache =
        gpuasync_disk_cache_open("/dev/null/folder", 1 << 20);
    if (cache)
      gpuasync_disk_cache_store(cache, &key, &key, sizeof(key));
    gpuasync_disk_cache_close(cache);
  });
  add("gpuasync_disk_cache_take_warning", [](World &w) {
    if (w.cache)
      gpuasync_status_free(gpuasync_disk_cache_take_warning(w.cache));
  });
  add("gpuasync_disk_cache_stats_read", [](World &w) {
    gpuasync_disk_cache_stats stats;
    stats.structSize = sizeof(stats);
    if (w.cache)
      gpuasync_status_free(gpuasync_disk_cache_stats_read(w.cache, &stats));
  });
  add("gpuasync_disk_cache_folder", [](World &w) {
    if (w.cache)
      gpuasync_disk_cache_folder(w.cache);
  });
}

void addCheck(Table &table) {
  auto add = [&](const char *name, EntryCall::Kind kind,
                 std::function<void(World &)> call) {
    table.push_back({name, kind, [call](World &w) {
                       call(w);
                       return Status();
                     }});
  };
  table.push_back({"gpuasync_check_find", EntryCall::Refuses, callStandIns});
  add("gpuasync_cpu_check_install", EntryCall::Serves,
      [](World &) { gpuasync_cpu_check_install(nullptr); });
  add("gpuasync_check_context", EntryCall::Serves,
      [](World &w) { gpuasync_check_context(&w.frame); });
  add("gpuasync_check_site", EntryCall::Serves,
      [](World &w) { gpuasync_check_site(&w.frame, SITE("op")); });
  add("gpuasync_check_constant_bytes", EntryCall::Serves,
      [](World &w) { gpuasync_check_constant_bytes(&w.frame, 1); });
  add("gpuasync_check_own", EntryCall::IsSilent,
      [](World &w) { gpuasync_check_own(w.host.data(), 4096, "a\nb\nc", 1); });
  add("gpuasync_check_host", EntryCall::IsSilent, [](World &w) {
    gpuasync_check_host(w.host.data(), w.host.data(),
                        4 << 8 | GPUASYNC_CHECK_READ, "a\nb\nc");
  });
  add("gpuasync_check_host_pointer", EntryCall::IsSilent, [](World &w) {
    gpuasync_check_host_pointer(w.host.data(), w.host.data(),
                                4 << 8 | GPUASYNC_CHECK_READ, "a\nb\nc");
  });
  add("gpuasync_check_operand", EntryCall::IsSilent, [](World &w) {
    gpuasync_check_operand(w.host.data(), w.host.data(),
                           4 << 8 | GPUASYNC_CHECK_READ, 1);
    return Status();
  });
  add("gpuasync_check_uniform", EntryCall::IsSilent, [](World &) {
    gpuasync_check_uniform(0, -1, 0, 2, 3, GPUASYNC_CHECK_INTEGER, "a\nb\nc");
    return Status();
  });
  add("gpuasync_check_start_of", EntryCall::IsSilent, [](World &w) {
    gpuasync_check_start_of(w.host.data(), w.host.data(), "a\nb\nc");
  });
  static char own[64];
  add("gpuasync_check_host_alloc", EntryCall::IsSilent,
      [](World &) { gpuasync_check_host_alloc(own, 64, "a\nb\nc"); });
  add("gpuasync_check_host_free", EntryCall::IsSilent,
      [](World &) { gpuasync_check_host_free(own, "a\nb\nc"); });
  add("gpuasync_check_start", EntryCall::IsSilent, [](World &w) {
    gpuasync_check_start([](void *, const char *) {}, &w);
    gpuasync_cpu_check_install(nullptr);
  });
  add("gpuasync_check_finish", EntryCall::IsSilent, [](World &) {
    uint64_t unprinted = 0;
    gpuasync_check_finish(&unprinted);
  });
  for (const char *name :
       {"gpuasync_cpu_printf", "gpuasync_cpu_assert_fail",
        "gpuasync_check_access", "gpuasync_check_pointer",
        "gpuasync_check_index", "gpuasync_check_arrive",
        "gpuasync_check_assert", "gpuasync_cpu_check_barrier"})
    table.push_back({name, EntryCall::InKernels, nullptr});
}

// Sparse.cpp: one error, and nothing else.
// clang-format off
#define SPARSE_FUNCTIONS(X) \
  X(mgpuCreateSparseEnv) \
  X(mgpuDestroySparseEnv) \
  X(mgpuCreateDnVec) \
  X(mgpuDestroyDnVec) \
  X(mgpuCreateDnMat) \
  X(mgpuDestroyDnMat) \
  X(mgpuCreateCoo) \
  X(mgpuCreateCooAoS) \
  X(mgpuCreateCsr) \
  X(mgpuCreateCsc) \
  X(mgpuCreateBsr) \
  X(mgpuDestroySpMat) \
  X(mgpuSpMV) \
  X(mgpuSpMMBufferSize) \
  X(mgpuSpMM) \
  X(mgpuSDDMMBufferSize) \
  X(mgpuSDDMM) \
  X(mgpuSpGEMMCreateDescr) \
  X(mgpuSpGEMMDestroyDescr) \
  X(mgpuSpGEMMWorkEstimation) \
  X(mgpuSpGEMMCompute) \
  X(mgpuSpGEMMCopy) \
  X(mgpuSpMatGetSize) \
  X(mgpuSetCsrPointers) \
  X(mgpuCreateSparseLtEnv) \
  X(mgpuDestroySparseLtEnv) \
  X(mgpuDestroyCuSparseLtDnMat) \
  X(mgpuCusparseLtCreate2To4SpMat) \
  X(mgpuDestroyCuSparseLtSpMat) \
  X(mgpuCuSparseLtSpMMBufferSize) \
  X(mgpuCuSparseLtSpMM) \
  X(mgpuSpMVBufferSize) \
  X(mgpuCreateCuSparseLtDnMat)
// clang-format on

void addUpstream(Table &table) {
  auto add = [&](const char *name, std::function<void(World &)> call) {
    table.push_back({name, EntryCall::Refuses, [call](World &w) {
                       call(w);
                       return errorOfMgpu();
                     }});
  };
  auto addRelease = [&](const char *name, std::function<void(World &)> call) {
    table.push_back({name, EntryCall::IsSilent, [call](World &w) {
                       call(w);
                       return Status();
                     }});
  };
  /// What only a GPU has.
  auto addOnGPU = [&](const char *name, std::function<void(World &)> call) {
    add(name, [call](World &w) {
      if (strcmp(w.device, "cpu") != 0 || gpuasync_process_forked())
        call(w);
    });
  };
  table.push_back({"gpuasync_session_open", EntryCall::Refuses, [](World &) {
                     gpuasync::Session *session = nullptr;
                     Status status(gpuasync_session_open(
                         gpuasync::sessionVersion, nullptr, &session));
                     if (session)
                       session->close();
                     return status;
                   }});
  table.push_back({"gpuasync_mgpu_read_stats", EntryCall::Reads, [](World &) {
                     gpuasync_mgpu_stats stats;
                     stats.structSize = sizeof(stats);
                     return Status(gpuasync_mgpu_read_stats(&stats));
                   }});
  addRelease("gpuasync_mgpu_error", [](World &) { gpuasync_mgpu_error(); });
  table.push_back({"gpuasync_mgpu_close", EntryCall::Ends, [](World &w) {
                     Status said = errorOfMgpu();
                     gpuasync_mgpu_close();
                     w.mgpuStream = w.mgpuEvent = w.mgpuModule =
                         w.mgpuFunction = w.mgpuMemory = nullptr;
                     return gpuasync_process_forked() ? std::move(said)
                                                      : Status();
                   }});
  add("mgpuStreamCreate",
      [](World &) { mgpuStreamDestroy(mgpuStreamCreate()); });
  add("mgpuStreamSynchronize",
      [](World &w) { mgpuStreamSynchronize(w.mgpuStream); });
  add("mgpuStreamWaitEvent",
      [](World &w) { mgpuStreamWaitEvent(w.mgpuStream, w.mgpuEvent); });
  add("mgpuEventCreate", [](World &) { mgpuEventDestroy(mgpuEventCreate()); });
  add("mgpuEventSynchronize",
      [](World &w) { mgpuEventSynchronize(w.mgpuEvent); });
  add("mgpuEventRecord",
      [](World &w) { mgpuEventRecord(w.mgpuEvent, w.mgpuStream); });
  add("mgpuMemAlloc", [](World &w) {
    mgpuMemFree(mgpuMemAlloc(256, w.mgpuStream, false), w.mgpuStream);
  });
  add("mgpuMemcpy", [](World &w) {
    mgpuMemcpy(w.mgpuMemory, w.host.data(), 256, w.mgpuStream);
  });
  add("mgpuMemset32",
      [](World &w) { mgpuMemset32(w.mgpuMemory, 1, 64, w.mgpuStream); });
  add("mgpuMemset16",
      [](World &w) { mgpuMemset16(w.mgpuMemory, 1, 64, w.mgpuStream); });
  static uint32_t own[1024];
  add("mgpuMemHostRegister", [](World &) { mgpuMemHostRegister(own, 4096); });
  add("mgpuMemHostRegisterMemRef", [](World &) {
    MemRef1d descriptor = {own, own, 0, 1024, 1};
    mgpuMemHostRegisterMemRef(1, &descriptor, 4);
  });
  add("mgpuMemGetDeviceMemRef1dFloat", [](World &w) {
    auto *data = reinterpret_cast<float *>(w.host.data());
    mgpuMemGetDeviceMemRef1dFloat(data, data, 0, 4, 1);
  });
  add("mgpuMemGetDeviceMemRef1dInt32", [](World &w) {
    auto *data = reinterpret_cast<int32_t *>(w.host.data());
    mgpuMemGetDeviceMemRef1dInt32(data, data, 0, 4, 1);
  });
  add("mgpuSetDefaultDevice", [](World &) { mgpuSetDefaultDevice(0); });
  static std::string text = ptx();
  addOnGPU("mgpuModuleLoad",
           [](World &) { mgpuModuleLoad(text.data(), text.size()); });
  addOnGPU("mgpuModuleLoadJIT",
           [](World &) { mgpuModuleLoadJIT(text.data(), 0); });
  addOnGPU("mgpuModuleGetFunction",
           [](World &w) { mgpuModuleGetFunction(w.mgpuModule, "mulAdd"); });
  addOnGPU("mgpuLaunchKernel", [](World &w) {
    uint32_t value = 1;
    void *parameters[] = {&w.mgpuMemory, &value};
    mgpuLaunchKernel(w.mgpuFunction, 1, 1, 1, 64, 1, 1, 0, w.mgpuStream,
                     parameters, nullptr, 2);
  });
  addOnGPU("mgpuLaunchClusterKernel", [](World &w) {
    uint32_t value = 1;
    void *parameters[] = {&w.mgpuMemory, &value};
    mgpuLaunchClusterKernel(w.mgpuFunction, 1, 1, 1, 1, 1, 1, 64, 1, 1, 0,
                            w.mgpuStream, parameters, nullptr, 2);
  });
  addOnGPU("mgpuTensorMapEncodeTiled", [](World &w) {
    uint64_t extents[] = {64, 64}, rows[] = {256};
    uint32_t box[] = {16, 16}, ones[] = {1, 1};
    alignas(64) char map[128];
    mgpuTensorMapEncodeTiled(map, 7, 2, w.mgpuMemory, extents, rows, box, ones,
                             0, 0, 0, 0);
  });
  addOnGPU("mgpuTensorMapEncodeTiledMemref", [](World &w) {
    struct {
      void *base, *data;
      int64_t offset, sizes[2], strides[2];
    } descriptor = {w.mgpuMemory, w.mgpuMemory, 0, {64, 64}, {64, 1}};
    int64_t box[] = {16, 16};
    mgpuMemFree(
        mgpuTensorMapEncodeTiledMemref(2, &descriptor, 7, 0, 0, 0, 0, box),
        nullptr);
  });
  addRelease("mgpuStreamDestroy",
             [](World &w) { mgpuStreamDestroy(take(w.mgpuStream)); });
  addRelease("mgpuEventDestroy",
             [](World &w) { mgpuEventDestroy(take(w.mgpuEvent)); });
  addRelease("mgpuMemFree",
             [](World &w) { mgpuMemFree(take(w.mgpuMemory), nullptr); });
  addRelease("mgpuMemHostUnregister",
             [](World &) { mgpuMemHostUnregister(own); });
  addRelease("mgpuMemHostUnregisterMemRef", [](World &) {
    MemRef1d descriptor = {own, own, 0, 1024, 1};
    mgpuMemHostUnregisterMemRef(1, &descriptor, 4);
  });
  addRelease("mgpuModuleUnload",
             [](World &w) { mgpuModuleUnload(take(w.mgpuModule)); });
#define ADD(name) table.push_back({#name, EntryCall::Missing, nullptr});
  SPARSE_FUNCTIONS(ADD)
#undef ADD
}

} // namespace

Status gpuasync_test::errorOfMgpu() {
  const char *error = gpuasync_mgpu_error();
  if (!error)
    return Status();
  bool down = strstr(error, "forked") || strstr(error, "shutdown") ||
              strstr(error, "exiting") || strstr(error, "closed");
  return Status(
      gpuasync_status_make(down                      ? GPUASYNC_SHUT_DOWN
                           : strstr(error, "lost")   ? GPUASYNC_DEVICE_LOST
                           : strstr(error, "timed")  ? GPUASYNC_TIMEOUT
                           : strstr(error, "memory") ? GPUASYNC_OUT_OF_MEMORY
                                                     : GPUASYNC_DRIVER_ERROR,
                           error));
}

const Table &gpuasync_test::entryCalls() {
  static const Table table = [] {
    Table made;
    addFrameEntries(made);
    addEntriesOfPrograms(made);
    addDiskCache(made);
    addCheck(made);
    addUpstream(made);
    return made;
  }();
  return table;
}

//===----------------------------------------------------------------------===//
// What a library exports
//===----------------------------------------------------------------------===//

std::vector<std::string> gpuasync_test::exportsOf(const char *library) {
  std::vector<std::string> names;
  int file = open(library, O_RDONLY);
  struct stat info = {};
  if (file < 0 || fstat(file, &info) != 0)
    return names;
  const size_t size = static_cast<size_t>(info.st_size);
  void *mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  auto *bytes = static_cast<const char *>(mapped);
  auto *header = reinterpret_cast<const Elf64_Ehdr *>(bytes);
  auto *sections =
      reinterpret_cast<const Elf64_Shdr *>(bytes + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr &section = sections[i];
    if (section.sh_type != SHT_DYNSYM)
      continue;
    const char *text = bytes + sections[section.sh_link].sh_offset;
    auto *symbols =
        reinterpret_cast<const Elf64_Sym *>(bytes + section.sh_offset);
    for (size_t j = 0; j < section.sh_size / sizeof(Elf64_Sym); ++j) {
      const char *name = text + symbols[j].st_name;
      bool ours = !strncmp(name, "gpuasync_", 9) || !strncmp(name, "mgpu", 4);
      if (symbols[j].st_shndx != SHN_UNDEF && ours &&
          ELF64_ST_TYPE(symbols[j].st_info) == STT_FUNC)
        names.push_back(name);
    }
  }
  munmap(mapped, size);
  return names;
}
