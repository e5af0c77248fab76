//===- cpu-bench.cpp - Kernels on the cpu device, PoCL and OpenMP ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One process runs each row in turns: a program of programs/*.mlir compiled
// ahead of time, kernels.cl on PoCL, OpenMP.cpp. bench/cpu/run starts it.
//===----------------------------------------------------------------------===//
//
// All use the same memory. Every result is compared with a scalar reference
// before anything is timed. A round times each of them once, in changing order;
// times are medians over the rounds, ratios medians of the rounds' ratios. The
// last column says whether a row reaches its goal. With --best both are those
// of the least times, and with --cpu-time the clock is the processor time of
// all threads divided by the number of processors: both for a machine that is
// busy with something else.
//
//===----------------------------------------------------------------------===//

#include "OpenCL.h"
#include "gpuasync/Context.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <thread>
#include <time.h>
#include <vector>

using namespace bench;

namespace {

using Work = std::function<void()>;

std::string folder, only;
int numRounds = 15;
bool best = false, cpuTime = false;
double roundSeconds = 0.03;
OpenCL cl;
bool haveCl = false;
void *omp = nullptr;

[[noreturn]] void fail(const std::string &message) {
  fprintf(stderr, "cpu-bench: %s\n", message.c_str());
  exit(1);
}

void must(gpuasync_status *status) {
  if (status)
    fail(gpuasync_status_get_message(status));
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

/// Page-aligned memory, not freed before the end.
template <typename T>
T *make(size_t count) {
  size_t bytes = (count * sizeof(T) + 4095) & ~size_t(4095);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED)
    fail("out of memory");
  return static_cast<T *>(memory);
}

std::mt19937 generator(20250101);

void fillRandom(float *data, size_t count) {
  std::uniform_real_distribution<float> numbers(-1, 1);
  for (size_t i = 0; i < count; ++i)
    data[i] = numbers(generator);
}

/// What `got` is off from `want`, relative to `scale`.
double difference(const float *got, const std::vector<float> &want,
                  double scale) {
  double worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    double off = std::fabs(double(got[i]) - want[i]) / scale;
    if (!(off <= worst))
      worst = std::isnan(off) ? INFINITY : off;
  }
  return worst;
}

/// A memref as docs/reference/ABI.md passes it.
template <typename T, int Rank>
struct Memref {
  Memref(T *data, std::initializer_list<int64_t> shape)
      : allocated(data), aligned(data) {
    std::copy(shape.begin(), shape.end(), sizes);
    int64_t stride = 1;
    for (int i = Rank - 1; i >= 0; --i) {
      strides[i] = stride;
      stride *= sizes[i];
    }
  }
  T *allocated, *aligned;
  int64_t offset = 0, sizes[Rank], strides[Rank];
};

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The compiled function of `file`, or why there is none.
struct Program {
  Program(const std::string &file, const std::string &function) {
    std::string path = folder + "/" + file + ".so";
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library)
      entry = reinterpret_cast<void (*)(void **)>(
          dlsym(library, ("_gpuasync_packed_" + function).c_str()));
    if (entry)
      return;
    // What the compiler said, which run keeps.
    std::ifstream log(folder + "/" + file + ".log");
    std::getline(log, why);
    if (why.empty())
      why = dlerror();
  }
  template <typename... Arguments>
  Work with(Arguments... arguments) const {
    if (!entry)
      return Work();
    auto function = entry;
    return [=]() mutable {
      gpuasync_status *status = nullptr;
      // The last but one is for results, of which there are none.
      void *pointers[] = {&arguments..., nullptr, &status};
      function(pointers);
      must(status);
    };
  }
  void (*entry)(void **) = nullptr;
  std::string why;
};

