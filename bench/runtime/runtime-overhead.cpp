//===- runtime-overhead.cpp - Host cost of each runtime call --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nanoseconds of host time per call of the runtime, one JSON line each. Run
// over libnull_cuda.so it is the runtime's own cost (design: a launch adds at
// most 50 ns), over a real driver the sum of both. With --check it counts
// driver calls and heap allocations of warm calls instead, and fails on one too
// many.
//===----------------------------------------------------------------------===//

#include "HandLowered.h"
#include "gpuasync/Context.h"
#include "gpuasync/Stats.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

static unsigned long allocations;
void *operator new(size_t bytes) {
  ++allocations;
  void *memory = malloc(bytes ? bytes : 1);
  if (!memory)
    abort();
  return memory;
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }

namespace {

/// Any of HandLowered.cpp.
constexpr uint32_t site = 0;

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

/// Median over rounds of how much longer `longer` takes than `shorter`, which
/// do `count` calls less; each is repeated `repeats` times in turns.
template <typename Work, typename Other>
void measureDifference(const char *name, const char *device, int count,
                       int repeats, Work longer, Other shorter) {
  auto time = [&](auto &work) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < repeats; ++i)
      work();
    std::chrono::duration<double, std::nano> spent =
        std::chrono::steady_clock::now() - start;
    return spent.count() / repeats;
  };
  std::vector<double> rounds;
  for (int round = 0; round < 111; ++round) {
    double more = time(longer), less = time(shorter);
    if (round >= 10)
      rounds.push_back((more - less) / count);
  }
  std::sort(rounds.begin(), rounds.end());
  printf("{\"call\": \"%s\", \"device\": \"%s\", \"median_ns\": %.1f, "
         "\"quartiles_ns\": [%.1f, %.1f]}\n",
         name, device, rounds[rounds.size() / 2], rounds[rounds.size() / 4],
         rounds[rounds.size() * 3 / 4]);
}

/// What calls in a region cost that is played as a graph, the playing included.
void measureRegion(const char *name) {
  must(gpuasync_set_play("graph"));
  auto region = [](int launches, int events) {
    return [=] { must(handLoweredRegion(launches, events)); };
  };
  measureDifference("launch of 64 bytes in a region, unchanged", name, 100, 20,
                    region(200, 0), region(100, 0));
  uint64_t change = 0;
  measureDifference(
      "launch of 64 bytes in a region, changed", name, 100, 20,
      [&] { must(handLoweredRegion(200, 0, ++change)); },
      [&] { must(handLoweredRegion(100, 0, ++change)); });
  measureDifference("event record, wait, destroy in a region", name, 100, 20,
                    region(100, 100), region(100, 0));
  must(gpuasync_set_play("streams"));
}

/// Measures copies, by where their two sides lie. A host wait follows each copy
/// that goes through staging.
void measureCopies(const char *device, gpuasync_frame *frame,
                   gpuasync_stream *stream) {
  const uint64_t most = 4 << 20;
  auto allocate = [&] {
    return static_cast<char *>(
        gpuasync_alloc(frame, 0, nullptr, most, 0, site));
  };
  char *to = allocate(), *from = allocate();
  std::vector<char> pageable(most, 1);
  auto drain = [&] { gpuasync_stream_synchronize(frame, &stream, 1, site); };
  measure("copy of 1 KB on the device", device, 500, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      gpuasync_memcpy(frame, stream, to, from, 1024, site);
  });
  drain();
  // 3 x 5 x 7 elements, each row and each element with a gap.
  const int64_t sizes[] = {3, 5, 7}, strides[] = {400, 40, 2},
                dense[] = {35, 7, 1};
  measure("strided copy on the device", device, 500, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      gpuasync_memcpy_strided(frame, stream, to, strides, from, strides, sizes,
                              3, 4, site);
  });
  drain();
  auto upload = [&](const char *name, uint64_t bytes, int calls) {
    measure(name, device, calls, [&](int calls) {
      for (int i = 0; i < calls; ++i) {
        gpuasync_memcpy(frame, stream, to, pageable.data(), bytes, site);
        drain();
      }
    });
  };
  upload("upload of 1 KB, wait", 1024, 200);
  upload("upload of 64 KB, wait", 64 << 10, 100);
  upload("upload of 4 MB, wait", most, 3);
  measure("download of 1 KB, wait", device, 200, [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      gpuasync_memcpy(frame, stream, pageable.data(), from, 1024, site);
      drain();
    }
  });
  measure("strided download, wait", device, 200, [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      gpuasync_memcpy_strided(frame, stream, pageable.data(), strides, from,
                              dense, sizes, 3, 4, site);
      drain();
    }
  });
  measure("strided upload, wait", device, 200, [&](int calls) {
    for (int i = 0; i < calls; ++i) {
      gpuasync_memcpy_strided(frame, stream, to, dense, pageable.data(),
                              strides, sizes, 3, 4, site);
      drain();
    }
  });
  gpuasync_dealloc(frame, 0, nullptr, to, site);
  gpuasync_dealloc(frame, 0, nullptr, from, site);
}

