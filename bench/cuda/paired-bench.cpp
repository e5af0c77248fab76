//===- paired-bench.cpp - Compiled and hand-written programs in turns -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Times programs compiled by this project, played in each way, and the same
// ones written by hand on the CUDA driver, in one process, one context and in
// alternating batches, so that what the machine does meanwhile hits all. Values
// are checked before and after. Prints a JSON line for each program, and a
// table of what is to be at most how much of what.
//===----------------------------------------------------------------------===//

#include "GraphPrograms.h"
#include "HandWritten.h"
#include "Rounds.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace bench;

namespace {

/// The compiled functions take a memref as MLIR passes it, and return an error
/// as a value (on-error=status): null if all went well.
using Status = gpuasync_status;
using RowFunction = Status *(*)(int32_t *, int32_t *, int64_t, int64_t,
                                int64_t);
using LoopFunction = Status *(*)(int32_t *, int32_t *, int64_t, int64_t,
                                 int64_t, int64_t);
using MatrixFunction = Status *(*)(int32_t *, int32_t *, int64_t, int64_t,
                                   int64_t, int64_t, int64_t);
using ChangingFunction = Status *(*)(void *, void *, int64_t, int64_t, int64_t,
                                     void *, void *, int64_t, int64_t, int64_t,
                                     int32_t);

Options options;
gpuasync_context *context;
Table table;

/// Makes a call of a compiled function.
using Caller = std::function<std::function<void()>(void *)>;

/// LIBRARY played in each way; what it does without regions, with as many
/// streams as are used by default and with one, if it was compiled so.
std::vector<Side> compiledSides(const std::string &library,
                                const char *function, const Caller &caller) {
  std::vector<Side> sides;
  void *compiled = findFunction(options, library, function);
  if (!compiled) {
    std::fprintf(stderr, "paired-bench: %s has no %s.so, left out\n",
                 options.folder.c_str(), library.c_str());
    return sides;
  }
  for (const std::string &way : options.ways)
    if (hasDriver(options) || way != "graph")
      sides.push_back({"ours_" + way, caller(compiled), way});
  for (const char *variant : {"streams", "one"})
    if (void *other = findFunction(options, library + "." + variant, function))
      sides.push_back(
          {std::string("compiled_") + variant, caller(other), "streams"});
  return sides;
}

/// What all programs are to reach.
std::vector<Goal> goalsOf(std::vector<Goal> own) {
  own.push_back(
      {"ours_auto", {"ours_graph", "ours_streams", "ours_stream"}, 1.05});
  own.push_back({"compiled_streams", {"compiled_one"}, 1.05});
  return own;
}

/// Driver calls, allocations and graphs of a warm call.
std::string counted(const std::string &program, const Side &side) {
  Counts counts = countCalls(context, "auto", side.call);
  char text[200];
  std::snprintf(text, sizeof(text),
                "\"driver_calls\": %g, \"allocations\": %g, "
                "\"graphs_made\": %g, \"graph_launches\": %g",
                counts.driverCalls, counts.allocations, counts.graphsMade,
                counts.graphLaunches);
  if (hasDriver(options)) {
    table.add(program, "driver calls of a warm call", counts.driverCalls, 12);
    table.add(program, "allocations of a warm call", counts.allocations, 2);
  }
  return text;
}

[[noreturn]] void fail(const char *whose, size_t i, uint32_t expected,
                       uint32_t got) {
  char text[200];
  std::snprintf(text, sizeof(text), "%s: element %zu: expected %x, got %x",
                whose, i, expected, got);
  throw Failure{text};
}

void expectWords(CUdeviceptr memory, size_t count, uint32_t expected,
                 const char *whose) {
  std::vector<uint32_t> words(count);
  CHECK_CUDA(cuda.memcpyDtoH(words.data(), memory, count * 4));
  for (size_t i = 0; i < count; ++i)
    if (words[i] != expected)
      fail(whose, i, expected, words[i]);
}

/// Floats may be contracted or not; integers are what they are.
void expectOutput(const std::vector<uint32_t> &words,
                  const std::vector<uint32_t> &expected, bool isFloat,
                  const char *whose) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == expected[i])
      continue;
    float value, right;
    std::memcpy(&value, &words[i], 4);
    std::memcpy(&right, &expected[i], 4);
    if (isFloat && std::abs(value - right) <= 1e-5f * right)
      continue;
    fail(whose, i, expected[i], words[i]);
  }
}

CUdeviceptr allocate(size_t words) {
  CUdeviceptr memory;
  CHECK_CUDA(cuda.memAlloc(&memory, words * 4));
  return memory;
}

//===----------------------------------------------------------------------===//
// On 5 x 32 words, and on 32 words
//===----------------------------------------------------------------------===//

