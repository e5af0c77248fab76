//===- ranks-bench.cpp - Bus bandwidth of collectives between GPUs --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ranks-bench [RANKS [ROUNDS]]: collectives of 16 MB to 1 GB among GPUs of this
// process, by gpuasync_collective_enqueue and by NCCL called by hand, in turns
// in one run. Bus bandwidth is that of nccl-tests. GPU_ASYNC_NCCL_LIBRARY names
// the library.
//===----------------------------------------------------------------------===//

#include "gpuasync/Context.h"
#include "gpuasync/Ranks.h"
#include "gpuasync/SiteTable.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <dlfcn.h>
#include <mutex>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <thread>
#include <vector>

using namespace gpuasync;
using std::chrono::steady_clock;

[[noreturn]] static void fail(const std::string &text) {
  fprintf(stderr, "ranks-bench: %s\n", text.c_str());
  _Exit(1);
}
static void check(const Status &status) {
  if (!status.ok())
    fail(status.message());
}

//===----------------------------------------------------------------------===//
// A program without kernels
//===----------------------------------------------------------------------===//

static void *slot;
enum : uint32_t { StreamSite, CollectiveSite };
static constexpr auto sites = [] {
  SiteTable<2, 128> table;
  table.add("ranks-bench.cpp", "gpu_async.stream.create", 1, 1);
  table.add("ranks-bench.cpp", "gpu_async.collective", 2, 1);
  return table;
}();
static const gpuasync_program program = {
    GPUASYNC_ABI_VERSION, 0, "ranks-bench", nullptr, &slot, sites.data(),
    sites.size(),         0};
static const gpuasync_function function = {
    "ranks-bench", "ranks-bench.cpp", 1, 1, &program, nullptr, 0, 0, 1, 0};

//===----------------------------------------------------------------------===//
// The driver and NCCL by hand
//===----------------------------------------------------------------------===//

namespace {
struct Id {
  char bytes[128];
};
struct Hand {
  int (*setContext)(void *), (*retain)(void **, int), (*alloc)(void **, size_t),
      (*streamCreate)(void **, unsigned), (*eventCreate)(void **, unsigned),
      (*eventRecord)(void *, void *), (*eventSynchronize)(void *),
      (*eventElapsed)(float *, void *, void *);
  int (*makeId)(Id *), (*init)(void **, int, Id, int);
  int (*allReduce)(const void *, void *, size_t, int, int, void *, void *);
  int (*allGather)(const void *, void *, size_t, int, void *, void *);
  int (*reduceScatter)(const void *, void *, size_t, int, int, void *, void *);

  Hand() {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    const char *named = getenv("GPU_ASYNC_NCCL_LIBRARY");
    void *nccl = dlopen(named ? named : "libnccl.so.2", RTLD_NOW);
    if (!driver || !nccl)
      fail(std::string("needs libcuda.so.1 and NCCL, which "
                       "GPU_ASYNC_NCCL_LIBRARY may name; not there: ") +
           (driver ? "" : "libcuda.so.1 ") +
           (nccl    ? ""
            : named ? named
                    : "libnccl.so.2"));
    const auto find = [](void *library, auto &function, const char *name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(
          dlsym(library, name));
      if (!function)
        fail(name);
    };
    find(driver, setContext, "cuCtxSetCurrent");
    find(driver, retain, "cuDevicePrimaryCtxRetain");
    find(driver, alloc, "cuMemAlloc_v2");
    find(driver, eventCreate, "cuEventCreate");
    find(driver, eventRecord, "cuEventRecord");
    find(driver, eventSynchronize, "cuEventSynchronize");
    find(driver, eventElapsed, "cuEventElapsedTime");
    find(driver, streamCreate, "cuStreamCreate");
    find(nccl, makeId, "ncclGetUniqueId");
    find(nccl, init, "ncclCommInitRank");
    find(nccl, allReduce, "ncclAllReduce");
    find(nccl, allGather, "ncclAllGather");
    find(nccl, reduceScatter, "ncclReduceScatter");
  }
};

/// All threads come to it, again and again.
class Barrier {
public:
  explicit Barrier(uint32_t count) : count(count) {}
  void wait() {
    std::unique_lock<std::mutex> lock(mutex);
    const uint64_t round = rounds;
    if (++there == count) {
      there = 0;
      ++rounds;
      changed.notify_all();
    } else {
      changed.wait(lock, [&] { return rounds != round; });
    }
  }

private:
  const uint32_t count;
  uint32_t there = 0;
  uint64_t rounds = 0;
  std::mutex mutex;
  std::condition_variable changed;
};

struct Case {
  uint32_t kind;
  const char *name;
};
const Case cases[] = {{GPUASYNC_ALL_REDUCE, "all_reduce"},
                      {GPUASYNC_ALL_GATHER, "all_gather"},
                      {GPUASYNC_REDUCE_SCATTER, "reduce_scatter"}};
constexpr int64_t largest = int64_t(1) << 30;
} // namespace