/// What one call of `work(frame, stream, other)` costs in driver calls and
/// allocations once everything is warm: the difference between frames that do
/// it 200 and 100 times. True if it is what it should be. // C05 L02 S02
template <typename Work>
bool count(gpuasync_context *context, const char *name, double expected,
           Work work, double allowedNews = 0) {
  auto run = [&](int calls, uint64_t &driverCalls, uint64_t &news) {
    gpuasync_stats before, after;
    must(gpuasync_stats_read(context, &before));
    unsigned long newsBefore = allocations;
    gpuasync_frame frame;
    gpuasync_frame_enter(&frame, &handLoweredFunction);
    gpuasync_stream *streams[] = {gpuasync_stream_create(&frame, 0, site),
                                  gpuasync_stream_create(&frame, 0, site)};
    for (int i = 0; i < calls; ++i)
      work(&frame, streams[0], streams[1]);
    gpuasync_stream_synchronize(&frame, streams, 2, site);
    for (gpuasync_stream *stream : streams)
      gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, site);
    must(gpuasync_frame_leave(&frame));
    news = allocations - newsBefore;
    must(gpuasync_stats_read(context, &after));
    driverCalls = after.driverCalls - before.driverCalls;
  };
  uint64_t shortCalls, longCalls, shortNews, longNews;
  run(200, longCalls, longNews); // warms up
  run(100, shortCalls, shortNews);
  run(200, longCalls, longNews);
  double calls = double(int64_t(longCalls - shortCalls)) / 100;
  double news = double(int64_t(longNews - shortNews)) / 100;
  bool right = calls == expected && news <= allowedNews;
  printf("{\"call\": \"%s\", \"driver_calls\": %g, \"expected\": %g, "
         "\"allocations\": %g, \"ok\": %s}\n",
         name, calls, expected, news, right ? "true" : "false");
  return right;
}