template <typename... Parameters, typename... Arguments>
Work openMP(const char *name, void (*)(Parameters...), Arguments... arguments) {
  if (!omp)
    return Work();
  auto function = reinterpret_cast<void (*)(Parameters...)>(dlsym(omp, name));
  if (!function)
    fail(std::string("the OpenMP library lacks ") + name);
  return [=] { function(arguments...); };
}

template <typename... Types>
void (*taking())(Types...) {
  return nullptr;
}

struct Contender {
  const char *name;
  Work work;
};

/// What a row is to reach: how many times as fast as the others at least,
/// microseconds at most. 0 is nothing.
struct Goal {
  double openMP = 0, poCL = 0, microseconds = 0;
};

struct Row {
  std::string name;
  const char *unit;                  ///< GB/s, GFLOP/s or us
  double amount = 0;                 ///< bytes or operations of a call
  std::vector<Contender> contenders; ///< ours first
  std::string refused;               ///< why ours is missing
  /// Makes inputs and outputs new, and says how far the output is off. Both
  /// empty: there is nothing to compare.
  Work reset;
  std::function<double()> check;
  double tolerance = 0;
  Goal goal = {};
};

/// The rows that fell short of their goals.
int numShort = 0;

/// Seconds; with --cpu-time those of all threads, divided among the
/// processors.
double now() {
  if (cpuTime) {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double(time.tv_sec) + double(time.tv_nsec) * 1e-9) /
           std::thread::hardware_concurrency();
  }
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

/// The time of a row's contender: the median, with --best the least.
double typical(const std::vector<double> &times) {
  return best ? *std::min_element(times.begin(), times.end()) : median(times);
}

/// OpenMP's threads spin for a while after a region; bench/cpu/run has it be
/// short. What comes next should not feel it.
void letOthersSleep() {
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
}

std::string shown(const Row &row, double seconds) {
  char text[32];
  double value = row.amount ? row.amount / seconds * 1e-9 : seconds * 1e6;
  snprintf(text, sizeof(text), value < 10 ? "%.2f" : "%.1f", value);
  return text;
}

/// What of its goal a row reaches; `ratios` are over the second and the third
/// contender, 0 where there was none.
std::string judge(const Goal &goal, const std::vector<double> &ratios,
                  double seconds) {
  std::string text;
  bool isShort = false;
  auto wants = [&](double limit, double value, const char *what, bool atMost) {
    if (!limit)
      return;
    char number[64];
    snprintf(number, sizeof(number), "%s%g%s", atMost ? "<=" : ">=", limit,
             what);
    text += (text.empty() ? "" : ", ") + std::string(number);
    if (!value)
      text += " not measured";
    else if (atMost ? value > limit : value < limit)
      isShort = true;
  };
  wants(goal.openMP, ratios[0], " OpenMP", false);
  wants(goal.poCL, ratios[1], " PoCL", false);
  wants(goal.microseconds, seconds * 1e6, " us", true);
  numShort += isShort;
  return (isShort ? "SHORT of " : "ok: ") + text;
}

