//===- Nulls.cpp - Each public entry with null for each pointer -----------===//
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

#include <string.h>
#include <tuple>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// Calls `function` with null in place of the pointer number `which` of its
/// arguments. False if it has no more pointers.
template <typename Result, typename... Parameters>
bool callWithNull(Result (*function)(Parameters...),
                  std::tuple<Parameters...> arguments, int which,
                  Status &said) {
  int pointers = 0;
  bool found = false;
  auto replace = [&](auto &argument) {
    if constexpr (std::is_pointer_v<
                      std::remove_reference_t<decltype(argument)>>)
      if (pointers++ == which) {
        argument = nullptr;
        found = true;
      }
  };
  std::apply([&](auto &...argument) { (replace(argument), ...); }, arguments);
  if (!found)
    return false;
  if constexpr (std::is_same_v<Result, gpuasync_status *>)
    said = Status(std::apply(function, arguments));
  else
    (void)std::apply(function, arguments);
  return true;
}

template <typename Result, typename... Parameters, typename... Arguments>
bool withNull(int which, Status &said, Result (*function)(Parameters...),
              Arguments... arguments) {
  return callWithNull(function, std::tuple<Parameters...>(arguments...), which,
                      said);
}

template <typename T>
T *take(T *&from) {
  T *taken = from;
  from = nullptr;
  return taken;
}

const int64_t sizes[] = {4, 4}, strides[] = {8, 1};
uint32_t words[1024];
char text[2000];
gpuasync_digest key = {};

using W = World;

