//===- paired-bench.cpp - Compiled and hand-written programs in turns -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times a program compiled by this project and the same one written by hand on
// the CUDA driver, in one process, one context and in alternating batches, so
// that what the machine does meanwhile hits both. Prints one JSON line each.
//===----------------------------------------------------------------------===//

#include "GraphPrograms.h"
#include "HandWritten.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <unistd.h>
#include <vector>

using namespace bench;

namespace {

/// The compiled functions take a memref as MLIR passes it, and return an error
/// as a value (on-error=status): null if all went well.
using Status = void;
using RowFunction = Status *(*)(int32_t *, int32_t *, int64_t, int64_t,
                                int64_t);
using MatrixFunction = Status *(*)(int32_t *, int32_t *, int64_t, int64_t,
                                   int64_t, int64_t, int64_t);
using InOutFunction = Status *(*)(void *, void *, int64_t, int64_t, int64_t,
                                  void *, void *, int64_t, int64_t, int64_t);

struct Options {
  std::string folder = ".";
  int rounds = 50;
  int calls = 200;
  std::string only;
};

struct Side {
  const char *name;
  std::function<void()> call;
  std::vector<double> microseconds; ///< per call, one entry per round
};

// The programs under test are plain functions without a closure, like the
// hand-written ones; what they need is here.
RowFunction compiledChain, compiledSync;
MatrixFunction compiledForkjoin;
CUdeviceptr ourMatrix, ourRow;

void must(Status *status, const char *name) {
  if (!status)
    return;
  using Message = const char *(*)(const Status *);
  auto message = reinterpret_cast<Message>(
      dlsym(RTLD_DEFAULT, "gpuasync_status_get_message"));
  std::fprintf(stderr, "%s failed: %s\n", name,
               message ? message(status) : "no message");
  std::exit(1);
}

void callForkjoin() {
  auto *data = reinterpret_cast<int32_t *>(ourMatrix);
  must(compiledForkjoin(data, data, 0, 5, 32, 32, 1), "forkjoin");
}
void callChain() {
  auto *data = reinterpret_cast<int32_t *>(ourRow);
  must(compiledChain(data, data, 0, 32, 1), "chain10");
}
void callSync() {
  auto *data = reinterpret_cast<int32_t *>(ourRow);
  must(compiledSync(data, data, 0, 32, 1), "sync1");
}

template <typename Function>
Function load(const Options &options, const char *library, const char *name) {
  std::string path = options.folder + "/" + library;
  // The runtime, which the library needs, is shared by all of them; its status
  // functions are looked up globally.
  void *handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
  void *symbol = handle ? dlsym(handle, name) : nullptr;
  if (!symbol) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return reinterpret_cast<Function>(symbol);
}

double median(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

void time(Side &side, int calls, bool keep) {
  auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i)
    side.call();
  std::chrono::duration<double, std::micro> spent =
      std::chrono::steady_clock::now() - start;
  if (keep)
    side.microseconds.push_back(spent.count() / calls);
}

/// Batches in turns: forwards in even rounds, backwards in odd ones, so that no
/// side always follows the same other. The first two rounds are not kept.
void compare(const char *program, const char *device, const Options &options,
             std::vector<Side> sides) {
  for (int round = -2; round < options.rounds; ++round) {
    for (size_t i = 0; i < sides.size(); ++i)
      time(sides[round % 2 ? sides.size() - 1 - i : i], options.calls,
           round >= 0);
  }
  std::printf("{\"program\": \"%s\", \"device\": \"%s\", \"rounds\": %d, "
              "\"calls_per_round\": %d",
              program, device, options.rounds, options.calls);
  for (const Side &side : sides)
    std::printf(
        ", \"%s_us\": %.3f, \"%s_min_us\": %.3f", side.name,
        median(side.microseconds), side.name,
        *std::min_element(side.microseconds.begin(), side.microseconds.end()));
  // The compiled side is the first one.
  for (size_t other = 1; other < sides.size(); ++other) {
    std::vector<double> ratios;
    for (int round = 0; round < options.rounds; ++round)
      ratios.push_back(sides[0].microseconds[round] /
                       sides[other].microseconds[round]);
    std::printf(", \"ratio_of_medians_to_%s\": %.4f, "
                "\"median_of_ratios_to_%s\": %.4f",
                sides[other].name,
                median(sides[0].microseconds) /
                    median(sides[other].microseconds),
                sides[other].name, median(ratios));
  }
  std::printf("}\n");
  std::fflush(stdout);
}

void expectWords(CUdeviceptr memory, size_t count, int32_t expected,
                 const char *what) {
  std::vector<int32_t> words(count);
  CHECK_CUDA(cuda.memcpyDtoH(words.data(), memory, count * sizeof(int32_t)));
  for (int32_t word : words) {
    if (word == expected)
      continue;
    std::fprintf(stderr, "%s: expected %d, got %d\n", what, expected, word);
    std::exit(1);
  }
}

/// Floats may be contracted or not; integers are what they are.
void expectOutput(CUdeviceptr memory, const GraphProgram &program,
                  const char *whose) {
  std::vector<uint32_t> words(program.expected.size());
  CHECK_CUDA(cuda.memcpyDtoH(words.data(), memory, words.size() * 4));
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == program.expected[i])
      continue;
    float value, expected;
    std::memcpy(&value, &words[i], 4);
    std::memcpy(&expected, &program.expected[i], 4);
    if (program.isFloat && std::abs(value - expected) <= 1e-5f * expected)
      continue;
    std::fprintf(stderr, "%s %s: element %zu: expected %x, got %x\n", whose,
                 program.name, i, program.expected[i], words[i]);
    std::exit(1);
  }
}