static void check(int result, const char *what) {
  if (result)
    fail(std::string(what) + " returned " + std::to_string(result));
}

static double since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (atoi(argv[i]) < 1)
      fail(std::string(argv[i]) +
           " is no number; usage: ranks-bench [RANKS [ROUNDS]]");
  setenv("NCCL_NVLS_ENABLE", "0", 0);
  setenv("NCCL_P2P_DIRECT_DISABLE", "1", 0);
  const uint32_t count = argc > 1 ? uint32_t(atoi(argv[1])) : 2;
  const int rounds = argc > 2 ? atoi(argv[2]) : 5;
  Hand hand;
  std::vector<Context> contexts(count);
  std::vector<gpuasync_context *> raw;
  for (uint32_t i = 0; i < count; ++i) {
    check(Context::open(("cuda:" + std::to_string(i)).c_str(), contexts[i]));
    raw.push_back(contexts[i].get());
  }
  gpuasync_ranks *ranks = nullptr;
  check(Status(gpuasync_ranks_create(raw.data(), count, &ranks)));
  Id id;
  check(hand.makeId(&id), "ncclGetUniqueId");
  printf("%s, %u GPUs; bus bandwidth in GB/s, median of %d rounds\n",
         gpuasync_context_device_name(raw[0]), count, rounds);
  printf("%-15s %12s %8s %8s %6s %14s\n", "collective", "bytes", "ours", "hand",
         "ratio", "host us ours");

  Barrier barrier(count);
  std::vector<std::thread> threads;
  for (uint32_t rank = 0; rank < count; ++rank)
    threads.emplace_back([&, rank] {
      ContextScope scope(contexts[rank]);
      void *context = nullptr, *comm = nullptr, *own = nullptr;
      check(hand.retain(&context, int(rank)), "cuDevicePrimaryCtxRetain");
      check(hand.setContext(context), "cuCtxSetCurrent");
      check(hand.init(&comm, int(count), id, int(rank)), "ncclCommInitRank");
      check(hand.streamCreate(&own, 1), "cuStreamCreate");
      void *start = nullptr, *end = nullptr, *byHand[2];
      check(hand.eventCreate(&start, 0), "cuEventCreate");
      check(hand.eventCreate(&end, 0), "cuEventCreate");
      for (void *&memory : byHand)
        check(hand.alloc(&memory, largest), "cuMemAlloc");
      gpuasync_frame frame;
      if (gpuasync_frame_enter(&frame, &function))
        fail("gpuasync_frame_enter");
      gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, StreamSite);
      void *ours[2];
      for (void *&memory : ours)
        memory = gpuasync_alloc(&frame, 0, stream, largest, 0, StreamSite);
      for (const Case &each : cases)
        for (int64_t bytes = 16 << 20; bytes <= largest; bytes *= 4) {
          const int64_t all = bytes / 4, part = all / count;
          const bool gathers = each.kind == GPUASYNC_ALL_GATHER,
                     scatters = each.kind == GPUASYNC_REDUCE_SCATTER;
          const int64_t from = gathers ? part : all, to = scatters ? part : all;
          const int times = bytes >= 256 << 20 ? 10 : 40;
          gpuasync_collective what = {};
          what.structSize = sizeof(what);
          what.kind = each.kind;
          what.element = GPUASYNC_ELEMENT_F32;
          what.reduction = gathers ? 0 : uint32_t(GPUASYNC_REDUCE_SUM);
          double hostSeconds = 0;
          const auto measure = [&] {
            float ms = 0;
            check(hand.eventSynchronize(end), "cuEventSynchronize");
            check(hand.eventElapsed(&ms, start, end), "cuEventElapsedTime");
            return double(ms) / 1e3;
          };
          const auto runOurs = [&](int n) {
            barrier.wait();
            const auto begin = steady_clock::now();
            for (int i = 0; i < n; ++i) {
              const gpuasync_call *call =
                  gpuasync_call_begin(&frame, &stream, 1, CollectiveSite);
              if (!call)
                break;
              if (!i)
                check(hand.eventRecord(start, call->stream), "cuEventRecord");
              const int32_t result = gpuasync_collective_enqueue(
                  call, &what, ours[1], to, ours[0], from);
              if (i + 1 == n)
                check(hand.eventRecord(end, call->stream), "cuEventRecord");
              gpuasync_call_end(&frame, result, CollectiveSite);
            }
            hostSeconds = since(begin) / n;
            if (gpuasync_stream_synchronize(&frame, &stream, 1, CollectiveSite))
              check(Status(gpuasync_frame_leave(&frame)));
            return measure() / n;
          };
          const auto runByHand = [&](int n) {
            barrier.wait();
            check(hand.setContext(context), "cuCtxSetCurrent");
            check(hand.eventRecord(start, own), "cuEventRecord");
            for (int i = 0; i < n; ++i)
              check(gathers    ? hand.allGather(byHand[0], byHand[1], part, 7,
                                                comm, own)
                    : scatters ? hand.reduceScatter(byHand[0], byHand[1], part,
                                                    7, 0, comm, own)
                               : hand.allReduce(byHand[0], byHand[1], all, 7, 0,
                                                comm, own),
                    each.name);
            check(hand.eventRecord(end, own), "cuEventRecord");
            return measure() / n;
          };
          runOurs(5);
          runByHand(5);
          std::vector<double> mine, theirs, ratios, host;
          for (int round = 0; round < rounds; ++round) {
            mine.push_back(runOurs(times));
            host.push_back(hostSeconds);
            theirs.push_back(runByHand(times));
            ratios.push_back(theirs.back() / mine.back());
          }
          const auto median = [](std::vector<double> &values) {
            std::sort(values.begin(), values.end());
            return values[values.size() / 2];
          };
          const double factor = double(count - 1) / count *
                                (each.kind == GPUASYNC_ALL_REDUCE ? 2 : 1) *
                                double(bytes) / 1e9;
          if (rank == 0) {
            printf("%-15s %12lld %8.1f %8.1f %6.3f %14.1f\n", each.name,
                   static_cast<long long>(bytes), factor / median(mine),
                   factor / median(theirs), median(ratios), 1e6 * median(host));
            fflush(stdout);
          }
        }
      for (void *memory : ours)
        gpuasync_dealloc(&frame, 0, stream, memory, StreamSite);
      gpuasync_stream_destroy(&frame, stream, 0, StreamSite);
      Status left(gpuasync_frame_leave(&frame));
      check(left);
      gpuasync_ranks_leave(ranks, rank, nullptr);
    });
  for (std::thread &thread : threads)
    thread.join();
  gpuasync_ranks_release(ranks);
}
