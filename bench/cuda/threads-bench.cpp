//===- threads-bench.cpp - One function, called by many threads at once ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads call one compiled function at once: five small dependent kernels with
// a copy from pageable memory before and one into it behind, each thread with
// memory of its own, which is checked after each call. Calls a second for each
// way of playing, in turns; with and without a thread that meanwhile loads a
// program, runs it and releases it, again and again.
//===----------------------------------------------------------------------===//

#include "Rounds.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <thread>

using namespace bench;

namespace {

using RowFunction = gpuasync_status *(*)(int32_t *, int32_t *, int64_t, int64_t,
                                         int64_t);
constexpr int64_t elements = 1024;

Options options;
gpuasync_context *context;
std::atomic<bool> failed{false};

/// Says so once, and ends all threads' loops.
void fail(const std::string &text) {
  if (!failed.exchange(true))
    std::fprintf(stderr, "threads-bench: %s\n", text.c_str());
}

bool succeeded(gpuasync_status *status) {
  if (!status)
    return true;
  fail(gpuasync_status_get_message(status));
  gpuasync_status_free(status);
  return false;
}

/// What a thread works on.
struct Work {
  std::vector<float> in, out, expected;

  explicit Work(int thread) : in(elements), out(elements), expected(elements) {
    const float factors[] = {0.5f, 0.25f, 0.75f};
    for (int64_t i = 0; i < elements; ++i) {
      in[i] = float((i + 37 * thread) % 1000) / 8;
      expected[i] = in[i];
      for (int k = 0; k < 5; ++k)
        expected[i] = expected[i] * factors[k % 3] + float(1 + k % 5);
    }
  }
  bool call(InOutFunction function) {
    std::fill(out.begin(), out.end(), -1.0f);
    if (!succeeded(function(in.data(), in.data(), 0, elements, 1, out.data(),
                            out.data(), 0, elements, 1)))
      return false;
    for (int64_t i = 0; i < elements; ++i)
      if (!(std::abs(out[i] - expected[i]) <= 1e-5f * expected[i])) {
        fail("element " + std::to_string(i) + ": expected " +
             std::to_string(expected[i]) + ", got " + std::to_string(out[i]));
        return false;
      }
    return true;
  }
};

/// Loads, runs and unloads sync1 until `stop`; how often.
uint64_t releasePrograms(const std::atomic<bool> &stop) {
  std::string path = options.folder + "/sync1.so";
  CUdeviceptr memory = 0;
  if (hasDriver(options)) {
    CUcontext current;
    CUdevice device;
    CHECK_CUDA(cuda.deviceGet(&device, 0));
    CHECK_CUDA(cuda.primaryRetain(&current, device));
    CHECK_CUDA(cuda.ctxSetCurrent(current));
  }
  CHECK_CUDA(cuda.memAlloc(&memory, 128));
  auto *row = reinterpret_cast<int32_t *>(memory);
  uint64_t released = 0;
  if (!succeeded(gpuasync_scope_push(context)))
    return 0;
  while (!stop && !failed) {
    void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    void *function = library ? dlsym(library, "sync1") : nullptr;
    if (!function) {
      fail(dlerror());
      break;
    }
    succeeded(reinterpret_cast<RowFunction>(function)(row, row, 0, 32, 1));
    dlclose(library); // its destructor releases the program
    ++released;
  }
  gpuasync_scope_pop();
  return released;
}

struct Rate {
  double calls = 0, released = 0; ///< a second
};

Rate rateOf(InOutFunction function, int threads, bool releasing,
            const std::string &way, double seconds) {
  setPlay(way);
  std::atomic<bool> start{false}, stop{false};
  std::atomic<uint64_t> calls{0}, released{0};
  std::atomic<int> ready{0};
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread)
    all.emplace_back([&, thread] {
      Work work(thread);
      bool good = succeeded(gpuasync_scope_push(context));
      // Graphs are made, and `auto` comes to a choice.
      for (int i = 0; i < 40 && good; ++i)
        good = work.call(function);
      ++ready;
      while (!start)
        std::this_thread::yield();
      uint64_t own = 0;
      while (good && !stop && !failed) {
        good = work.call(function);
        ++own;
      }
      calls += own;
      gpuasync_scope_pop();
    });
  std::thread releaser;
  if (releasing)
    releaser = std::thread([&] { released = releasePrograms(stop); });
  while (ready < threads)
    std::this_thread::yield();
  double began = now();
  start = true;
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  stop = true;
  double spent = (now() - began) / 1e6;
  for (std::thread &thread : all)
    thread.join();
  if (releasing)
    releaser.join();
  return {double(calls) / spent, double(released) / spent};
}

} // namespace