void run(Row &row) {
  if (!only.empty() &&
      ("," + only + ",").find("," + row.name + ",") == std::string::npos)
    return;
  for (const Contender &contender : row.contenders) {
    if (!contender.work || !row.check)
      continue;
    row.reset();
    contender.work();
    double off = row.check();
    if (!(off <= row.tolerance)) {
      char text[64];
      snprintf(text, sizeof(text), "%g, allowed is %g", off, row.tolerance);
      fail(row.name + ": the result of " + contender.name + " is off by " +
           text);
    }
  }

  size_t count = row.contenders.size();
  std::vector<size_t> calls(count, 1);
  std::vector<std::vector<double>> times(count);
  for (size_t i = 0; i < count; ++i) {
    if (!row.contenders[i].work)
      continue;
    row.contenders[i].work();
    double start = now();
    do {
      row.contenders[i].work();
      ++calls[i];
    } while (now() - start < roundSeconds);
    letOthersSleep();
  }
  for (int round = 0; round < numRounds; ++round)
    for (size_t turn = 0; turn < count; ++turn) {
      size_t i = (turn + static_cast<size_t>(round)) % count;
      if (!row.contenders[i].work)
        continue;
      row.contenders[i].work();
      double start = now();
      for (size_t call = 0; call < calls[i]; ++call)
        row.contenders[i].work();
      times[i].push_back((now() - start) / double(calls[i]));
      letOthersSleep();
    }

  printf("%-17s %-7s", row.name.c_str(), row.unit);
  for (size_t i = 0; i < count; ++i)
    printf(" %10s",
           times[i].empty() ? "-" : shown(row, typical(times[i])).c_str());
  std::vector<double> factors;
  for (size_t i = 1; i < count; ++i) {
    std::vector<double> ratios;
    if (!times[0].empty() && !times[i].empty())
      for (size_t round = 0; round < times[0].size(); ++round)
        ratios.push_back(times[i][round] / times[0][round]);
    factors.push_back(ratios.empty() ? 0
                      : best         ? typical(times[i]) / typical(times[0])
                                     : median(ratios));
    if (ratios.empty())
      printf(" %10s", "-");
    else
      printf(" %10.2f", factors.back());
  }
  std::string verdict = row.refused;
  if (times[0].empty())
    ++numShort;
  else
    verdict = judge(row.goal, factors, typical(times[0]));
  printf("  %s\n", verdict.c_str());
  fflush(stdout);
}

/// The kernel of that name with its launch; empty without PoCL.
Work onPoCL(const char *name, std::vector<size_t> threads,
            std::vector<size_t> block,
            std::function<void(OpenCL::Kernel &)> arguments) {
  if (!haveCl)
    return Work();
  OpenCL::Kernel kernel = cl.kernel(name);
  if (arguments)
    arguments(kernel);
  return [=] {
    cl.launch(kernel, threads, block);
    cl.finish();
  };
}

OpenCL::Buffer wrap(void *memory, size_t bytes) {
  return haveCl ? cl.wrap(memory, bytes) : nullptr;
}

size_t rounded(int64_t value, int64_t block) {
  return static_cast<size_t>((value + block - 1) / block * block);
}

//===----------------------------------------------------------------------===//
// One function for each program
//===----------------------------------------------------------------------===//

using Floats = Memref<float, 1>;
using Matrix = Memref<float, 2>;
using Integers = Memref<int32_t, 1>;
using N = int64_t;

void saxpy() {
  const N n = 16'000'001; // not a multiple of the block
  const float a = 1.5f;
  float *x = make<float>(n), *y = make<float>(n);
  fillRandom(x, n);
  std::vector<float> start(n), want(n);
  fillRandom(start.data(), n);
  for (N i = 0; i < n; ++i)
    want[i] = a * x[i] + start[i];
  OpenCL::Buffer xs = wrap(x, n * 4), ys = wrap(y, n * 4);
  Program program("saxpy", "saxpy");
  Row row{"saxpy",
          "GB/s",
          12.0 * n,
          {{"gpu-async", program.with(a, Floats(x, {n}), Floats(y, {n}))},
           {"OpenMP",
            openMP("omp_saxpy", taking<float, const float *, float *, N>(), a,
                   x, y, n)},
           {"PoCL", onPoCL("saxpy", {rounded(n, 256)}, {256},
                           [&](OpenCL::Kernel &kernel) {
                             kernel.number(a).buffer(xs).buffer(ys).number(n);
                           })}},
          program.why,
          [=] { memcpy(y, start.data(), n * 4); },
          [=] { return difference(y, want, 1); },
          1e-6,
          {0.95, 1}};
  run(row);
}

