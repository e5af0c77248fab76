//===- cache-bench.cpp - What loaded and not yet loaded modules cost ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One JSON line per measurement, over libnull_cuda.so (the runtime's own cost)
// or a real driver. With --check the limits of the design are asserted:
//   GPU_ASYNC_CUDA_LIBRARY=.../libnull_cuda.so cache-bench --check
// Options: --threads=N (most threads; default: processors), --rounds=N.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "gpuasync/Program.h"
#include "gpuasync/SiteTable.h"
#include "gpuasync/Stats.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <malloc.h>
#include <memory>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <thread>
#include <vector>

using gpuasync::Context;
using gpuasync::ContextScope;
using gpuasync::Status;

namespace {

const char ptx[] = R"(
.version 6.4
.target sm_70
.address_size 64
.visible .entry nothing(.param .u64 x)
{
  ret;
}
)";

double now() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void must(gpuasync_status *status) {
  if (!status)
    return;
  fprintf(stderr, "cache-bench: %s\n", gpuasync_status_get_message(status));
  exit(gpuasync_status_get_code(status) == GPUASYNC_UNAVAILABLE ? 77 : 1);
}

bool checking = false, right = true;
void expect(bool holds, const char *what) {
  if (!checking || holds)
    return;
  printf("{\"failed\": \"%s\"}\n", what);
  right = false;
}

/// The launch of the first module's kernel, and all else.
constexpr uint32_t site = 0;
constexpr auto sites = [] {
  gpuasync::SiteTable<1, 32> table;
  table.add("cache-bench.cpp", "bench", 1, 1);
  return table;
}();

/// `count` modules of one kernel each, all with content of their own.
class Kernels {
public:
  explicit Kernels(uint32_t count, uint64_t seed)
      : images(count), modules(count), indices(count), functions(count) {
    for (uint32_t i = 0; i < count; ++i) {
      images[i] = {GPUASYNC_IMAGE_PTX, 0,        "sm_70", ptx,
                   sizeof(ptx) - 1,    {seed, i}};
      modules[i] = {"m", &kernel, &images[i], 1, 1};
      indices[i] = i;
      functions[i] = {"f", "", 0, 0, &program, &indices[i], 1, 0, 1, 0};
    }
    program = {GPUASYNC_ABI_VERSION, count, "kernels",
               modules.data(),       &slot, sites.data(),
               sites.size(),         0};
  }
  Kernels(const Kernels &) = delete;
  ~Kernels() { gpuasync_status_free(gpuasync_program_release(&program)); }

  void enter(uint32_t module) const {
    gpuasync_frame frame;
    gpuasync_frame_enter(&frame, &functions[module]);
    must(gpuasync_frame_leave(&frame));
  }
  /// Nanoseconds for each kernel's frame.
  double enterEach() const {
    double start = now();
    for (uint32_t i = 0; i < functions.size(); ++i)
      enter(i);
    return (now() - start) / double(functions.size());
  }

  static constexpr uint32_t offsets[1] = {0}, sizes[1] = {8};
  gpuasync_kernel kernel = {"nothing", offsets, sizes, 1, 8};
  std::vector<gpuasync_image> images;
  std::vector<gpuasync_module> modules;
  std::vector<uint32_t> indices;
  std::vector<gpuasync_function> functions;
  gpuasync_program program;
  void *slot = nullptr;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Runs `body(calls)` on `count` threads at once and returns the median over
/// rounds and threads of the nanoseconds of one call. A round counts only while
/// all threads are at it.
template <typename Prepare>
double onThreads(const Context &context, int count, int rounds, int calls,
                 Prepare prepare) {
  std::vector<std::vector<double>> times(static_cast<size_t>(count));
  std::atomic<int> arrived{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      ContextScope scope(context);
      prepare([&](auto body) {
        body(calls); // warms up
        for (int round = 0; round < rounds; ++round) {
          ++arrived;
          while (arrived < count * (round + 1))
            std::this_thread::yield();
          double start = now();
          body(calls);
          times[size_t(t)].push_back((now() - start) / calls);
        }
      });
    });
  for (std::thread &thread : threads)
    thread.join();
  std::vector<double> all;
  for (auto &part : times)
    all.insert(all.end(), part.begin(), part.end());
  return median(all);
}

/// What threads cost each other that share nothing at all: about a frame's work
/// on a line and a stack of the thread's own. Where this is not flat, the
/// machine is not (two threads to a core, clocks, other load).
void ownWork(int calls) {
  struct alignas(64) Line {
    std::atomic<uint64_t> word{0};
  } line;
  for (int i = 0; i < calls; ++i) {
    volatile uint64_t words[24];
    uint64_t mixed = line.word.exchange(line.word.load() + 1);
    for (volatile uint64_t &word : words) {
      mixed = (mixed ^ (mixed >> 7)) * 5;
      word = mixed;
    }
    line.word.store(words[23], std::memory_order_release);
  }
}

