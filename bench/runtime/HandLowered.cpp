//===- HandLowered.cpp - Programs as the compiler lowers them -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// forkjoin, chain10 and sync1 of test/Integration written against
// RuntimeABI.h, with the same kernels as bench/cuda/HandWritten.cpp. With these
// paired-bench measures the runtime alone, without the compiler.
//===----------------------------------------------------------------------===//

#include "HandLowered.h"
#include "gpuasync/SiteTable.h"

static const char ptx[] =
#include "../cuda/SharedKernels.inc"
    R"(
.visible .entry wide(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d,
                     .param .u64 e, .param .u64 f, .param .u64 g, .param .u64 h)
{
  ret;
}
)";

static const uint32_t offsets[] = {0, 8, 16, 24, 32, 40, 48, 56},
                      sizes[] = {8, 8, 8, 8, 8, 8, 8, 8};
static const gpuasync_kernel kernels[] = {
    {"first", offsets, sizes, 1, 8},     {"add", offsets, sizes, 2, 16},
    {"double", offsets, sizes, 2, 16},   {"last", offsets, sizes, 1, 8},
    {"increment", offsets, sizes, 1, 8}, {"wide", offsets, sizes, 8, 64}};
enum : uint32_t { First, Add, Double, Last, Increment, Wide };
static const gpuasync_image image = {GPUASYNC_IMAGE_PTX, 0,      "sm_70", ptx,
                                     sizeof(ptx) - 1,    {7, 42}};
static const gpuasync_module module = {"k", kernels, &image, 6, 1};
static void *slot;
enum : uint32_t { StreamSite = Wide + 1, ForkJoinSite, ChainSite };
static constexpr auto sites = [] {
  gpuasync::SiteTable<9, 512> table;
  const char *kernels[] = {
      "gpu_async.launch @k::@first",     "gpu_async.launch @k::@add",
      "gpu_async.launch @k::@double",    "gpu_async.launch @k::@last",
      "gpu_async.launch @k::@increment", "gpu_async.launch @k::@wide"};
  for (uint32_t i = 0; i < 6; ++i)
    table.add("HandLowered.cpp", kernels[i], 1, 1, UINT32_MAX, 0, i);
  table.add("HandLowered.cpp", "gpu_async.stream", 1, 1);
  table.add("HandLowered.cpp", "gpu_async.region", 2, 1);
  table.add("HandLowered.cpp", "gpu_async.region", 3, 1);
  return table;
}();
static_assert(sites.size() == ChainSite + 1);
static const gpuasync_program program = {
    GPUASYNC_ABI_VERSION, 1, "handlowered", &module, &slot, sites.data(),
    sites.size(),         0};
static const uint32_t modules[] = {0};

const gpuasync_function handLoweredFunction = {
    "handlowered", "HandLowered.cpp", 1, 1, &program, modules, 1, 0, 1, 0};

void handLoweredLaunch(gpuasync_frame *frame, gpuasync_stream *stream,
                       uint32_t kernel, void *pointer, uint64_t row) {
  alignas(16) struct {
    void *pointer;
    uint64_t row;
  } params = {pointer, row};
  gpuasync_launch_config block = {
      {1, 1, 1}, {32, 1, 1}, {1, 1, 1},
      0,         0,          kernel == Add || kernel == Double ? 16u : 8u,
      &params};
  gpuasync_launch(frame, stream, kernel, &block);
}

/// Configs of launches, by the bytes of their parameters.
static const gpuasync_launch_config configs[] = {
    {{1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0, 8, nullptr},
    {{1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0, 16, nullptr},
    {{1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0, 64, nullptr}};
enum : uint32_t { Bytes8, Bytes16, Bytes64 };

/// A launch whose parameters begin `argument` units of 16 bytes behind the
/// block's begin. What it starts after begins at `after` in the indices, and
/// what of that is on other lanes at `wait`.
static constexpr gpuasync_command
launchCommand(uint32_t kernel, uint32_t lane, uint32_t argument,
              uint32_t config, uint32_t after, uint32_t afterCount,
              uint32_t wait = 0, uint32_t waitCount = 0) {
  return {GPUASYNC_COMMAND_LAUNCH,
          0,
          lane,
          kernel,
          16 * argument,
          config == Bytes8    ? 8u
          : config == Bytes16 ? 16u
                              : 64u,
          config * uint32_t(sizeof(gpuasync_launch_config)),
          after,
          afterCount,
          wait,
          waitCount,
          0};
}

/// A piece of a region: launches on two lanes in turns, each of which starts
/// after the one before it on its lane, or with `hasEvents` after that on the
/// other one.
template <bool hasEvents>
struct Wides {
  static constexpr uint32_t count = 50;
  gpuasync_command commands[count] = {};
  uint32_t indices[2 * count] = {};
  constexpr Wides() {
    for (uint32_t i = 0; i < count; ++i) {
      const uint32_t back = hasEvents ? 1 : 2;
      const bool isFirst = i < back;
      indices[i] = isFirst ? GPUASYNC_FRAGMENT_BEFORE | 1 : i - back;
      commands[i] =
          launchCommand(Wide, i & 1, 4 * i, Bytes64, i, !isFirst, i, hasEvents);
    }
  }
};
template <bool hasEvents>
static constexpr Wides<hasEvents> wides;
template <bool hasEvents>
static const gpuasync_fragment widesFragment = {Wides<hasEvents>::count,
                                                2,
                                                64 * Wides<hasEvents>::count,
                                                ForkJoinSite,
                                                wides<hasEvents>.commands,
                                                wides<hasEvents>.indices,
                                                nullptr,
                                                configs};

gpuasync_status *handLoweredRegion(int launches, int events, uint64_t first) {
  constexpr int count = Wides<false>::count;
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &handLoweredFunction)) {
    gpuasync_stream *streams[] = {
        gpuasync_stream_create(&frame, 0, StreamSite),
        gpuasync_stream_create(&frame, 0, StreamSite)};
    gpuasync_region_begin(&frame, ForkJoinSite);
    for (int i = 0; i < launches; i += count) {
      alignas(16) uint64_t block[count][8];
      for (auto &params : block)
        for (uint64_t k = 0; k < 8; ++k)
          params[k] = k ? k : first;
      gpuasync_region_add(
          &frame, i < events ? &widesFragment<true> : &widesFragment<false>,
          streams, block);
    }
    gpuasync_region_end(&frame, ForkJoinSite);
    if (!gpuasync_stream_synchronize(&frame, streams, 2, StreamSite))
      for (auto *stream : streams)
        gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE,
                                StreamSite);
  }
  return gpuasync_frame_leave(&frame);
}

