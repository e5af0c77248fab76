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

gpuasync_status *handLoweredRegion(int launches, int events, uint64_t first) {
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &handLoweredFunction)) {
    gpuasync_stream *streams[] = {
        gpuasync_stream_create(&frame, 0, StreamSite),
        gpuasync_stream_create(&frame, 0, StreamSite)};
    gpuasync_region_begin(&frame, ForkJoinSite);
    for (int i = 0; i < launches; ++i) {
      alignas(16) uint64_t params[] = {first, 1, 2, 3, 4, 5, 6, 7};
      gpuasync_launch_config block = {{1, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0,
                                      0,         64,         params};
      gpuasync_launch(&frame, streams[i & 1], Wide, &block);
      if (i >= events)
        continue;
      gpuasync_event *event =
          gpuasync_event_record(&frame, streams[i & 1], StreamSite);
      gpuasync_stream_wait(&frame, streams[~i & 1], event, StreamSite);
      gpuasync_event_destroy(&frame, event, StreamSite);
    }
    gpuasync_region_end(&frame, ForkJoinSite);
    if (!gpuasync_stream_synchronize(&frame, streams, 2, StreamSite))
      for (auto *stream : streams)
        gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE,
                                StreamSite);
  }
  return gpuasync_frame_leave(&frame);
}

extern "C" {

EXPORT gpuasync_status *forkjoin(int32_t *, int32_t *data, int64_t, int64_t,
                                 int64_t, int64_t, int64_t) {
  constexpr int branches = 4;
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &handLoweredFunction)) {
    gpuasync_stream *streams[branches];
    for (auto &stream : streams)
      stream = gpuasync_stream_create(&frame, 0, StreamSite);
    gpuasync_region_begin(&frame, ForkJoinSite);
    handLoweredLaunch(&frame, streams[0], First, data);
    gpuasync_event *forked =
        gpuasync_event_record(&frame, streams[0], StreamSite);
    for (int i = 1; i < branches; ++i)
      gpuasync_stream_wait(&frame, streams[i], forked, StreamSite);
    gpuasync_event_destroy(&frame, forked, StreamSite);
    gpuasync_event *done[branches] = {};
    for (int i = 0; i < branches; ++i) {
      handLoweredLaunch(&frame, streams[i], Add, data, uint64_t(i) + 1);
      handLoweredLaunch(&frame, streams[i], Double, data, uint64_t(i) + 1);
      if (i > 0)
        done[i] = gpuasync_event_record(&frame, streams[i], StreamSite);
    }
    for (int i = 1; i < branches; ++i) {
      gpuasync_stream_wait(&frame, streams[0], done[i], StreamSite);
      gpuasync_event_destroy(&frame, done[i], StreamSite);
    }
    handLoweredLaunch(&frame, streams[0], Last, data);
    gpuasync_region_end(&frame, ForkJoinSite);
    if (!gpuasync_stream_synchronize(&frame, streams, 1, StreamSite))
      for (auto *stream : streams)
        gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE,
                                StreamSite);
  }
  return gpuasync_frame_leave(&frame);
}

EXPORT gpuasync_status *chain10(int32_t *, int32_t *data, int64_t, int64_t,
                                int64_t) {
  gpuasync_frame frame;
  if (!gpuasync_frame_enter(&frame, &handLoweredFunction)) {
    gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, StreamSite);
    gpuasync_region_begin(&frame, ChainSite);
    for (int i = 0; i < 10; ++i)
      handLoweredLaunch(&frame, stream, Increment, data);
    gpuasync_region_end(&frame, ChainSite);
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