/// Warm launches, and warm frames, beside each other on 1 to `most` threads.
void warm(const Context &context, int most, int rounds, bool null) {
  Kernels kernels(1, 1);
  double first[3] = {};
  for (int count = 1; count <= most; count *= 2) {
    double launch = onThreads(context, count, rounds, 2000, [&](auto measure) {
      gpuasync_frame frame;
      gpuasync_frame_enter(&frame, &kernels.functions[0]);
      gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, site);
      alignas(16) uint64_t params = 0;
      gpuasync_launch_config block = {{1, 1, 1}, {32, 1, 1}, {0, 0, 0}, 0,
                                      0,         8,          &params};
      measure([&](int calls) {
        for (int i = 0; i < calls; ++i)
          gpuasync_launch(&frame, stream, site, &block);
      });
      gpuasync_stream_synchronize(&frame, &stream, 1, site);
      gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, site);
      must(gpuasync_frame_leave(&frame));
    });
    double frame = onThreads(context, count, rounds, 2000, [&](auto measure) {
      measure([&](int calls) {
        for (int i = 0; i < calls; ++i)
          kernels.enter(0);
      });
    });
    double own = onThreads(context, count, rounds, 2000,
                           [&](auto measure) { measure(ownWork); });
    if (count == 1) {
      first[0] = launch;
      first[1] = frame;
      first[2] = own;
    }
    printf("{\"benchmark\": \"warm\", \"threads\": %d, \"launch_ns\": %.1f, "
           "\"frame_ns\": %.1f, \"own_work_ns\": %.1f, \"launch_ratio\": %.2f, "
           "\"frame_ratio\": %.2f, \"own_work_ratio\": %.2f}\n",
           count, launch, frame, own, launch / first[0], frame / first[1],
           own / first[2]);
    // Threads that share processors with others wait for those.
    if (!null || count > int(std::thread::hardware_concurrency()))
      continue;
    expect(launch <= 50, "a warm launch costs at most 50 ns");
    expect(launch <= 1.3 * first[0], "launches are flat over threads");
    expect(frame <= 1.3 * first[1], "frames are flat over threads");
  }
}

/// 64 threads ask for one key at once.
void racingFirstUse(const Context &context) {
  constexpr int count = 64;
  std::vector<std::unique_ptr<Kernels>> programs;
  for (int i = 0; i < count; ++i)
    programs.push_back(std::make_unique<Kernels>(1, 2));
  gpuasync_stats before, after;
  must(gpuasync_stats_read(context.get(), &before));
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  double start = now();
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      ContextScope scope(context);
      ++ready;
      while (ready < count)
        std::this_thread::yield();
      programs[size_t(i)]->enter(0);
    });
  for (std::thread &thread : threads)
    thread.join();
  double spent = now() - start;
  must(gpuasync_stats_read(context.get(), &after));
  uint64_t loads = after.moduleCacheMisses - before.moduleCacheMisses;
  printf("{\"benchmark\": \"racing first use\", \"threads\": %d, \"loads\": "
         "%llu, \"ms\": %.2f}\n",
         count, (unsigned long long)loads, spent / 1e6);
  expect(loads == 1, "64 threads load one key once");
}

/// Hits of one key while the load of another is held.
void heldLoad(const Context &context) {
  struct Hook {
    std::atomic<bool> inside{false}, open{false};
  } hook;
  Kernels warm(1, 3), slow(1, 4);
  warm.enter(0);
  auto hits = [&] {
    std::vector<double> rounds;
    for (int round = 0; round < 21; ++round) {
      double start = now();
      for (int i = 0; i < 1000; ++i)
        warm.enter(0);
      rounds.push_back((now() - start) / 1000);
    }
    return median(rounds);
  };
  hits();
  double alone = hits();
  gpuasync_module_hooks hooks{};
  hooks.user = &hook;
  hooks.compile = [](void *user, const gpuasync_module_request *,
                     gpuasync_image *) -> gpuasync_status * {
    auto &hook = *static_cast<Hook *>(user);
    hook.inside = true;
    // Asleep, so that it takes no processor from whom it must not delay.
    while (!hook.open)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return nullptr;
  };
  must(gpuasync_modules_hook(context.get(), &hooks));
  std::thread loader([&] {
    ContextScope scope(context);
    slow.enter(0);
  });
  while (!hook.inside)
    std::this_thread::yield();
  double beside = hits();
  hook.open = true;
  loader.join();
  must(gpuasync_modules_hook(context.get(), nullptr));
  printf("{\"benchmark\": \"hits beside a held load\", \"alone_ns\": %.1f, "
         "\"beside_ns\": %.1f, \"ratio\": %.2f}\n",
         alone, beside, beside / alone);
  expect(beside <= 1.5 * alone, "a held load delays no hit of another key");
}