// By launch of forkjoin: which launches it starts after.
static const uint32_t forkJoinIndices[] = {0, 1, 3, 5, 7, 2, 4, 6, 8};
static const gpuasync_command forkJoinCommands[] = {
    launchCommand(First, 0, 0, Bytes8, 0, 0),
    launchCommand(Add, 0, 1, Bytes16, 0, 1),
    launchCommand(Double, 0, 2, Bytes16, 1, 1),
    launchCommand(Add, 1, 3, Bytes16, 0, 1, 0, 1),
    launchCommand(Double, 1, 4, Bytes16, 2, 1),
    launchCommand(Add, 2, 5, Bytes16, 0, 1, 0, 1),
    launchCommand(Double, 2, 6, Bytes16, 3, 1),
    launchCommand(Add, 3, 7, Bytes16, 0, 1, 0, 1),
    launchCommand(Double, 3, 8, Bytes16, 4, 1),
    launchCommand(Last, 0, 9, Bytes8, 5, 4, 6, 3)};
static const gpuasync_fragment forkJoinFragment = {
    10,      4,      160, ForkJoinSite, forkJoinCommands, forkJoinIndices,
    nullptr, configs};

static constexpr auto chainCommands = [] {
  struct {
    gpuasync_command list[10] = {};
  } commands;
  for (uint32_t i = 0; i < 10; ++i)
    commands.list[i] =
        launchCommand(Increment, 0, i, Bytes8, i ? i - 1 : 0, i != 0);
  return commands;
}();
static const uint32_t chainIndices[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static const gpuasync_fragment chainFragment = {
    10, 1, 160, ChainSite, chainCommands.list, chainIndices, nullptr, configs};

extern "C" {

EXPORT gpuasync_status *forkjoin(int32_t *, int32_t *data, int64_t, int64_t,
                                 int64_t, int64_t, int64_t) {
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &handLoweredFunction)) {
    gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, StreamSite);
    gpuasync_stream *lanes[4] = {stream};
    alignas(16) uint64_t block[10][2];
    for (uint64_t i = 0; i < 10; ++i) {
      block[i][0] = reinterpret_cast<uintptr_t>(data);
      block[i][1] = i && i < 9 ? (i + 1) / 2 : 0;
    }
    gpuasync_region_run(&frame, &forkJoinFragment, lanes, block);
    if (!gpuasync_stream_synchronize(&frame, &stream, 1, StreamSite))
      gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, StreamSite);
  }
  return gpuasync_frame_leave(&frame);
}

EXPORT gpuasync_status *chain10(int32_t *, int32_t *data, int64_t, int64_t,
                                int64_t) {
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &handLoweredFunction)) {
    gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, StreamSite);
    alignas(16) uint64_t block[10][2];
    for (auto &params : block) {
      params[0] = reinterpret_cast<uintptr_t>(data);
      params[1] = 0;
    }
    gpuasync_region_run(&frame, &chainFragment, &stream, block);
    if (!gpuasync_stream_synchronize(&frame, &stream, 1, StreamSite))
      gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, StreamSite);
  }
  return gpuasync_frame_leave(&frame);
}

EXPORT gpuasync_status *sync1(int32_t *, int32_t *data, int64_t, int64_t,
                              int64_t) {
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &handLoweredFunction)) {
    gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, StreamSite);
    handLoweredLaunch(&frame, stream, Increment, data);
    if (!gpuasync_stream_synchronize(&frame, &stream, 1, StreamSite))
      gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, StreamSite);
  }
  return gpuasync_frame_leave(&frame);
}

} // extern "C"