/// Each side once, on `memory` (its own, or the hand-written programs'), with
/// what it must leave there.
void once(const std::vector<Side> &sides, CUdeviceptr ours, CUdeviceptr theirs,
          size_t words, uint32_t expected) {
  for (const Side &side : sides) {
    bool compiled = !side.way.empty();
    if (compiled)
      setPlay(side.way);
    // The second time it may be a graph, the third time with other bytes.
    for (int i = 0; i < 3; ++i) {
      CUdeviceptr memory = compiled ? ours : theirs;
      CHECK_CUDA(cuda.memsetD32(memory, 0, words));
      side.call();
      expectWords(memory, 32, expected, side.name.c_str());
    }
  }
}

void onMemory(const std::string &program, const std::string &library,
              const char *function, const Caller &caller,
              std::vector<Side> hand, CUdeviceptr ours, CUdeviceptr theirs,
              size_t words, uint32_t expected, std::vector<Goal> goals) {
  if (!options.wants(program))
    return;
  table.guard(program, [&] {
    std::vector<Side> sides = compiledSides(library, function, caller);
    if (sides.empty())
      return;
    if (hasDriver(options))
      sides.insert(sides.end(), hand.begin(), hand.end());
    once(sides, ours, theirs, words, expected);
    std::string extra = counted(program, sides[0]);
    table.compare(program, options, sides, goalsOf(std::move(goals)), extra);
    once(sides, ours, theirs, words, expected);
  });
}

void smallPrograms() {
  CUdeviceptr ourMatrix = allocate(5 * 32), theirMatrix = allocate(5 * 32);
  CUdeviceptr ourRow = allocate(32), theirRow = allocate(32);
  if (hasDriver(options))
    prepareHandWritten(theirMatrix, theirRow);
  auto *matrix = reinterpret_cast<int32_t *>(ourMatrix);
  auto *row = reinterpret_cast<int32_t *>(ourRow);

  onMemory("forkjoin", "forkjoin", "forkjoin",
           [=](void *f) {
             return [=] {
               must(reinterpret_cast<MatrixFunction>(f)(matrix, matrix, 0, 5,
                                                        32, 32, 1),
                    "forkjoin");
             };
           },
           {{"raw", raw_forkjoin}, {"graph", raw_forkjoin_graph}}, ourMatrix,
           theirMatrix, 5 * 32, 28, {{"ours_auto", {"graph"}, 1.0}});
  auto onRow = [=](void *f) {
    return [=] {
      must(reinterpret_cast<RowFunction>(f)(row, row, 0, 32, 1), "chain");
    };
  };
  onMemory("chain10", "chain10", "chain10", onRow,
           {{"raw", raw_chain10}, {"graph", raw_chain10_graph}}, ourRow,
           theirRow, 32, 10, {{"ours_auto", {"graph"}, 0.87}});
  onMemory("chain1000", "chain1000", "chain", onRow,
           {{"graph", raw_chain1000_graph}}, ourRow, theirRow, 32, 1000,
           {{"ours_auto", {"graph"}, 0.75}});
  uint32_t looped = 0;
  for (int i = 0; i < 1000; ++i)
    looped = (looped + 1) * 3;
  onMemory("loop1000", "loop", "loop",
           [=](void *f) {
             return [=] {
               must(reinterpret_cast<LoopFunction>(f)(row, row, 0, 32, 1, 1000),
                    "loop");
             };
           },
           {{"graph", raw_loop1000_graph}}, ourRow, theirRow, 32, looped,
           {{"ours_auto", {"graph"}, 0.8}});
  onMemory("sync1", "sync1", "sync1", onRow, {{"raw", raw_sync1}}, ourRow,
           theirRow, 32, 1, {{"ours_auto", {"raw"}, 0.8}});
}

//===----------------------------------------------------------------------===//
// From an input to an output
//===----------------------------------------------------------------------===//

