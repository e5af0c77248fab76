//===- region-bench.cpp - What a region costs before it is fast -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first, the second and the hundredth call of a region that is played as a
// graph, what making the graph costs, and after how many calls that pays. And
// many calls whose sizes, grids and parameters change from each to the next:
// what they make, hold and leave after a while.
//===----------------------------------------------------------------------===//

#include "GraphPrograms.h"
#include "Rounds.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace bench;

namespace {

using SizesFunction = gpuasync_status *(*)(void *, void *, int64_t, int64_t,
                                           int64_t, void *, void *, int64_t,
                                           int64_t, int64_t, int64_t, int32_t);

Options options;
gpuasync_context *context;
Table table;

//===----------------------------------------------------------------------===//
// The first calls
//===----------------------------------------------------------------------===//

void firstCalls(const GraphProgram &program) {
  void *compiled = findFunction(options, program.name, program.function);
  if (!compiled)
    return;
  const size_t words = program.expected.size();
  CUdeviceptr outMemory;
  CHECK_CUDA(cuda.memAlloc(&outMemory, words * 4));
  auto *in = reinterpret_cast<void *>(program.in);
  auto *out = reinterpret_cast<void *>(outMemory);
  auto call = [&] {
    double start = now();
    must(reinterpret_cast<InOutFunction>(compiled)(
             in, in, 0, int64_t(program.input.size()), 1, out, out, 0,
             int64_t(words), 1),
         program.name.c_str());
    return now() - start;
  };
  auto check = [&] {
    std::vector<uint32_t> got(words);
    CHECK_CUDA(cuda.memcpyDtoH(got.data(), outMemory, words * 4));
    CHECK_CUDA(cuda.memsetD32(outMemory, 0xdddddddd, words));
    for (size_t i = 0; i < words; ++i) {
      float value, right;
      std::memcpy(&value, &got[i], 4);
      std::memcpy(&right, &program.expected[i], 4);
      if (got[i] != program.expected[i] &&
          !(program.isFloat && std::abs(value - right) <= 1e-5f * right))
        throw Failure{"wrong values"};
    }
  };

  // Each time in a context of its own, so that nothing is known of the region.
  constexpr int repeats = 7, early = 8;
  const std::string way = hasDriver(options) ? "graph" : "stream";
  std::vector<double> cold, streams, first, second, third, hundredth, making,
      pays;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    gpuasync_context *own = nullptr;
    must(gpuasync_context_open(options.device.c_str(), &own), "open");
    must(gpuasync_scope_push(own), "scope");
    setPlay("streams");
    cold.push_back(call()); // the modules are loaded
    check();
    std::vector<double> onStreams;
    for (int i = 0; i < 200; ++i)
      onStreams.push_back(call());
    setPlay(way);
    std::vector<double> calls;
    for (int i = 0; i < 300; ++i) {
      calls.push_back(call());
      if (i < 3)
        check();
    }
    check();
    double steady =
        median(std::vector<double>(calls.begin() + 100, calls.end()));
    double onStream = median(onStreams);
    double extra = 0;
    for (int i = 0; i < early; ++i)
      extra += calls[i] - steady;
    streams.push_back(onStream);
    first.push_back(calls[0]);
    second.push_back(calls[1]);
    third.push_back(calls[2]);
    hundredth.push_back(steady);
    making.push_back(extra);
    // Calls until the sum is less than that of as many on streams.
    pays.push_back(onStream > steady
                       ? std::max(extra, 0.0) / (onStream - steady)
                       : INFINITY);
    gpuasync_scope_pop();
    must(gpuasync_context_close(own), "close");
    gpuasync_context_release(own);
  }
  std::printf("{\"program\": \"%s\", \"device\": \"%s\", \"way\": \"%s\", "
              "\"cold_us\": %.1f, \"streams_us\": %.2f, \"first_us\": %.1f, "
              "\"second_us\": %.1f, \"third_us\": %.1f, \"later_us\": %.2f, "
              "\"making_us\": %.1f, ",
              program.name.c_str(), options.device.c_str(), way.c_str(),
              median(cold), median(streams), median(first), median(second),
              median(third), median(hundredth), median(making));
  double calls = median(pays);
  if (std::isfinite(calls))
    std::printf("\"pays_after_calls\": %.0f}\n", std::ceil(calls));
  else
    std::printf("\"pays_after_calls\": null}\n");
  std::fflush(stdout);
  table.note(program.name, "us: the first call, which loads modules",
             median(cold));
  table.note(program.name, "us: on streams", median(streams));
  table.note(program.name, "us: the region's first call", median(first));
  table.note(program.name, "us: its second", median(second));
  table.note(program.name, "us: its hundredth and later", median(hundredth));
  table.note(program.name, "us: making the graph", median(making));
  table.note(program.name, "calls after which that pays", calls);
}

//===----------------------------------------------------------------------===//
// Sizes and parameters change
//===----------------------------------------------------------------------===//

