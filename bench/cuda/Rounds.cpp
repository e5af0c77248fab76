//===- Rounds.cpp - Several ways of one program in turns ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Rounds.h.
//===----------------------------------------------------------------------===//

#include "Rounds.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

namespace bench {

const char *const optionsHelp =
    "  --folder=DIR     where the compiled programs are (default: .)\n"
    "  --device=cuda    or cpu: the compiled programs alone\n"
    "  --only=A,B       of the programs\n"
    "  --ways=A,B       auto, graph, streams, stream (default: all)\n"
    "  --rounds=N       batches of each side (default: 50)\n"
    "  --calls=N        of a batch, at most (default: 200)\n";

bool parseOption(const char *argument, Options &options) {
  auto value = [&](const char *name) -> const char * {
    size_t length = std::strlen(name);
    return std::strncmp(argument, name, length) ? nullptr : argument + length;
  };
  if (const char *text = value("--folder="))
    options.folder = text;
  else if (const char *text = value("--device="))
    options.device = text;
  else if (const char *text = value("--only="))
    options.only = text;
  else if (const char *text = value("--rounds="))
    options.rounds = std::max(std::atoi(text), 1);
  else if (const char *text = value("--calls="))
    options.calls = std::max(std::atoi(text), 1);
  else if (const char *text = value("--ways=")) {
    options.ways.clear();
    for (std::string rest = text; !rest.empty();) {
      size_t comma = std::min(rest.find(','), rest.size());
      options.ways.push_back(rest.substr(0, comma));
      rest.erase(0, comma + 1);
    }
  } else
    return false;
  return true;
}

bool hasDriver(const Options &options) { return options.device != "cpu"; }

gpuasync_context *openDevice(const Options &options, const char *tool) {
  if (hasDriver(options)) {
    std::string problem = cuda.open();
    if (!problem.empty()) {
      std::fprintf(stderr, "%s: no CUDA driver here: %s\n", tool,
                   problem.c_str());
      std::exit(77);
    }
    CUdevice device;
    CUcontext context;
    CHECK_CUDA(cuda.deviceGet(&device, 0));
    CHECK_CUDA(cuda.primaryRetain(&context, device));
    CHECK_CUDA(cuda.ctxSetCurrent(context));
  } else {
    cuda.useHost();
  }
  gpuasync_context *context = nullptr;
  gpuasync_status *status =
      gpuasync_context_open(options.device.c_str(), &context);
  if (!status)
    status = gpuasync_scope_push(context);
  if (!status)
    return context;
  std::fprintf(stderr, "%s: %s\n", tool, gpuasync_status_get_message(status));
  std::exit(gpuasync_status_get_code(status) == GPUASYNC_UNAVAILABLE ? 77 : 1);
}

void must(gpuasync_status *status, const char *what) {
  if (!status)
    return;
  std::string text = gpuasync_status_get_message(status);
  gpuasync_status_free(status);
  throw Failure{std::string(what) + ": " + text};
}

void *findFunction(const Options &options, const std::string &library,
                   const char *name) {
  std::string path = options.folder + "/" + library + ".so";
  if (access(path.c_str(), R_OK) != 0)
    return nullptr;
  // Several libraries have functions of one name, and some call what prints.
  void *handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  void *symbol = handle ? dlsym(handle, name) : nullptr;
  if (!symbol) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(1);
  }
  return symbol;
}

void setPlay(const std::string &way) {
  must(gpuasync_set_play(way.c_str()), "gpuasync_set_play");
}