std::vector<NullCall> makeCalls() {
  std::vector<NullCall> calls;
  auto add = [&](const char *name, const char *expected,
                 bool (*call)(W &, int, Status &)) {
    calls.push_back({name, expected, call});
  };
#define ENTRY(name, expected, ...)                                             \
  add(#name, expected, [](W &w, int which, Status &said) {                     \
    (void)w;                                                                   \
    return withNull(which, said, &::name, ##__VA_ARGS__);                      \
  })

  //===--- RuntimeABI.h
  add("gpuasync_frame_enter", "-r", [](W &w, int which, Status &said) {
    gpuasync_frame inner;
    bool found = withNull(which, said, &gpuasync_frame_enter, &inner,
                          &w.second.function);
    if (found)
      said = Status(gpuasync_frame_leave(&inner));
    return found;
  });
  ENTRY(gpuasync_frame_leave, "-", &w.frame);
  ENTRY(gpuasync_frame_leave_or_abort, "-", &w.frame);
  ENTRY(gpuasync_frame_suspend, "-", &w.frame);
  ENTRY(gpuasync_frame_resume, "-", &w.frame);
  ENTRY(gpuasync_frame_fail, "-m", &w.frame, nullptr);
  ENTRY(gpuasync_frame_fail_at, "-m", &w.frame, nullptr, 0);
  ENTRY(gpuasync_host_assert_fail, "-", &w.frame, 0);
  ENTRY(gpuasync_region_begin, "-", &w.frame, 0);
  ENTRY(gpuasync_region_end, "-", &w.frame, 0);
  // Empty, so that it needs no lanes and no arguments.
  static const gpuasync_fragment fragment = {
      0, 0, 0, SITE("op"), nullptr, nullptr, nullptr, nullptr};
  ENTRY(gpuasync_region_run, "-rmm", &w.frame, &fragment, nullptr, nullptr);
  ENTRY(gpuasync_region_add, "-rrr", &w.frame, nullptr, nullptr, nullptr);
  ENTRY(gpuasync_stream_create, "-", &w.frame, 0, 0);
  ENTRY(gpuasync_stream_create_urgent, "-", &w.frame, 0, 0);
  ENTRY(gpuasync_stream_external, "-m", &w.frame, 0, nullptr, 0);
  ENTRY(gpuasync_stream_native, "-r", &w.frame, w.stream, 0);
  ENTRY(gpuasync_call_begin, "-r", &w.frame, &w.stream, 1, 0);
  ENTRY(gpuasync_call_end, "-", &w.frame, 0, 0);
  add("gpuasync_call_copy", "rrm", [](W &w, int which, Status &said) {
    const gpuasync_call *call = gpuasync_call_begin(&w.frame, &w.stream, 1, 0);
    const bool found =
        withNull(which, said, &gpuasync_call_copy, call, w.x, w.x, 64);
    gpuasync_call_end(&w.frame, 0, 0);
    return found;
  });
  ENTRY(
      gpuasync_call_replayable, "-rrr", &w.frame, &w.stream, 1,
      [](const gpuasync_call *, const void *) -> int32_t { return 0; }, words,
      64, 0);
  ENTRY(
      gpuasync_stream_enqueue_host, "rrr", w.callers,
      [](void *) -> int32_t { return 0; }, words, 64);
  add("gpuasync_stream_enqueue_gate", "rrrr",
      [](W &w, int which, Status &said) {
        gpuasync_gate *gate = nullptr;
        bool found = withNull(
            which, said, &gpuasync_stream_enqueue_gate, w.callers,
            [](void *, const char *) {}, words, 64, &gate);
        gpuasync_gate_open(gate, nullptr);
        return found;
      });
  ENTRY(gpuasync_gate_open, "mm", nullptr, nullptr);
  ENTRY(gpuasync_stream_destroy, "-m", &w.frame, w.stream, 0, 0);
  ENTRY(gpuasync_stream_wait, "-rm", &w.frame, w.stream, w.event, 0);
  ENTRY(gpuasync_stream_synchronize, "-r", &w.frame, &w.stream, 1, 0);
  ENTRY(gpuasync_stream_query, "-r", &w.frame, w.stream, 0);
  ENTRY(gpuasync_event_record, "-r", &w.frame, w.stream, 0);
  ENTRY(gpuasync_event_destroy, "-m", &w.frame, w.event, 0);
  ENTRY(gpuasync_event_synchronize, "-r", &w.frame, &w.event, 1, 0);
  ENTRY(gpuasync_event_export, "-m", &w.frame, w.event, 0);
  ENTRY(gpuasync_event_import, "-m", &w.frame, w.token, 0);
  add("gpuasync_launch", "-rr", [](W &w, int which, Status &said) {
    alignas(16) StoreParams params = {w.x, 1};
    gpuasync_launch_config block = makeLaunch(1, 64, params);
    block.paramBytes = w.program.kernels[Store].paramBytes;
    return withNull(which, said, &::gpuasync_launch, &w.frame, w.stream,
                    w.program.launchSites[Store], &block);
  });
  ENTRY(gpuasync_extent, "-rm", &w.frame, sizes, strides, 2, 4, 0);
  add("gpuasync_alloc", "-m", [](W &w, int which, Status &said) {
    return withNull(which, said, &gpuasync_alloc, &w.frame, 0, w.stream, 64, 0,
                    0);
  });
  ENTRY(gpuasync_dealloc, "-mm", &w.frame, 0, w.stream,
        which == 1 ? take(w.x) : w.x, 0);
  ENTRY(gpuasync_memcpy, "-rrr", &w.frame, w.stream, w.x, words, 64, 0);
  ENTRY(gpuasync_memcpy_strided, "-rrrrrr", &w.frame, w.stream, w.x, strides,
        words, strides, sizes, 2, 4, 0);
  ENTRY(gpuasync_memset, "-rrr", &w.frame, w.stream, w.x, words, 4, 8, 0);
  ENTRY(gpuasync_memset_strided, "-rrrrr", &w.frame, w.stream, w.x, strides,
        sizes, 2, words, 4, 0);
  ENTRY(gpuasync_host_register, "-r", &w.frame, words, 64, 0);
  ENTRY(gpuasync_host_unregister, "-m", &w.frame, words, 0);
  ENTRY(gpuasync_constant, "-", &w.frame, 0, 0, 0);
  ENTRY(gpuasync_resident, "-r", &w.frame, 0, words, 64, 0);
  add("gpuasync_tensor_map_encode", "-rrrrrr",
      [](W &w, int which, Status &said) {
        alignas(64) char map[128];
        const int64_t extents[] = {64, 64}, rows[] = {64, 1}, box[] = {16, 16};
        gpuasync_tensor_format format = {7, 2, 0, 0, 0, 0};
        return withNull(which, said, &gpuasync_tensor_map_encode, &w.frame, 0,
                        map, w.x, extents, rows, 2, box, &format, 0);
      });
  ENTRY(gpuasync_program_release, "m", &w.second.program);
  ENTRY(gpuasync_program_release_or_abort, "m", &w.second.program);
  ENTRY(gpuasync_status_get_code, "m", nullptr);
  ENTRY(gpuasync_status_get_message, "m", nullptr);
  ENTRY(gpuasync_status_free, "m", nullptr);
  ENTRY(gpuasync_event_wait, "m", w.token);
  ENTRY(gpuasync_event_release, "m", w.token);
  ENTRY(gpuasync_abi_version, "");

  //===--- Program.h
  ENTRY(gpuasync_program_load, "rm", &w.second.program, w.context);
  add("gpuasync_prepare", "rr", [](W &w, int which, Status &said) {
    const gpuasync_program *programs[] = {&w.program.program};
    return withNull(which, said, &gpuasync_prepare, programs, 1, &w.context, 1,
                    1);
  });
  ENTRY(gpuasync_modules_release, "m", w.context);
  ENTRY(gpuasync_modules_limit, "r", w.context, UINT64_MAX, 8, 0);
  add("gpuasync_modules_hook", "rm", [](W &w, int which, Status &said) {
    gpuasync_module_hooks hooks = {};
    hooks.structSize = sizeof(hooks);
    return withNull(which, said, &gpuasync_modules_hook, w.context, &hooks);
  });
  ENTRY(gpuasync_modules_insert, "rrr", w.context, &w.second.program, 0,
        &w.second.images[0]);
  add("gpuasync_status_make", "-", [](W &, int which, Status &) {
    gpuasync_status_free(gpuasync_status_make(1, nullptr));
    return which < 1;
  });

  //===--- Stats.h
  add("gpuasync_stats_read", "rr", [](W &w, int which, Status &said) {
    gpuasync_stats stats;
    return withNull(which, said, &gpuasync_stats_read, w.context, &stats);
  });
  ENTRY(gpuasync_stats_reset, "m", w.context);
  ENTRY(gpuasync_leaks_list, "mmm", w.context, [](void *, const char *) {}, &w);
  ENTRY(gpuasync_stats_json, "mm", w.context, text, sizeof(text));

  //===--- Trace.h
  ENTRY(gpuasync_trace_start, "m", nullptr);
  ENTRY(gpuasync_trace_stop, "");
  ENTRY(
      gpuasync_trace_subscribe, "rm",
      [](void *, const gpuasync_trace_record *) {}, &w);
  ENTRY(gpuasync_trace_unsubscribe, "");
  ENTRY(
      gpuasync_profile_list, "mm", [](void *, const gpuasync_profile_row *) {},
      &w);

  //===--- Memory.h
  ENTRY(gpuasync_host_memory_add, "rmm", words, 64, "known", "place");
  add("gpuasync_host_memory_find", "mmmmm", [](W &, int which, Status &said) {
    const void *pointer;
    uint64_t bytes;
    const char *what, *place;
    gpuasync_status_free(gpuasync_host_memory_add(words, 64, "known", nullptr));
    bool found = withNull(which, said, &gpuasync_host_memory_find, words, 4,
                          &pointer, &bytes, &what, &place);
    gpuasync_host_memory_remove(words);
    return found;
  });
  ENTRY(gpuasync_host_memory_remove, "m", words);
  ENTRY(gpuasync_host_memory_changed, "m", words, 64);
  static gpuasync_call_array array = {words, 64, "known"};
  static gpuasync_call_arrays arrays = {&array, 1, nullptr};
  ENTRY(gpuasync_call_arrays_push, "m", &arrays);
  ENTRY(gpuasync_call_arrays_pop, "");

  //===--- Context.h
  ENTRY(
      gpuasync_device_list, "mm",
      [](void *, const char *, const char *, const char *, uint64_t,
         const char *) {},
      &w);
  add("gpuasync_context_open", "mr", [](W &w, int which, Status &said) {
    gpuasync_context *made = nullptr;
    bool found = withNull(which, said, &gpuasync_context_open, w.device, &made);
    gpuasync_context_release(made);
    return found;
  });
  add("gpuasync_context_adopt", "rrr", [](W &w, int which, Status &said) {
    gpuasync_context *made = nullptr;
    return withNull(which, said, &gpuasync_context_adopt, "cuda", &w, &made);
  });
  add("gpuasync_context_default", "mr", [](W &w, int which, Status &said) {
    gpuasync_context *found = nullptr;
    bool more = withNull(which, said, &gpuasync_context_default,
                         &w.program.program, &found);
    gpuasync_context_release(found);
    return more;
  });
  ENTRY(gpuasync_context_retain, "m", w.context);
  ENTRY(gpuasync_context_release, "m", w.context);
  ENTRY(gpuasync_context_close, "r", w.context);
  ENTRY(gpuasync_context_trim, "r", w.context, 0.05);
  ENTRY(gpuasync_context_wait_abandoned, "m", w.context, 0.05);
  ENTRY(gpuasync_context_device, "m", w.context);
  ENTRY(gpuasync_context_device_name, "m", w.context);
  ENTRY(gpuasync_scope_push, "r", w.context);
  add("gpuasync_scope_push_devices", "r", [](W &w, int which, Status &said) {
    const bool found =
        withNull(which, said, &gpuasync_scope_push_devices, &w.context, 1);
    if (found && said.ok())
      gpuasync_scope_pop();
    return found;
  });
  ENTRY(gpuasync_scope_pop, "");
  ENTRY(gpuasync_thread_driver, "");
  ENTRY(gpuasync_thread_context, "");
  add("gpuasync_context_stream_create", "rr",
      [](W &w, int which, Status &said) {
        gpuasync_stream *made = nullptr;
        return withNull(which, said, &gpuasync_context_stream_create, w.context,
                        &made);
      });
  ENTRY(gpuasync_context_stream_native, "m", w.callers);
  ENTRY(gpuasync_context_stream_synchronize, "r", w.callers);
  ENTRY(gpuasync_context_stream_destroy, "m", w.callers);
  ENTRY(gpuasync_set_timeout, "", 0);
  ENTRY(gpuasync_get_timeout, "");
  ENTRY(gpuasync_context_fail, "mm", nullptr, "a text");
  ENTRY(gpuasync_context_set_rank, "m", nullptr, 1);
  ENTRY(gpuasync_set_spin, "", 50);
  ENTRY(gpuasync_set_cpu_schedule, "r", "fair");
  ENTRY(gpuasync_set_play, "r", "streams");
  ENTRY(gpuasync_process_forked, "");
  ENTRY(gpuasync_process_exiting, "");
  ENTRY(gpuasync_thread_end_in_exit, "");
  ENTRY(gpuasync_shutdown, "");

  //===--- DiskCache.h
  ENTRY(gpuasync_hasher_begin, "m", nullptr);
  add("gpuasync_hasher_add", "mm", [](W &, int which, Status &said) {
    gpuasync_hasher hasher;
    gpuasync_hasher_begin(&hasher);
    return withNull(which, said, &gpuasync_hasher_add, &hasher, words, 64);
  });
  add("gpuasync_hasher_add_part", "mmm", [](W &, int which, Status &said) {
    gpuasync_hasher hasher;
    gpuasync_hasher_begin(&hasher);
    return withNull(which, said, &gpuasync_hasher_add_part, &hasher, "part",
                    words, 64);
  });
  add("gpuasync_hasher_add_code", "mm", [](W &, int which, Status &said) {
    gpuasync_hasher hasher;
    gpuasync_hasher_begin(&hasher);
    return withNull(which, said, &gpuasync_hasher_add_code, &hasher, words);
  });
  add("gpuasync_hasher_add_file", "mm", [](W &, int which, Status &said) {
    gpuasync_hasher hasher;
    gpuasync_hasher_begin(&hasher);
    return withNull(which, said, &gpuasync_hasher_add_file, &hasher, "/bin/sh");
  });
  add("gpuasync_hasher_end", "mm", [](W &, int which, Status &said) {
    gpuasync_hasher hasher;
    gpuasync_hasher_begin(&hasher);
    gpuasync_digest result;
    return withNull(which, said, &gpuasync_hasher_end, &hasher, &result);
  });
  ENTRY(gpuasync_disk_cache_default, "");
  ENTRY(gpuasync_disk_cache_open, "m", "/nowhere", 1);
  ENTRY(gpuasync_disk_cache_close, "m", nullptr);
  add("gpuasync_disk_cache_lookup", "mmm", [](W &w, int which, Status &said) {
    gpuasync_disk_entry entry;
    return withNull(which, said, &gpuasync_disk_cache_lookup, w.cache, &key,
                    &entry);
  });
  ENTRY(gpuasync_disk_entry_free, "m", nullptr);
  ENTRY(gpuasync_disk_cache_store, "mmm", w.cache, &key, words, 64);
  ENTRY(gpuasync_disk_cache_take_warning, "m", w.cache);
  add("gpuasync_disk_cache_stats_read", "rr",
      [](W &w, int which, Status &said) {
        gpuasync_disk_cache_stats stats;
        return withNull(which, said, &gpuasync_disk_cache_stats_read, w.cache,
                        &stats);
      });
  ENTRY(gpuasync_disk_cache_folder, "m", w.cache);

  //===--- Check.h
  ENTRY(gpuasync_check_find, "m", "gpuasync_memcpy");
  ENTRY(gpuasync_cpu_check_install, "m", nullptr);
  ENTRY(gpuasync_check_context, "-", &w.frame);
  ENTRY(gpuasync_check_site, "-", &w.frame, 0);
  ENTRY(gpuasync_check_constant_bytes, "-", &w.frame, 0);
  ENTRY(gpuasync_check_fragment, "-rrr", &w.frame, nullptr, nullptr, nullptr);
  ENTRY(gpuasync_check_own, "mm", words, 64, "a\nb\nc", 1);
  ENTRY(gpuasync_check_host, "mmm", words, words, 4 << 8 | 2, "a\nb\nc");
  ENTRY(gpuasync_check_host_pointer, "mmm", words, words, 4 << 8 | 2,
        "a\nb\nc");
  ENTRY(gpuasync_check_operand, "mm", words, words, 4 << 8 | 2, 1);
  ENTRY(gpuasync_check_uniform, "m", 0, -1, 0, 2, 3, GPUASYNC_CHECK_INTEGER,
        "a\nb\nc");
  ENTRY(gpuasync_check_start_of, "mmm", words, words, "a\nb\nc");
  ENTRY(gpuasync_check_host_alloc, "mm", words, 64, "a\nb\nc");
  ENTRY(gpuasync_check_host_free, "mm", words, "a\nb\nc");
  add("gpuasync_check_start", "mm", [](W &w, int which, Status &said) {
    bool found = withNull(
        which, said, &gpuasync_check_start, [](void *, const char *) {}, &w);
    gpuasync_check_own(nullptr, 4, "a\nb\nc", 1);
    gpuasync_check_host(nullptr, nullptr, 4 << 8 | 2, "a\nb\nc");
    gpuasync_cpu_check_install(nullptr);
    return found;
  });
  ENTRY(gpuasync_check_finish, "m", nullptr);

  //===--- Upstream's symbols, and

  // what goes with them
  add("gpuasync_session_open", "mr", [](W &w, int which, Status &said) {
    gpuasync::Session *session = nullptr;
    bool found = withNull(which, said, &gpuasync_session_open,
                          gpuasync::sessionVersion, w.device, &session);
    if (session)
      session->close();
    return found;
  });
  add("gpuasync_mgpu_read_stats", "r", [](W &, int which, Status &said) {
    gpuasync_mgpu_stats stats;
    return withNull(which, said, &gpuasync_mgpu_read_stats, &stats);
  });
  ENTRY(gpuasync_mgpu_error, "");
  ENTRY(gpuasync_mgpu_close, "");
  ENTRY(mgpuStreamCreate, "");
  ENTRY(mgpuStreamSynchronize, "m", w.mgpuStream);
  ENTRY(mgpuStreamWaitEvent, "mr", w.mgpuStream, w.mgpuEvent);
  ENTRY(mgpuEventCreate, "");
  ENTRY(mgpuEventSynchronize, "r", w.mgpuEvent);
  ENTRY(mgpuEventRecord, "rm", w.mgpuEvent, w.mgpuStream);
  ENTRY(mgpuMemAlloc, "m", 256, w.mgpuStream, false);
  ENTRY(mgpuMemcpy, "rrm", w.mgpuMemory, words, 64, w.mgpuStream);
  ENTRY(mgpuMemset32, "rm", w.mgpuMemory, 1, 16, w.mgpuStream);
  ENTRY(mgpuMemset16, "rm", w.mgpuMemory, 1, 16, w.mgpuStream);
  ENTRY(mgpuMemHostRegister, "r", words, 64);
  ENTRY(mgpuMemHostRegisterMemRef, "r", 1, nullptr, 4);
  ENTRY(mgpuMemGetDeviceMemRef1dFloat, "mr",
        reinterpret_cast<float *>(w.host.data()),
        reinterpret_cast<float *>(w.host.data()), 0, 4, 1);
  ENTRY(mgpuMemGetDeviceMemRef1dInt32, "mr",
        reinterpret_cast<int32_t *>(w.host.data()),
        reinterpret_cast<int32_t *>(w.host.data()), 0, 4, 1);
  ENTRY(mgpuSetDefaultDevice, "", 0);
  ENTRY(mgpuModuleLoad, "r", nullptr, 64);
  ENTRY(mgpuModuleLoadJIT, "r", nullptr, 0);
  ENTRY(mgpuModuleGetFunction, "rr", w.mgpuModule, "store");
  add("mgpuLaunchKernel", "rmrm", [](W &w, int which, Status &said) {
    uint32_t value = 1;
    void *parameters[] = {&w.mgpuMemory, &value};
    // There is no `extra` but
    // null, and on the cpu no
    // function.
    if (!w.mgpuFunction && which % 2)
      return which < 4;
    return withNull(which, said, &mgpuLaunchKernel, w.mgpuFunction, 1, 1, 1, 64,
                    1, 1, 0, w.mgpuStream, parameters, nullptr, 2);
  });
  add("mgpuLaunchClusterKernel", "r", [](W &w, int which, Status &said) {
    // Neither the number of
    // parameters nor their sizes
    // are known.
    uint32_t value = 1;
    void *parameters[] = {&w.mgpuMemory, &value};
    return which < 1 && withNull(which, said, &mgpuLaunchClusterKernel,
                                 w.mgpuFunction, 1, 1, 1, 1, 1, 1, 64, 1, 1, 0,
                                 w.mgpuStream, parameters, nullptr, 2);
  });
  add("mgpuTensorMapEncodeTiled", "rrrrrr", [](W &w, int which, Status &said) {
    uint64_t extents[] = {64, 64}, rows[] = {256};
    uint32_t box[] = {16, 16}, ones[] = {1, 1};
    alignas(64) char map[128];
    return withNull(which, said, &mgpuTensorMapEncodeTiled, map, 7, 2,
                    w.mgpuMemory, extents, rows, box, ones, 0, 0, 0, 0);
  });
  add("mgpuTensorMapEncodeTiledMemref", "rr",
      [](W &w, int which, Status &said) {
        struct {
          void *base, *data;
          int64_t offset, sizes[2], strides[2];
        } descriptor = {w.mgpuMemory, w.mgpuMemory, 0, {64, 64}, {64, 1}};
        int64_t box[] = {16, 16};
        return withNull(which, said, &mgpuTensorMapEncodeTiledMemref, 2,
                        &descriptor, 7, 0, 0, 0, 0, box);
      });
  ENTRY(mgpuStreamDestroy, "m", w.mgpuStream);
  ENTRY(mgpuEventDestroy, "m", w.mgpuEvent);
  ENTRY(mgpuMemFree, "mm", which == 1 ? take(w.mgpuMemory) : w.mgpuMemory,
        w.mgpuStream);
  ENTRY(mgpuMemHostUnregister, "m", words);
  ENTRY(mgpuMemHostUnregisterMemRef, "r", 1, nullptr, 4);
  ENTRY(mgpuModuleUnload, "m", w.mgpuModule);
#undef ENTRY
  return calls;
}

} // namespace

const std::vector<NullCall> &gpuasync_test::nullCalls() {
  static const std::vector<NullCall> calls = makeCalls();
  return calls;
}