int main(int argc, char **argv) {
  options.rounds = 7;
  for (int i = 1; i < argc; ++i)
    if (!parseOption(argv[i], options)) {
      std::fprintf(stderr, "usage: threads-bench [options]\n%s", optionsHelp);
      return 2;
    }
  context = openDevice(options, "threads-bench");
  auto function = reinterpret_cast<InOutFunction>(
      findFunction(options, "steps5_io", "steps"));
  if (!function) {
    std::fprintf(stderr, "threads-bench: %s has no steps5_io.so\n",
                 options.folder.c_str());
    return 1;
  }
  Table table;
  for (int threads : {1, 16})
    for (bool releasing : {false, true}) {
      std::string program =
          "threads" + std::to_string(threads) + (releasing ? "_releasing" : "");
      if (!options.wants(program))
        continue;
      std::vector<std::string> ways;
      for (const std::string &way : options.ways)
        if (hasDriver(options) || way != "graph")
          ways.push_back(way);
      std::vector<std::vector<double>> calls(ways.size()), released(calls);
      for (int round = -1; round < options.rounds && !failed; ++round)
        for (size_t i = 0; i < ways.size(); ++i) {
          size_t side = round & 1 ? ways.size() - 1 - i : i;
          Rate rate = rateOf(function, threads, releasing, ways[side], 0.25);
          if (round < 0)
            continue;
          calls[side].push_back(rate.calls);
          released[side].push_back(rate.released);
        }
      if (failed) {
        table.guard(program, [] { throw Failure{"see above"}; });
        break;
      }
      size_t streams =
          std::find(ways.begin(), ways.end(), "streams") - ways.begin();
      std::printf("{\"program\": \"%s\", \"device\": \"%s\", "
                  "\"calls_per_second\": {",
                  program.c_str(), options.device.c_str());
      for (size_t i = 0; i < ways.size(); ++i) {
        std::printf("%s\"%s\": %.0f", i ? ", " : "", ways[i].c_str(),
                    median(calls[i]));
        table.note(program, "calls a second, " + ways[i], median(calls[i]));
      }
      std::printf("}, \"released_per_second\": {");
      for (size_t i = 0; i < ways.size(); ++i)
        std::printf("%s\"%s\": %.0f", i ? ", " : "", ways[i].c_str(),
                    median(released[i]));
      std::printf("}, \"times_streams\": {");
      const char *comma = "";
      for (size_t i = 0; i < ways.size() && streams < ways.size(); ++i) {
        if (i == streams)
          continue;
        std::vector<double> ratios;
        for (size_t round = 0; round < calls[i].size(); ++round)
          ratios.push_back(calls[i][round] / calls[streams][round]);
        std::printf("%s\"%s\": %.3f", comma, ways[i].c_str(), median(ratios));
        comma = ", ";
        if (threads == 16 && ways[i] != "stream")
          table.add(program, ways[i] + " by streams, calls a second",
                    median(ratios), 2, /*least=*/true);
      }
      std::printf("}}\n");
      std::fflush(stdout);
    }
  return table.finish();
}