/// N kernels: cold, warm, after a release.
void numbers(const Context &context, int rounds) {
  struct Times {
    double cold, warm, again;
  } few{}, many{};
  uint64_t seed = 100;
  for (uint32_t count : {70u, 1000u}) {
    std::vector<double> cold, warm, again;
    for (int round = 0; round < rounds; ++round) {
      Kernels kernels(count, ++seed);
      cold.push_back(kernels.enterEach());
      warm.push_back(kernels.enterEach());
      gpuasync_modules_release(context.get());
      again.push_back(kernels.enterEach());
    }
    Times &times = count == 70 ? few : many;
    times = {median(cold), median(warm), median(again)};
    printf("{\"benchmark\": \"kernels\", \"count\": %u, \"cold_ns\": %.1f, "
           "\"warm_ns\": %.1f, \"after_release_ns\": %.1f, "
           "\"cold_over_warm\": %.1f, \"after_release_over_cold\": %.2f}\n",
           count, times.cold, times.warm, times.again, times.cold / times.warm,
           times.again / times.cold);
  }
  printf("{\"benchmark\": \"1000 kernels over 70, each\", \"cold\": %.2f, "
         "\"warm\": %.2f, \"after_release\": %.2f}\n",
         many.cold / few.cold, many.warm / few.warm, many.again / few.again);
  expect(many.cold <= 3 * few.cold, "cold does not grow with the number");
  expect(many.warm <= 3 * few.warm, "warm does not grow with the number");
  expect(many.again <= 3 * few.again, "nor does loading after a release");
  expect(many.warm * 3 <= many.cold, "warm is far below cold");
}

/// Contexts come and go.
void generations(const char *device, int count) {
  Kernels kernels(4, 5);
  auto one = [&] {
    Context context;
    must(Context::open(device, context).release());
    ContextScope scope(context);
    kernels.enterEach();
  };
  auto bytes = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  for (int i = 0; i < count / 10; ++i)
    one();
  size_t before = bytes();
  double start = now();
  for (int i = 0; i < count / 2; ++i)
    one();
  double middle = now();
  for (int i = 0; i < count / 2; ++i)
    one();
  double end = now();
  long grown = long(bytes()) - long(before);
  printf("{\"benchmark\": \"context generations\", \"count\": %d, "
         "\"bytes_grown\": %ld, \"first_half_us\": %.1f, \"second_half_us\": "
         "%.1f}\n",
         count, grown, (middle - start) / (count / 2) / 1e3,
         (end - middle) / (count / 2) / 1e3);
  expect(grown <= 65536, "context generations leave nothing behind");
  expect(end - middle <= 1.5 * (middle - start), "and do not become slower");
}

} // namespace

int main(int argc, char **argv) {
  int most = int(std::thread::hardware_concurrency()), rounds = 21;
  const char *device = "cuda";
  for (int i = 1; i < argc; ++i) {
    if (!strcmp(argv[i], "--check"))
      checking = true;
    else if (!strncmp(argv[i], "--threads=", 10))
      most = atoi(argv[i] + 10);
    else if (!strncmp(argv[i], "--rounds=", 9))
      rounds = std::max(atoi(argv[i] + 9), 1);
    else if (!strncmp(argv[i], "--device=", 9))
      device = argv[i] + 9;
    else {
      fprintf(stderr, "usage: cache-bench [--check] [--threads=N] "
                      "[--rounds=N] [--device=cuda]\n");
      return 2;
    }
  }
  // What the driver makes of PTX is not to be kept on disk: that is measured
  // elsewhere.
  setenv("GPU_ASYNC_CACHE", "off", /*overwrite=*/0);
  Context context;
  must(Context::open(device, context).release());
  bool null = strstr(gpuasync_context_device_name(context.get()), "null");
  {
    ContextScope scope(context);
    warm(context, most, rounds, null);
    racingFirstUse(context);
    heldLoad(context);
    numbers(context, std::max(rounds / 4, 1));
  }
  generations(device, null ? 2000 : 20);
  must(context.close().release());
  must(gpuasync_shutdown());
  return right ? 0 : 1;
}