void inOut(const GraphProgram &program) {
  const size_t inWords = program.input.size(), words = program.expected.size();
  // With transfers, of pageable memory and of pinned memory.
  std::vector<uint32_t> pageableIn = program.input, pageableOut(words);
  CUdeviceptr deviceOut = program.io ? 0 : allocate(words);
  auto caller = [&](void *in, void *out) {
    return [=, &program](void *f) {
      return [=, &program] {
        must(reinterpret_cast<InOutFunction>(f)(in, in, 0, int64_t(inWords), 1,
                                                out, out, 0, int64_t(words), 1),
             program.name.c_str());
      };
    };
  };
  std::vector<Side> sides =
      program.io ? compiledSides(program.name, program.function,
                                 caller(pageableIn.data(), pageableOut.data()))
                 : compiledSides(program.name, program.function,
                                 caller(reinterpret_cast<void *>(program.in),
                                        reinterpret_cast<void *>(deviceOut)));
  if (sides.empty())
    return;
  size_t pinnedFrom = sides.size();
  if (program.io) {
    std::vector<Side> pinned =
        compiledSides(program.name, program.function,
                      caller(program.hostIn, program.hostOut));
    for (Side &side : pinned)
      if (side.way == "auto") {
        side.name += "_pinned";
        sides.push_back(side);
      }
  }
  size_t compiled = sides.size();
  const char *graphNames[] = {"graph", "graph_kernel_first"};
  for (size_t i = 0; i < program.graphs.size(); ++i)
    sides.push_back({graphNames[i], [&program, i] { runGraph(program, i); }});

  auto check = [&] {
    for (size_t i = 0; i < sides.size(); ++i) {
      if (!sides[i].way.empty())
        setPlay(sides[i].way);
      for (int pass = 0; pass < 3; ++pass) {
        std::vector<uint32_t> got(words);
        if (!program.io) {
          CUdeviceptr out = i < compiled ? deviceOut : program.out;
          CHECK_CUDA(cuda.memsetD32(out, 0xdddddddd, words));
          sides[i].call();
          CHECK_CUDA(cuda.memcpyDtoH(got.data(), out, words * 4));
        } else {
          uint32_t *out = i < pinnedFrom ? pageableOut.data() : program.hostOut;
          std::fill_n(out, words, 0xdddddddd);
          sides[i].call();
          got.assign(out, out + words);
        }
        expectOutput(got, program.expected, program.isFloat,
                     sides[i].name.c_str());
      }
    }
  };
  check();
  std::string extra = counted(program.name, sides[0]);
  table.compare(program.name, options, sides,
                goalsOf({{"ours_auto",
                          {"graph", "graph_kernel_first"},
                          program.io ? 1.1 : 1.0}}),
                extra);
  check();
}

//===----------------------------------------------------------------------===//
// A parameter of each kernel changes from call to call
//===----------------------------------------------------------------------===//

void changing(const char *name, int branches, int kernels,
              const GraphProgram &like) {
  void *function = findFunction(options, name, "inception");
  if (!function) {
    std::fprintf(stderr, "paired-bench: %s has no %s.so, left out\n",
                 options.folder.c_str(), name);
    return;
  }
  const size_t inWords = like.input.size(), words = inWords * branches;
  // Outputs in turns too, so that also the join's parameters change.
  CUdeviceptr outs[] = {allocate(words), allocate(words)};
  int32_t change = 0;
  auto call = [&] {
    auto *in = reinterpret_cast<void *>(like.in);
    auto *out = reinterpret_cast<void *>(outs[change & 1]);
    must(reinterpret_cast<ChangingFunction>(function)(
             in, in, 0, int64_t(inWords), 1, out, out, 0, int64_t(words), 1,
             change),
         name);
  };
  auto changed = [&] {
    ++change;
    call();
  };
  std::vector<Side> sides;
  for (const std::string &way : options.ways)
    if (hasDriver(options) || way != "graph") {
      sides.push_back({"unchanged_" + way, call, way});
      sides.push_back({"changed_" + way, changed, way});
    }
  auto check = [&] {
    for (const Side &side : sides) {
      setPlay(side.way);
      for (int pass = 0; pass < 4; ++pass) {
        side.call();
        std::vector<uint32_t> got(words);
        CHECK_CUDA(cuda.memcpyDtoH(got.data(), outs[change & 1], words * 4));
        expectOutput(got,
                     branchesOf(like, branches, kernels, 64, uint32_t(change)),
                     false, side.name.c_str());
      }
    }
  };
  check();
  Counts counts = countCalls(context, "auto", changed);
  if (hasDriver(options))
    table.add(name, "graphs made by a changed call", counts.graphsMade, 0);
  table.compare(name, options, sides,
                {{"changed_auto", {"unchanged_auto"}, 1.25},
                 {"changed_graph", {"unchanged_graph"}, 1.25},
                 {"changed_auto",
                  {"changed_graph", "changed_streams", "changed_stream"},
                  1.05}});
  check();
}

} // namespace

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i)
    if (!parseOption(argv[i], options)) {
      std::fprintf(
          stderr,
          "usage: paired-bench [options]\n%s"
          "DIR has what bench/CMakeLists.txt makes of test/Integration, "
          "programs.py\nand inception/make.py.\n",
          optionsHelp);
      return 2;
    }
  context = openDevice(options, "paired-bench");
  smallPrograms();
  std::vector<GraphProgram> programs = makeGraphPrograms(hasDriver(options));
  for (const GraphProgram &program : programs)
    if (options.wants(program.name))
      table.guard(program.name, [&] { inOut(program); });
  const struct {
    const char *name;
    int branches, kernels;
  } all[] = {
      {"changing4", 4, 3}, {"changing12", 12, 3}, {"changingchain", 1, 10}};
  for (const GraphProgram &program : programs)
    for (auto [name, branches, kernels] : all)
      if (program.name == "branches4" && options.wants(name))
        table.guard(name,
                    [&, name = name, branches = branches, kernels = kernels] {
                      changing(name, branches, kernels, program);
                    });
  return table.finish();
}