void stencil() {
  const N rows = 3001, columns = 4099;
  float *in = make<float>(rows * columns), *out = make<float>(rows * columns);
  fillRandom(in, rows * columns);
  std::vector<float> want(rows * columns, -1.0f);
  for (N y = 1; y < rows - 1; ++y)
    for (N x = 1; x < columns - 1; ++x) {
      N i = y * columns + x;
      want[i] = 0.5f * in[i] + 0.125f * ((in[i - 1] + in[i + 1]) +
                                         (in[i - columns] + in[i + columns]));
    }
  OpenCL::Buffer ins = wrap(in, rows * columns * 4),
                 outs = wrap(out, rows * columns * 4);
  Program program("stencil", "stencil");
  Row row{
      "stencil",
      "GB/s",
      8.0 * rows * columns,
      {{"gpu-async", program.with(Matrix(in, {rows, columns}),
                                  Matrix(out, {rows, columns}))},
       {"OpenMP", openMP("omp_stencil", taking<const float *, float *, N, N>(),
                         in, out, rows, columns)},
       {"PoCL",
        onPoCL("stencil", {rounded(columns, 64), rounded(rows, 4)}, {64, 4},
               [&](OpenCL::Kernel &kernel) {
                 kernel.buffer(ins).buffer(outs).number(rows).number(columns);
               })}},
      program.why,
      [=] { std::fill(out, out + rows * columns, -1.0f); },
      [=] { return difference(out, want, 1); },
      1e-6,
      {0.95, 1}};
  run(row);
}

void histogram(const char *name, const char *openMPName, N n, size_t threads) {
  int32_t *values = make<int32_t>(n), *bins = make<int32_t>(256);
  std::uniform_int_distribution<int32_t> numbers(0, 255);
  std::vector<int32_t> want(256);
  for (N i = 0; i < n; ++i)
    ++want[values[i] = numbers(generator)];
  OpenCL::Buffer from = wrap(values, n * 4), to = wrap(bins, 1024);
  Program program(name, name);
  Work kernel = onPoCL(name, {threads}, {256}, [&](OpenCL::Kernel &kernel) {
    kernel.buffer(from).buffer(to).number(n);
  });
  Row row{name, "GB/s", 4.0 * n,
          {{"gpu-async",
            program.with(Integers(values, {n}), Integers(bins, {256}))},
           {"OpenMP",
            openMP(openMPName, taking<const int32_t *, int32_t *, N>(), values,
                   bins, n)},
           {"PoCL", kernel ? [=] {
              cl.clear(to, 1024);
              kernel();
            } : Work()}},
          program.why,
          [=] { memset(bins, 1, 1024); },
          [=] { return memcmp(bins, want.data(), 1024) ? 1.0 : 0.0; },
          0,
          {0, 1}};
  run(row);
}

void matmul(const char *name, const char *openMPName, Goal goal) {
  const N n = 512;
  float *a = make<float>(n * n), *b = make<float>(n * n),
        *c = make<float>(n * n);
  fillRandom(a, n * n);
  fillRandom(b, n * n);
  std::vector<float> want(n * n);
  for (N i = 0; i < n; ++i)
    for (N j = 0; j < n; ++j) {
      double sum = 0;
      for (N l = 0; l < n; ++l)
        sum += double(a[i * n + l]) * b[l * n + j];
      want[i * n + j] = float(sum);
    }
  OpenCL::Buffer as = wrap(a, n * n * 4), bs = wrap(b, n * n * 4),
                 cs = wrap(c, n * n * 4);
  Program program("matmul", "matmul");
  using Parameters = void (*)(const float *, const float *, float *, N, N, N);
  Row row{
      name,
      "GFLOP/s",
      2.0 * n * n * n,
      {{"gpu-async",
        program.with(Matrix(a, {n, n}), Matrix(b, {n, n}), Matrix(c, {n, n}))},
       {"OpenMP", openMP(openMPName, Parameters(), a, b, c, n, n, n)},
       {"PoCL",
        onPoCL("matmul", {n, n}, {16, 16},
               [&](OpenCL::Kernel &kernel) {
                 kernel.buffer(as).buffer(bs).buffer(cs).number(n).number(n);
               })}},
      program.why,
      [=] { std::fill(c, c + n * n, 0.0f); },
      [=] { return difference(c, want, 1); },
      1e-4,
      goal};
  run(row);
}