/// Resident bytes of the process.
double residentBytes() {
  long pages = 0, resident = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2)
      resident = 0;
    std::fclose(file);
  }
  return double(resident) * double(sysconf(_SC_PAGESIZE));
}

void soak(const std::string &way) {
  const std::string name = "sizes_" + way;
  auto function =
      reinterpret_cast<SizesFunction>(findFunction(options, "sizes", "sizes"));
  if (!function)
    return;
  constexpr int64_t most = 1 << 16;
  constexpr int calls = 10000, warm = 200;
  std::vector<uint32_t> input(most), output(most);
  for (int64_t i = 0; i < most; ++i)
    input[i] = uint32_t(i) * 2654435761u;
  CUdeviceptr in, out;
  CHECK_CUDA(cuda.memAlloc(&in, most * 4));
  CHECK_CUDA(cuda.memAlloc(&out, most * 4));
  CHECK_CUDA(cuda.memcpyHtoD(in, input.data(), most * 4));

  setPlay(way);
  gpuasync_stats atStart{}, halfway{}, atEnd{};
  double memoryHalfway = 0;
  double began = now();
  uint32_t random = 12345;
  for (int i = 0; i < calls; ++i) {
    if (i == warm) {
      must(gpuasync_stats_read(context, &atStart), "stats");
      began = now();
    }
    if (i == calls / 2) {
      must(gpuasync_stats_read(context, &halfway), "stats");
      memoryHalfway = residentBytes();
    }
    random = random * 1664525 + 1013904223;
    // The largest comes while it is warming up.
    int64_t n = i == 1 ? most : 1 + (random >> 8) % (most / 2);
    int64_t offset = i == 1 ? 0 : (random >> 4) % (most / 2);
    int32_t term = i;
    auto *from = reinterpret_cast<uint32_t *>(in) + offset;
    auto *to = reinterpret_cast<uint32_t *>(out) + offset;
    must(function(from, from, 0, n, 1, to, to, 0, n, 1, n, term), name.c_str());
    if (i % 16 && i > 8)
      continue;
    CHECK_CUDA(cuda.memcpyDtoH(output.data(), reinterpret_cast<CUdeviceptr>(to),
                               n * 4));
    for (int64_t k = 0; k < n; ++k)
      if (output[k] != 2 * input[offset + k] + 2 * uint32_t(term) + 7)
        throw Failure{"call " + std::to_string(i) + ": element " +
                      std::to_string(k) + " is wrong"};
    CHECK_CUDA(cuda.memsetD32(out, 0xdddddddd, most));
  }
  double each = (now() - began) / (calls - warm);
  must(gpuasync_stats_read(context, &atEnd), "stats");
  auto grown = [](uint64_t to, uint64_t from) { return double(to) - from; };
  const struct {
    const char *what;
    double value, most;
  } rows[] = {
      {"graphs made after warm-up",
       grown(atEnd.graphs.created, atStart.graphs.created), 0},
      {"graphs more in the second half",
       grown(atEnd.graphs.physical, halfway.graphs.physical), 0},
      {"streams more", grown(atEnd.streams.physical, halfway.streams.physical),
       0},
      // As many as are in use at once, which is chance.
      {"events more", grown(atEnd.events.physical, halfway.events.physical),
       16},
      {"buffers of the program more",
       grown(atEnd.buffers.live, halfway.buffers.live), 0},
      {"device bytes more", grown(atEnd.deviceBytes, halfway.deviceBytes),
       4 << 20},
      {"resident bytes more", residentBytes() - memoryHalfway, 1 << 20}};
  std::printf("{\"program\": \"%s\", \"device\": \"%s\", \"calls\": %d, "
              "\"us\": %.2f, \"graph_launches\": %.0f",
              name.c_str(), options.device.c_str(), calls, each,
              grown(atEnd.graphLaunches, atStart.graphLaunches));
  for (const auto &row : rows) {
    std::printf(", \"%s\": %.0f", row.what, row.value);
    table.add(name, row.what, row.value, row.most);
  }
  std::printf("}\n");
  std::fflush(stdout);
  table.note(name, "graph launches",
             grown(atEnd.graphLaunches, atStart.graphLaunches));
}

} // namespace

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (!parseOption(argv[i], options)) {
      std::fprintf(stderr, "usage: region-bench [options]\n%s", optionsHelp);
      return 2;
    }
  context = openDevice(options, "region-bench");
  for (const GraphProgram &program : makeGraphPrograms(/*graphs=*/false))
    if (!program.io && program.name.find("long") != 0 &&
        options.wants(program.name))
      table.guard(program.name, [&] { firstCalls(program); });
  for (const std::string &way : options.ways)
    if ((hasDriver(options) || way != "graph") && options.wants("sizes_" + way))
      table.guard("sizes_" + way, [&] { soak(way); });
  return table.finish();
}