/// Compiled from MLIR, and as a graph that was written by hand.
void compareGraph(const GraphProgram &program, const char *device,
                  const Options &options) {
  std::string library = std::string(program.name) + ".so";
  if (access((options.folder + "/" + library).c_str(), R_OK) != 0) {
    std::fprintf(stderr, "paired-bench: %s has no %s, left out\n",
                 options.folder.c_str(), library.c_str());
    return;
  }
  auto compiled =
      load<InOutFunction>(options, library.c_str(), program.function);
  CUdeviceptr ourOut;
  const size_t words = program.expected.size();
  CHECK_CUDA(cuda.memAlloc(&ourOut, words * 4));
  auto ours = [&] {
    auto *in = reinterpret_cast<void *>(program.in);
    auto *out = reinterpret_cast<void *>(ourOut);
    must(compiled(in, in, 0, int64_t(program.input.size()), 1, out, out, 0,
                  int64_t(words), 1),
         program.name);
  };
  auto theirs = [&] { runGraph(program); };
  auto check = [&] {
    expectOutput(ourOut, program, "compiled");
    expectOutput(program.out, program, "hand-written");
    CHECK_CUDA(cuda.memsetD32(ourOut, 0xdddddddd, words));
    CHECK_CUDA(cuda.memsetD32(program.out, 0xdddddddd, words));
  };
  ours();
  theirs();
  check();
  compare(program.name, device, options,
          {{"ours", ours, {}}, {"graph", theirs, {}}});
  check();
}

[[noreturn]] void usage() {
  std::fprintf(stderr,
               "usage: paired-bench [--folder=DIR] [--rounds=N] [--calls=N] "
               "[--only=PROGRAM]\n"
               "DIR has forkjoin.so, chain10.so and sync1.so, made from "
               "test/Integration, and\nwhat bench/CMakeLists.txt makes of "
               "steps10, fork4, branches4 and branches12.\n");
  std::exit(2);
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const char *argument = argv[i];
    if (!std::strncmp(argument, "--folder=", 9))
      options.folder = argument + 9;
    else if (!std::strncmp(argument, "--rounds=", 9))
      options.rounds = std::atoi(argument + 9);
    else if (!std::strncmp(argument, "--calls=", 8))
      options.calls = std::atoi(argument + 8);
    else if (!std::strncmp(argument, "--only=", 7))
      options.only = argument + 7;
    else
      usage();
  }
  if (options.rounds < 1 || options.calls < 1)
    usage();
  return options;
}

} // namespace

int main(int argc, char **argv) {
  Options options = parse(argc, argv);
  std::string problem = cuda.open();
  if (!problem.empty()) {
    std::fprintf(stderr, "paired-bench: no CUDA driver here: %s\n",
                 problem.c_str());
    return 77; // "skipped", to scripts
  }
  CUdevice device;
  CUcontext context;
  char name[128] = "?";
  CHECK_CUDA(cuda.deviceGet(&device, 0));
  CHECK_CUDA(cuda.deviceGetName(name, sizeof(name), device));
  CHECK_CUDA(cuda.primaryRetain(&context, device));
  CHECK_CUDA(cuda.ctxSetCurrent(context));

  CUdeviceptr theirMatrix, theirRow;
  for (CUdeviceptr *matrix : {&ourMatrix, &theirMatrix})
    CHECK_CUDA(cuda.memAlloc(matrix, 5 * 32 * sizeof(int32_t)));
  for (CUdeviceptr *row : {&ourRow, &theirRow})
    CHECK_CUDA(cuda.memAlloc(row, 32 * sizeof(int32_t)));
  prepareHandWritten(theirMatrix, theirRow);

  auto wanted = [&](const char *program) {
    return options.only.empty() || options.only == program;
  };
  // Each side does its work once and is looked at before anything is timed.
  if (wanted("forkjoin")) {
    compiledForkjoin = load<MatrixFunction>(options, "forkjoin.so", "forkjoin");
    callForkjoin();
    raw_forkjoin();
    expectWords(ourMatrix, 32, 28, "compiled forkjoin");
    expectWords(theirMatrix, 32, 28, "hand-written forkjoin");
    compare("forkjoin_1_4x2_1", name, options,
            {{"ours", callForkjoin, {}},
             {"raw", raw_forkjoin, {}},
             {"graph", raw_forkjoin_graph, {}}});
    expectWords(ourMatrix, 32, 28, "compiled forkjoin");
    expectWords(theirMatrix, 32, 28, "hand-written forkjoin");
  }
  auto expectIncrements = [&](void (*ours)(), void (*theirs)(), int by,
                              const char *what) {
    CHECK_CUDA(cuda.memsetD32(ourRow, 0, 32));
    CHECK_CUDA(cuda.memsetD32(theirRow, 0, 32));
    ours();
    theirs();
    expectWords(ourRow, 32, by, what);
    expectWords(theirRow, 32, by, what);
  };
  if (wanted("chain10")) {
    compiledChain = load<RowFunction>(options, "chain10.so", "chain10");
    expectIncrements(callChain, raw_chain10, 10, "chain10");
    compare("chain10", name, options,
            {{"ours", callChain, {}},
             {"raw", raw_chain10, {}},
             {"graph", raw_chain10_graph, {}}});
  }
  if (wanted("sync1")) {
    compiledSync = load<RowFunction>(options, "sync1.so", "sync1");
    expectIncrements(callSync, raw_sync1, 1, "sync1");
    compare("sync1", name, options,
            {{"ours", callSync, {}}, {"raw", raw_sync1, {}}});
  }
  for (const GraphProgram &program : makeGraphPrograms())
    if (wanted(program.name))
      compareGraph(program, name, options);
  return 0;
}
