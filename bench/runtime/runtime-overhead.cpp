//===- runtime-overhead.cpp - Host cost of each runtime call --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nanoseconds of host time per call of the runtime, one JSON line each. Run
// over libnull_cuda.so it is the runtime's own cost (design: a launch adds at
// most 50 ns), over a real driver the sum of both.
//===----------------------------------------------------------------------===//

#include "HandLowered.h"
#include "gpuasync/Context.h"
#include "gpuasync/Stats.h"

#include <algorithm>
#include <chrono>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

namespace {

const gpuasync_site site = {
    "runtime-overhead.cpp", "bench", 1, 1, UINT32_MAX, 0, 4, 0};

void must(gpuasync_status *status) {
  if (!status)
    return;
  fprintf(stderr, "runtime-overhead: %s\n",
          gpuasync_status_get_message(status));
  exit(gpuasync_status_get_code(status) == GPUASYNC_UNAVAILABLE ? 77 : 1);
}

/// Median over rounds of the time of one of `calls` calls of `work`.
template <typename Work>
void measure(const char *name, const char *device, int calls, Work work) {
  std::vector<double> rounds;
  for (int round = 0; round < 41; ++round) {
    auto start = std::chrono::steady_clock::now();
    work(calls);
    std::chrono::duration<double, std::nano> spent =
        std::chrono::steady_clock::now() - start;
    if (round >= 10)
      rounds.push_back(spent.count() / calls);
  }
  std::sort(rounds.begin(), rounds.end());
  printf("{\"call\": \"%s\", \"device\": \"%s\", \"median_ns\": %.1f, "
         "\"min_ns\": %.1f}\n",
         name, device, rounds[rounds.size() / 2], rounds[0]);
}

} // namespace

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "cuda";
  gpuasync_context *context = nullptr;
  must(gpuasync_context_open(name, &context));
  must(gpuasync_scope_push(context));
  name = gpuasync_context_device_name(context);

  gpuasync_frame frame;
  gpuasync_frame_enter(&frame, &handLoweredFunction);
  gpuasync_stream *stream = gpuasync_stream_create(&frame, &site);
  gpuasync_stream *other = gpuasync_stream_create(&frame, &site);
  void *memory = gpuasync_alloc(&frame, nullptr, 5 * 32 * 4, 0, &site);
  auto *data = static_cast<int32_t *>(memory);
  auto drain = [&] {
    gpuasync_stream *both[] = {stream, other};
    gpuasync_stream_synchronize(&frame, both, 2, &site);
  };

  measure("launch", name, 500, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      handLoweredLaunch(&frame, stream, 4, data);
  });
  drain();
  measure(
      "event record, stream wait, event destroy", name, 200, [&](int calls) {
        for (int i = 0; i < calls; ++i) {
          gpuasync_event *event = gpuasync_event_record(&frame, stream, &site);
          gpuasync_stream_wait(&frame, other, event, &site);
          gpuasync_event_destroy(&frame, event, &site);
        }
      });
  drain();
  measure("stream create, destroy", name, 1000, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      gpuasync_stream_destroy(&frame, gpuasync_stream_create(&frame, &site),
                              GPUASYNC_STREAM_IDLE, &site);
  });
  measure("alloc, dealloc of 1 KB", name, 200, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      gpuasync_dealloc(&frame, stream,
                       gpuasync_alloc(&frame, stream, 1024, 0, &site), &site);
  });
  drain();
  measure("frame enter, leave", name, 1000, [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      gpuasync_frame inner;
      gpuasync_frame_enter(&inner, &handLoweredFunction);
      (void)gpuasync_frame_leave(&inner);
    }
  });
  measure("sync1", name, 200, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      must(sync1(data, data, 0, 32, 1));
  });
  measure("chain10", name, 100, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      must(chain10(data, data, 0, 32, 1));
  });
  measure("forkjoin", name, 100, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      must(forkjoin(data, data, 0, 5, 32, 32, 1));
  });
  gpuasync_dealloc(&frame, nullptr, memory, &site);
  gpuasync_stream_destroy(&frame, stream, 0, &site);
  gpuasync_stream_destroy(&frame, other, 0, &site);
  must(gpuasync_frame_leave(&frame));
  gpuasync_scope_pop();
  gpuasync_context_release(context);
  must(gpuasync_shutdown());
  return 0;
}