double median(std::vector<double> values) {
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2)
    return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double now() {
  return std::chrono::duration<double, std::micro>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

static double callsOf(const Side &side, int calls) {
  double start = now();
  for (int i = 0; i < calls; ++i)
    side.call();
  return (now() - start) / calls;
}

Counts countCalls(gpuasync_context *context, const std::string &way,
                  const std::function<void()> &call) {
  constexpr int calls = 100;
  setPlay(way);
  for (int i = 0; i < calls; ++i)
    call();
  gpuasync_stats before, after;
  must(gpuasync_stats_read(context, &before), "gpuasync_stats_read");
  for (int i = 0; i < calls; ++i)
    call();
  must(gpuasync_stats_read(context, &after), "gpuasync_stats_read");
  auto each = [](uint64_t to, uint64_t from) {
    return double(to - from) / calls;
  };
  Counts counts;
  counts.driverCalls = each(after.driverCalls, before.driverCalls);
  counts.allocations = each(after.buffers.created, before.buffers.created);
  counts.graphsMade = each(after.graphs.created, before.graphs.created);
  counts.graphLaunches = each(after.graphLaunches, before.graphLaunches);
  return counts;
}

void Table::compare(const std::string &program, const Options &options,
                    std::vector<Side> sides, const std::vector<Goal> &goals,
                    const std::string &extra) {
  auto turn = [](const Side &side) {
    if (!side.way.empty())
      setPlay(side.way);
  };
  // Graphs are made, and `auto` comes to a choice, in 40 calls; one that takes
  // milliseconds is not called longer than that.
  for (Side &side : sides) {
    turn(side);
    double took = callsOf(side, 40);
    if (took < 2000)
      took = callsOf(side, 100);
    side.calls = std::max(
        1, int(std::min(options.batch * 1000 / took, double(options.calls))));
  }
  for (int round = -2; round < options.rounds; ++round) {
    for (size_t i = 0; i < sides.size(); ++i) {
      Side &side = sides[round % 2 ? sides.size() - 1 - i : i];
      turn(side);
      double took = callsOf(side, side.calls);
      if (round >= 0)
        side.microseconds.push_back(took);
    }
  }

  std::printf("{\"program\": \"%s\", \"device\": \"%s\", \"rounds\": %d, "
              "\"us\": {",
              program.c_str(), options.device.c_str(), options.rounds);
  const char *comma = "";
  std::string line = program + ":";
  for (const Side &side : sides) {
    double middle = median(side.microseconds);
    double least =
        *std::min_element(side.microseconds.begin(), side.microseconds.end());
    std::printf("%s\"%s\": {\"median\": %.3f, \"min\": %.3f, \"calls\": %d}",
                comma, side.name.c_str(), middle, least, side.calls);
    comma = ", ";
    char text[100];
    std::snprintf(text, sizeof(text), "  %s %.2f", side.name.c_str(), middle);
    line += text;
  }
  rows.push_back(line + " us");
  std::printf("}, \"ratios\": {");
  comma = "";
  auto find = [&](const std::string &name) -> const Side * {
    for (const Side &side : sides)
      if (side.name == name)
        return &side;
    return nullptr;
  };
  for (const Goal &goal : goals) {
    const Side *side = find(goal.numerator), *best = nullptr;
    for (const std::string &name : goal.denominators) {
      const Side *other = find(name);
      if (other &&
          (!best || median(other->microseconds) < median(best->microseconds)))
        best = other;
    }
    if (!side || !best)
      continue;
    std::vector<double> ratios;
    for (int round = 0; round < options.rounds; ++round)
      ratios.push_back(side->microseconds[round] / best->microseconds[round]);
    double ratio = median(ratios);
    std::printf("%s\"%s/%s\": {\"median\": %.4f, \"goal\": %g}", comma,
                side->name.c_str(), best->name.c_str(), ratio, goal.most);
    comma = ", ";
    add(program, side->name + " / " + best->name, ratio, goal.most);
  }
  std::printf("}%s%s}\n", extra.empty() ? "" : ", ", extra.c_str());
  std::fflush(stdout);
}

void Table::add(const std::string &program, const std::string &what,
                double value, double bound, bool least) {
  char text[200];
  std::snprintf(text, sizeof(text), "  %-6s %-18s %-40s %9.3f  %s %g",
                (least ? value >= bound : value <= bound) ? "ok" : "MISSED",
                program.c_str(), what.c_str(), value,
                least ? "at least" : "at most", bound);
  rows.push_back(text);
}

void Table::note(const std::string &program, const std::string &what,
                 double value) {
  char text[200];
  std::snprintf(text, sizeof(text), "         %-18s %-40s %12.2f",
                program.c_str(), what.c_str(), value);
  rows.push_back(text);
}

void Table::guard(const std::string &program,
                  const std::function<void()> &row) {
  try {
    row();
  } catch (const Failure &failure) {
    failed = true;
    rows.push_back("  FAILED " + program + ": " + failure.text);
    std::fprintf(stderr, "%s: %s\n", program.c_str(), failure.text.c_str());
  }
}

int Table::finish() const {
  for (const std::string &row : rows)
    std::fprintf(stderr, "%s\n", row.c_str());
  return failed;
}

} // namespace bench