void reduce(const char *name, Goal goal) {
  const N n = 16 << 20, blocks = n / 256;
  float *x = make<float>(n), *sums = make<float>(blocks);
  fillRandom(x, n);
  std::vector<float> want(blocks);
  for (N i = 0; i < blocks; ++i) {
    double sum = 0;
    for (N k = 0; k < 256; ++k)
      sum += x[i * 256 + k];
    want[i] = float(sum);
  }
  OpenCL::Buffer from = wrap(x, n * 4), to = wrap(sums, blocks * 4);
  Program program(name, name);
  Row row{name,
          "GB/s",
          4.0 * n,
          {{"gpu-async", program.with(Floats(x, {n}), Floats(sums, {blocks}))},
           {"OpenMP", openMP("omp_reduce", taking<const float *, float *, N>(),
                             x, sums, n)},
           {"PoCL", onPoCL(name, {size_t(n)}, {256},
                           [&](OpenCL::Kernel &kernel) {
                             kernel.buffer(from).buffer(to).number(n);
                           })}},
          program.why,
          [=] { std::fill(sums, sums + blocks, 0.0f); },
          [=] { return difference(sums, want, 1); },
          1e-4,
          goal};
  run(row);
}

void transpose() {
  const N rows = 4096, columns = 2048;
  float *in = make<float>(rows * columns), *out = make<float>(rows * columns);
  fillRandom(in, rows * columns);
  std::vector<float> want(rows * columns);
  for (N y = 0; y < rows; ++y)
    for (N x = 0; x < columns; ++x)
      want[x * rows + y] = in[y * columns + x];
  OpenCL::Buffer ins = wrap(in, rows * columns * 4),
                 outs = wrap(out, rows * columns * 4);
  Program program("transpose", "transpose");
  Row row{"transpose",
          "GB/s",
          8.0 * rows * columns,
          {{"gpu-async", program.with(Matrix(in, {rows, columns}),
                                      Matrix(out, {columns, rows}))},
           {"OpenMP",
            openMP("omp_transpose", taking<const float *, float *, N, N>(), in,
                   out, rows, columns)},
           {"PoCL",
            onPoCL("transpose", {size_t(columns), size_t(rows / 4)}, {32, 8},
                   [&](OpenCL::Kernel &kernel) {
                     kernel.buffer(ins).buffer(outs).number(rows).number(
                         columns);
                   })}},
          program.why,
          [=] { std::fill(out, out + rows * columns, 0.0f); },
          [=] { return difference(out, want, 1); },
          0,
          {0, 1}};
  run(row);
}

void softmax() {
  const N rows = 4096, columns = 1000; // not a multiple of the block
  float *in = make<float>(rows * columns), *out = make<float>(rows * columns);
  fillRandom(in, rows * columns);
  std::vector<float> want(rows * columns);
  for (N y = 0; y < rows; ++y) {
    double largest = -INFINITY, sum = 0;
    for (N x = 0; x < columns; ++x)
      largest = std::max<double>(largest, in[y * columns + x]);
    for (N x = 0; x < columns; ++x)
      sum += std::exp(in[y * columns + x] - largest);
    for (N x = 0; x < columns; ++x)
      want[y * columns + x] =
          float(std::exp(in[y * columns + x] - largest) / sum);
  }
  OpenCL::Buffer ins = wrap(in, rows * columns * 4),
                 outs = wrap(out, rows * columns * 4);
  Program program("softmax", "softmax");
  Row row{
      "softmax",
      "GB/s",
      8.0 * rows * columns,
      {{"gpu-async", program.with(Matrix(in, {rows, columns}),
                                  Matrix(out, {rows, columns}))},
       {"OpenMP", openMP("omp_softmax", taking<const float *, float *, N, N>(),
                         in, out, rows, columns)},
       {"PoCL", onPoCL("softmax", {size_t(rows) * 256}, {256},
                       [&](OpenCL::Kernel &kernel) {
                         kernel.buffer(ins).buffer(outs).number(columns);
                       })}},
      program.why,
      [=] { std::fill(out, out + rows * columns, 0.0f); },
      [=] { return difference(out, want, 1e-3); },
      1e-5,
      {0, 1}};
  run(row);
}