bool check(gpuasync_context *context) {
  using Frame = gpuasync_frame *;
  using Stream = gpuasync_stream *;
  gpuasync_frame outer;
  gpuasync_frame_enter(&outer, &handLoweredFunction);
  auto *data = static_cast<int32_t *>(
      gpuasync_alloc(&outer, 0, nullptr, 5 * 32 * 4, 0, site));
  bool right = count(context, "launch", 1, [&](Frame f, Stream s, Stream) {
    handLoweredLaunch(f, s, 4, data);
  });
  right &= count(context, "event record, stream wait, event destroy", 2,
                 [](Frame f, Stream s, Stream other) {
                   gpuasync_event *event = gpuasync_event_record(f, s, site);
                   gpuasync_stream_wait(f, other, event, site);
                   gpuasync_event_destroy(f, event, site);
                 });
  right &=
      count(context, "stream create, destroy", 0, [](Frame f, Stream, Stream) {
        gpuasync_stream_destroy(f, gpuasync_stream_create(f, 0, site),
                                GPUASYNC_STREAM_IDLE, site);
      });
  right &= count(
      context, "alloc, dealloc", 2,
      [](Frame f, Stream s, Stream) {
        gpuasync_dealloc(f, 0, s, gpuasync_alloc(f, 0, s, 1024, 0, site), site);
      },
      1); // the pointer table's node
  right &= count(
      context, "a library call's stream", 0,
      [](Frame f, Stream s, Stream) { gpuasync_stream_native(f, s, site); });
  // Which context is current, and whether it is still the one that we opened.
  right &= count(context, "frame enter, leave", 2, [](Frame, Stream, Stream) {
    gpuasync_frame inner;
    gpuasync_frame_enter(&inner, &handLoweredFunction);
    must(gpuasync_frame_leave(&inner));
  });
  // The same, allocation, free and completion flag, and the thread's mode of
  // capture, which is changed and changed back.
  right &= count(
      context, "frame with an allocation", 7,
      [](Frame, Stream, Stream) {
        gpuasync_frame inner;
        gpuasync_frame_enter(&inner, &handLoweredFunction);
        gpuasync_stream *stream = gpuasync_stream_create(&inner, 0, site);
        gpuasync_dealloc(&inner, 0, stream,
                         gpuasync_alloc(&inner, 0, stream, 1024, 0, site),
                         site);
        gpuasync_stream_synchronize(&inner, &stream, 1, site);
        gpuasync_stream_destroy(&inner, stream, GPUASYNC_STREAM_IDLE, site);
        must(gpuasync_frame_leave(&inner));
      },
      1); // the pointer table's node
  // Enter, launch, completion flag.
  right &= count(context, "sync1", 4, [&](Frame, Stream, Stream) {
    must(sync1(data, data, 0, 32, 1));
  });
  // Enter, 10 launches, 4 records, 6 waits, flag.
  right &= count(context, "forkjoin", 23, [&](Frame, Stream, Stream) {
    must(forkjoin(data, data, 0, 5, 32, 32, 1));
  });
  gpuasync_dealloc(&outer, 0, nullptr, data, site);
  must(gpuasync_frame_leave(&outer));
  return right;
}

} // namespace

int main(int argc, char **argv) {
  bool checking = argc > 1 && !strcmp(argv[1], "--check");
  const char *name = argc > 1 + checking ? argv[1 + checking] : "cuda";
  gpuasync_context *context = nullptr;
  must(gpuasync_context_open(name, &context));
  must(gpuasync_scope_push(context));
  name = gpuasync_context_device_name(context);
  // Calls are counted and timed as they are.
  must(gpuasync_set_play("streams"));
  if (checking) {
    bool right = check(context);
    gpuasync_scope_pop();
    gpuasync_context_release(context);
    must(gpuasync_shutdown());
    return right ? 0 : 1;
  }

  gpuasync_frame frame;
  gpuasync_frame_enter(&frame, &handLoweredFunction);
  gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, site);
  gpuasync_stream *other = gpuasync_stream_create(&frame, 0, site);
  void *memory = gpuasync_alloc(&frame, 0, nullptr, 5 * 32 * 4, 0, site);
  auto *data = static_cast<int32_t *>(memory);
  auto drain = [&] {
    gpuasync_stream *both[] = {stream, other};
    gpuasync_stream_synchronize(&frame, both, 2, site);
  };

  measure("launch", name, 500, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      handLoweredLaunch(&frame, stream, 4, data);
  });
  drain();
  measure(
      "event record, stream wait, event destroy", name, 200, [&](int calls) {
        for (int i = 0; i < calls; ++i) {
          gpuasync_event *event = gpuasync_event_record(&frame, stream, site);
          gpuasync_stream_wait(&frame, other, event, site);
          gpuasync_event_destroy(&frame, event, site);
        }
      });
  drain();
  measure("stream create, destroy", name, 1000, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      gpuasync_stream_destroy(&frame, gpuasync_stream_create(&frame, 0, site),
                              GPUASYNC_STREAM_IDLE, site);
  });
  measure("alloc, dealloc of 1 KB", name, 200, [&](int calls) {
    for (int i = 0; i < calls; ++i)
      gpuasync_dealloc(&frame, 0, stream,
                       gpuasync_alloc(&frame, 0, stream, 1024, 0, site), site);
  });
  drain();
  measureCopies(name, &frame, stream);
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
  measureRegion(name);
  gpuasync_dealloc(&frame, 0, nullptr, memory, site);
  gpuasync_stream_destroy(&frame, stream, 0, site);
  gpuasync_stream_destroy(&frame, other, 0, site);
  must(gpuasync_frame_leave(&frame));
  gpuasync_scope_pop();
  gpuasync_context_release(context);
  must(gpuasync_shutdown());
  return 0;
}