void empty(const char *name, N launches, double microseconds) {
  Program program("empty", name);
  Work one;
  if (haveCl) {
    OpenCL::Kernel kernel = cl.kernel("empty");
    one = [=] {
      for (N i = 0; i < launches; ++i)
        cl.launch(kernel, {32}, {32});
      cl.finish();
    };
  }
  Row row{name,
          "us",
          0,
          {{"gpu-async", program.with()},
           {"OpenMP", openMP("omp_empty", taking<N>(), launches)},
           {"PoCL", one}},
          program.why,
          nullptr,
          nullptr,
          0,
          {0, 1, microseconds}};
  run(row);
}

} // namespace

int main(int argc, char **argv) {
  std::string source;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i], value;
    if (size_t equals = argument.find('='); equals != std::string::npos)
      value = argument.substr(equals + 1);
    if (argument.rfind("--folder=", 0) == 0)
      folder = value;
    else if (argument.rfind("--kernels=", 0) == 0)
      source = value;
    else if (argument.rfind("--rows=", 0) == 0)
      only = value;
    else if (argument.rfind("--rounds=", 0) == 0 && atoi(value.c_str()) > 0)
      numRounds = atoi(value.c_str());
    else if (argument == "--best")
      best = true;
    else if (argument == "--cpu-time")
      cpuTime = true;
    else
      fail("unknown option " + argument +
           "; usage: cpu-bench --folder=FOLDER --kernels=FILE.cl "
           "[--rows=A,B] [--rounds=N] [--best] [--cpu-time]");
  }
  std::string why;
  std::ifstream file(source);
  std::stringstream text;
  text << file.rdbuf();
  if (text.str().empty())
    fail("no kernels in '" + source + "'");
  haveCl = cl.open(text.str(), why);
  printf("PoCL: %s\n", haveCl ? cl.version().c_str() : why.c_str());
  omp = dlopen((folder + "/openmp.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!omp)
    printf("OpenMP: %s\n", dlerror());

  gpuasync_context *context = nullptr;
  must(gpuasync_context_open("cpu", &context));
  must(gpuasync_scope_push(context));
  printf("gpu-async: %s\n", gpuasync_context_device_name(context));
  printf("%-17s %-7s %10s %10s %10s %10s %10s  %s\n", "", "", "gpu-async",
         "OpenMP", "PoCL", "/OpenMP", "/PoCL", "goal");
  saxpy();
  stencil();
  // A number for each value; atomics of two threads on few lines are slow.
  const N values = 4'000'003;
  histogram("histogram", "omp_histogram", values, rounded(values, 256));
  histogram("histogram_shared", "omp_histogram_shared", values, 64 * 256);
  // Beside the order of loops that vectorises, and beside the textbook's.
  matmul("matmul", "omp_matmul", {0.5, 10});
  matmul("matmul_ijk", "omp_matmul_ijk", {0.5, 10});
  reduce("reduce", {0, 20});
  reduce("reduce_shuffle", {0, 1});
  transpose();
  softmax();
  empty("chain10", 10, 10);
  empty("sync1", 1, 4);
  if (numShort)
    printf("%d rows fall short\n", numShort);
  gpuasync_scope_pop();
  gpuasync_context_release(context);
  must(gpuasync_shutdown());
  return 0;
}
