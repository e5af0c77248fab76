//===- LibraryTest.cpp - libgpuasync.so from outside ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Programs compiled and called through GPUAsync-C/GPUAsync.h, right and wrong.
// Nothing of MLIR is linked here.
//===----------------------------------------------------------------------===//

#include "GPUAsync-C/GPUAsync.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

using gpuasync::Status;

namespace {

Status compile(const std::string &text, gpuasync_executable *&executable,
               const char *words = nullptr, const char *device = "cpu") {
  gpuasync_compile_options options = {};
  options.structSize = sizeof(options);
  options.name = "test.mlir";
  options.device = device;
  options.options = words;
  return Status(
      gpuasync_compile(text.data(), text.size(), &options, &executable));
}

/// An executable and its release.
struct Executable {
  explicit Executable(const std::string &text, const char *words = nullptr) {
    Status status = compile(text, raw, words);
    EXPECT_TRUE(status.ok()) << status.message();
  }
  ~Executable() {
    Status status(gpuasync_executable_release(raw));
    EXPECT_TRUE(status.ok()) << status.message();
  }
  Status call(const char *name, const std::vector<gpuasync_value> &arguments,
              std::vector<gpuasync_value> &results) {
    return Status(gpuasync_executable_call(raw, name, arguments.data(),
                                           arguments.size(), results.data(),
                                           results.size()));
  }
  gpuasync_executable *raw = nullptr;
};

gpuasync_value make(void *data, uint32_t type, std::vector<int64_t> shape) {
  return gpuasync_value_make(data, type, uint32_t(shape.size()), shape.data());
}

bool says(const Status &status, const char *text) {
  return std::strstr(status.message(), text) != nullptr;
}

const char *const product = R"(
func.func @main(%x: tensor<8x4xf32>, %w: tensor<4x3xf32>) -> tensor<8x3xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x3xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x3xf32>) -> tensor<8x3xf32>
  %p = linalg.matmul ins(%x, %w : tensor<8x4xf32>, tensor<4x3xf32>)
    outs(%f : tensor<8x3xf32>) -> tensor<8x3xf32>
  return %p : tensor<8x3xf32>
})";

struct Product {
  std::vector<float> x = std::vector<float>(32), w = std::vector<float>(12);
  Product() {
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i % 7);
    for (size_t i = 0; i < w.size(); ++i)
      w[i] = float(i % 5);
  }
  std::vector<gpuasync_value> arguments() {
    return {make(x.data(), GPUASYNC_TYPE_F32, {8, 4}),
            make(w.data(), GPUASYNC_TYPE_F32, {4, 3})};
  }
  void check(const float *y) {
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 3; ++j) {
        float sum = 0;
        for (int k = 0; k < 4; ++k)
          sum += x[i * 4 + k] * w[k * 3 + j];
        ASSERT_EQ(y[i * 3 + j], sum) << i << ", " << j;
      }
  }
};

TEST(Library, TensorsByAllocatedResultsAndByGivenMemory) {
  Executable executable(product);
  EXPECT_STREQ(gpuasync_executable_device(executable.raw), "cpu");
  EXPECT_STREQ(
      gpuasync_context_device(gpuasync_executable_context(executable.raw)),
      "cpu");
  EXPECT_EQ(gpuasync_executable_context(nullptr), nullptr);
  Product data;
  std::vector<gpuasync_value> results(1);
  Status status = executable.call("main", data.arguments(), results);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(results[0].rank, 2u);
  EXPECT_EQ(results[0].shape[0], 8);
  EXPECT_EQ(results[0].strides[0], 3);
  EXPECT_NE(results[0].owner, nullptr);
  data.check(static_cast<float *>(results[0].data));
  gpuasync_value_release(&results[0]);
  EXPECT_EQ(results[0].data, nullptr);

  std::vector<float> y(24, -1);
  results = {make(y.data(), GPUASYNC_TYPE_F32, {8, 3})};
  status = executable.call("main", data.arguments(), results);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(results[0].owner, nullptr);
  data.check(y.data());
}

TEST(Library, Signatures) {
  Executable executable(product);
  EXPECT_STREQ(gpuasync_executable_function_name(executable.raw, 0), "main");
  EXPECT_EQ(gpuasync_executable_function_name(executable.raw, 1), nullptr);
  gpuasync_callable *callable = nullptr;
  Status status(gpuasync_executable_lookup(executable.raw, "main", &callable));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(gpuasync_callable_argument_count(callable), 2u);
  EXPECT_EQ(gpuasync_callable_result_count(callable), 1u);
  gpuasync_parameter parameter = {};
  parameter.structSize = sizeof(parameter);
  status = Status(gpuasync_callable_argument(callable, 1, &parameter));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_STREQ(parameter.text, "tensor<4x3xf32>");
  EXPECT_EQ(parameter.kind, uint32_t(GPUASYNC_KIND_TENSOR));
  EXPECT_EQ(parameter.shape[1], 3);
  status = Status(gpuasync_callable_result(callable, 0, &parameter));
  EXPECT_EQ(parameter.byDestination, 1u);
  status = Status(gpuasync_callable_result(callable, 1, &parameter));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  status = Status(gpuasync_callable_release(callable));
  EXPECT_TRUE(status.ok());
  status =
      Status(gpuasync_executable_lookup(executable.raw, "gone", &callable));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_NOT_FOUND));
  EXPECT_TRUE(says(status, "@main")) << status.message();
}

// @wait ends once x[0] is not 0, and then writes x[1]; @next doubles x[1].
const char *const gated = R"(
func.func @wait(%x: memref<2xi32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : index
    %zero = arith.constant 0 : i32
    %five = arith.constant 5 : i32
    scf.while : () -> () {
      %v = memref.atomic_rmw addi %zero, %x[%c0] : (i32, memref<2xi32>) -> i32
      %again = arith.cmpi eq, %v, %zero : i32
      scf.condition(%again)
    } do {
      scf.yield
    }
    memref.store %five, %x[%one] : memref<2xi32>
    gpu.terminator
  }
  return
}
func.func @next(%x: memref<2xi32>) {
  %c1 = arith.constant 1 : index
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
             threads(%tx, %ty, %tz) in (%sx = %c1, %sy = %c1, %sz = %c1) {
    %one = arith.constant 1 : index
    %v = memref.load %x[%one] : memref<2xi32>
    %w = arith.addi %v, %v : i32
    memref.store %w, %x[%one] : memref<2xi32>
    gpu.terminator
  }
  return
}
func.func @read(%x: memref<2xi32>) -> i32 {
  %c1 = arith.constant 1 : index
  %v = memref.load %x[%c1] : memref<2xi32>
  return %v : i32
})";

TEST(Library, CallsOnAStreamOfTheCallers) {
  Executable executable(gated, "stream=caller");
  gpuasync_stream *stream = nullptr;
  Status status(gpuasync_context_stream_create(
      gpuasync_executable_context(executable.raw), &stream));
  ASSERT_TRUE(status.ok()) << status.message();
  void *native = gpuasync_context_stream_native(stream);
  std::atomic<int32_t> x[2] = {{0}, {0}};
  gpuasync_value argument = make(x, GPUASYNC_TYPE_I32, {2});
  auto on = [&](const char *name, gpuasync_value *result = nullptr) {
    gpuasync_callable *callable = nullptr;
    Status status(gpuasync_executable_lookup(executable.raw, name, &callable));
    if (status.ok())
      status = Status(gpuasync_callable_call_on(callable, native, &argument, 1,
                                                result, result ? 1 : 0));
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(Status(gpuasync_callable_release(callable)).ok());
  };
  on("wait");
  on("next");
  on("next"); // all three return before the gate opens
  EXPECT_EQ(x[1], 0);
  x[0] = 1;
  gpuasync_value number = {};
  on("read", &number); // the host reads what the stream writes
  EXPECT_EQ(*static_cast<int32_t *>(number.data), 20);
  gpuasync_value_release(&number);
  on("next");
  status = Status(gpuasync_context_stream_synchronize(stream));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(x[1], 40);
  gpuasync_context_stream_destroy(stream);

  // Without a stream the call waits.
  std::vector<gpuasync_value> none;
  status = executable.call("next", {argument}, none);
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(x[1], 80);

  Executable plain(gated);
  gpuasync_callable *callable = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_executable_lookup(plain.raw, "next", &callable)).ok());
  status = Status(
      gpuasync_callable_call_on(callable, nullptr, &argument, 1, nullptr, 0));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  EXPECT_TRUE(says(status, "stream=caller")) << status.message();
  EXPECT_TRUE(Status(gpuasync_callable_release(callable)).ok());
}

// Calls that several threads order into one stream at a time are all done, each
// of them once.
TEST(Library, ThreadsOnOneStream) {
  Executable executable("func.func @more(%x: memref<64xi32>) {\n"
                        "  %c0 = arith.constant 0 : index\n"
                        "  %c1 = arith.constant 1 : index\n"
                        "  %c64 = arith.constant 64 : index\n"
                        "  %one = arith.constant 1 : i32\n"
                        "  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {\n"
                        "    %v = memref.load %x[%i] : memref<64xi32>\n"
                        "    %w = arith.addi %v, %one : i32\n"
                        "    memref.store %w, %x[%i] : memref<64xi32>\n"
                        "  }\n"
                        "  return\n"
                        "}\n",
                        "stream=caller place=off");
  ASSERT_NE(executable.raw, nullptr);
  gpuasync_stream *stream = nullptr;
  Status status(gpuasync_context_stream_create(
      gpuasync_executable_context(executable.raw), &stream));
  ASSERT_TRUE(status.ok()) << status.message();
  void *native = gpuasync_context_stream_native(stream);
  constexpr int calls = 100000;
  std::vector<int32_t> x[2] = {std::vector<int32_t>(64),
                               std::vector<int32_t>(64)};
  auto work = [&](std::vector<int32_t> &mine) {
    gpuasync_callable *callable = nullptr;
    Status status(
        gpuasync_executable_lookup(executable.raw, "more", &callable));
    gpuasync_value argument = make(mine.data(), GPUASYNC_TYPE_I32, {64});
    for (int i = 0; i < calls && status.ok(); ++i)
      status = Status(gpuasync_callable_call_on(callable, native, &argument, 1,
                                                nullptr, 0));
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(Status(gpuasync_callable_release(callable)).ok());
  };
  std::thread other([&] { work(x[1]); });
  work(x[0]);
  other.join();
  status = Status(gpuasync_context_stream_synchronize(stream));
  EXPECT_TRUE(status.ok()) << status.message();
  for (const std::vector<int32_t> &each : x)
    EXPECT_EQ(each, std::vector<int32_t>(64, calls));
  gpuasync_context_stream_destroy(stream);
}

// A request to cancel the thread takes effect after the compilation.
TEST(Library, CancelledThreadsCompile) {
  std::atomic<gpuasync_executable *> made{nullptr};
  pthread_t thread;
  ASSERT_EQ(pthread_create(
                &thread, nullptr,
                [](void *made) -> void * {
                  pthread_cancel(pthread_self());
                  gpuasync_executable *executable = nullptr;
                  Status status = compile(gated, executable);
                  EXPECT_TRUE(status.ok()) << status.message();
                  *static_cast<std::atomic<gpuasync_executable *> *>(made) =
                      executable;
                  pthread_testcancel();
                  return nullptr;
                },
                &made),
            0);
  void *end = nullptr;
  pthread_join(thread, &end);
  EXPECT_EQ(end, PTHREAD_CANCELED);
  ASSERT_NE(made, nullptr);
  EXPECT_TRUE(Status(gpuasync_executable_release(made)).ok());
}

/// A time limit of the waits that begin while it lives.
struct TimeLimit {
  explicit TimeLimit(double seconds) { gpuasync_set_timeout(seconds); }
  ~TimeLimit() { gpuasync_set_timeout(0); }
};

// A call that gives up leaves work on its argument. Later calls start after it
// or give up, too, and there is a way to wait for it.
TEST(Library, ACallThatGivesUp) {
  for (const char *words : {"stream=none", "stream=caller"}) {
    Executable executable(gated, words);
    gpuasync_context *context = gpuasync_executable_context(executable.raw);
    std::atomic<int32_t> x[2] = {{0}, {3}}, y[2] = {{0}, {1}};
    gpuasync_value argument = make(x, GPUASYNC_TYPE_I32, {2}),
                   other = make(y, GPUASYNC_TYPE_I32, {2});
    std::vector<gpuasync_value> none;
    // Kernels are loaded before the time limit counts.
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(executable.call("next", {other}, none).ok());
    EXPECT_EQ(y[1], 8);
    {
      TimeLimit limit(0.05);
      Status status = executable.call("wait", {argument}, none);
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
      EXPECT_TRUE(says(status, "uses the memory of the call"))
          << status.message();
      status = executable.call("next", {argument}, none);
      EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
      EXPECT_TRUE(says(status, "an earlier call left behind"))
          << status.message();
    }
    EXPECT_EQ(x[1], 3);
    EXPECT_EQ(Status(gpuasync_context_wait_abandoned(context, 0)).code(),
              uint32_t(GPUASYNC_TIMEOUT));
    x[0] = 1;
    Status status = executable.call("next", {argument}, none);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(x[1], 10) << words; // twice the 5 of the first call
    EXPECT_EQ(gpuasync_context_wait_abandoned(context, 0), nullptr);
  }
}

// Members that the size does not hold as a whole are not there.
int32_t countedCalls;
int32_t addUp(float *, float *data, int64_t offset, int64_t size,
              int64_t stride, float *, float *sum, int64_t, int64_t, int64_t) {
  *sum = 0;
  for (int64_t i = 0; i < size; ++i)
    *sum += data[offset + i * stride];
  return ++countedCalls;
}

TEST(Library, FunctionsOfTheEmbedders) {
  const std::string text = R"(
func.func private @my.sum(memref<3xf32>, memref<1xf32>) -> i32
func.func @main(%x: memref<3xf32>, %sum: memref<1xf32>) -> i32 {
  %r = call @my.sum(%x, %sum) : (memref<3xf32>, memref<1xf32>) -> i32
  return %r : i32
})";
  const std::string address =
      std::to_string(reinterpret_cast<uintptr_t>(&addUp));
  Executable executable(text, ("functions=other:1,my.sum:" + address).c_str());
  std::vector<float> x = {1, 2, 4}, sum(1);
  std::vector<gpuasync_value> results(1);
  int32_t result = 0;
  results[0] = make(&result, GPUASYNC_TYPE_I32, {});
  for (int i = 1; i <= 2; ++i) {
    Status status = executable.call("main",
                                    {make(x.data(), GPUASYNC_TYPE_F32, {3}),
                                     make(sum.data(), GPUASYNC_TYPE_F32, {1})},
                                    results);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(sum[0], 7);
    EXPECT_EQ(result, i);
  }
  for (const char *wrong : {"functions=my.sum", "functions=my.sum:0",
                            "functions=:12", "functions=my.sum:x"}) {
    gpuasync_executable *none = nullptr;
    Status status = compile(text, none, wrong);
    EXPECT_TRUE(says(status, "expected pairs NAME:ADDRESS"))
        << status.message();
    EXPECT_EQ(none, nullptr);
  }
}

TEST(Library, OptionsOfOtherSizes) {
  gpuasync_compile_options options = {};
  options.name = "named.mlir";
  options.device = "none such";
  options.options = "none=such";
  const std::string text = "func.func @f() { return }";
  auto failure = [&](size_t size) {
    options.structSize = size;
    gpuasync_executable *executable = nullptr;
    Status status(
        gpuasync_compile(text.data(), text.size(), &options, &executable));
    Status released(gpuasync_executable_release(executable));
    EXPECT_TRUE(released.ok()) << released.message();
    return std::string(status.message());
  };
  setenv("GPU_ASYNC_DEVICE", "cpu", 1); // where no device is there
  const size_t word = sizeof(char *);
  for (size_t size = 0; size < word; ++size)
    EXPECT_NE(
        failure(size).find("options.structSize is " + std::to_string(size)),
        std::string::npos);
  for (size_t size = word; size < 3 * word; ++size)
    EXPECT_EQ(failure(size), "") << size;
  for (size_t size = 3 * word; size < 4 * word; ++size)
    EXPECT_NE(failure(size).find("none such"), std::string::npos) << size;
  EXPECT_NE(failure(4 * word).find("none=such"), std::string::npos);
  unsetenv("GPU_ASYNC_DEVICE");
}

// The cache is off in these tests; test/Python/disk-cache.py has one.
TEST(Library, SourcesWithoutADiskCache) {
  const std::string text = "func.func @f(%x: f32) -> f32 { return %x : f32 }";
  gpuasync_compile_options options = {};
  options.structSize = sizeof(options);
  options.name = "f";
  options.device = "cpu";
  auto *none = reinterpret_cast<gpuasync_executable *>(1);
  gpuasync_executable *executable = none;
  Status status(gpuasync_executable_load("one", 3, &options, &executable));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(executable, nullptr);
  status = Status(gpuasync_compile_source(text.data(), text.size(), "one", 3,
                                          &options, &executable));
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_NE(executable, nullptr);
  EXPECT_STREQ(gpuasync_executable_function_name(executable, 0), "f");
  EXPECT_TRUE(Status(gpuasync_executable_release(executable)).ok());
  executable = none;
  status = Status(gpuasync_executable_load(nullptr, 0, &options, &executable));
  EXPECT_EQ(status.code(), GPUASYNC_INVALID_ARGUMENT);
  EXPECT_EQ(executable, nullptr);
  executable = none;
  status = Status(gpuasync_compile_source(text.data(), text.size(), nullptr, 0,
                                          &options, &executable));
  EXPECT_EQ(status.code(), GPUASYNC_INVALID_ARGUMENT);
  EXPECT_EQ(executable, nullptr);
  status =
      Status(gpuasync_executable_load("one", 3, &options, /*out=*/nullptr));
  EXPECT_EQ(status.code(), GPUASYNC_INVALID_ARGUMENT);
  options.device = "nope";
  status = Status(gpuasync_executable_load("one", 3, &options, &executable));
  EXPECT_EQ(status.code(), GPUASYNC_INVALID_ARGUMENT);
  EXPECT_EQ(executable, nullptr);
}

// Each stage is told once as it begins, and the caller may stop at any.
TEST(Library, ProgressAndItsEnd) {
  const std::string text = "func.func @f(%x: f32) -> f32 { return %x : f32 }";
  struct Heard {
    std::vector<std::string> stages;
    std::string last; ///< the compilation is stopped there
  };
  auto run = [&](Heard &heard) {
    gpuasync_compile_options options = {};
    options.structSize = sizeof(options);
    options.device = "cpu";
    options.options = "timing=stages";
    options.progress = [](void *data, const char *stage) -> int32_t {
      auto *heard = static_cast<Heard *>(data);
      if (heard->stages.empty() || heard->stages.back() != stage)
        heard->stages.push_back(stage);
      return heard->last == stage;
    };
    options.progressData = &heard;
    gpuasync_executable *executable = nullptr;
    Status status(
        gpuasync_compile(text.data(), text.size(), &options, &executable));
    if (status.ok())
      EXPECT_NE(std::string(gpuasync_executable_timing(executable))
                    .find("machine code"),
                std::string::npos);
    Status released(gpuasync_executable_release(executable));
    EXPECT_TRUE(released.ok()) << released.message();
    return std::string(status.message());
  };
  Heard all;
  EXPECT_EQ(run(all), "");
  ASSERT_GE(all.stages.size(), 8u);
  EXPECT_EQ(all.stages.front(), "parsing");
  EXPECT_EQ(all.stages.back(), "linking");
  for (const std::string &stage : all.stages) {
    Heard some;
    some.last = stage;
    EXPECT_NE(run(some).find("stopped by the caller, during " + stage),
              std::string::npos)
        << run(some);
    EXPECT_EQ(some.stages.back(), stage);
  }
}

// One device is one context by all of its names.
TEST(Library, NamesOfOneDevice) {
  Executable cpu(gated);
  for (const char *name : {"", "auto", "cpu"}) {
    gpuasync_executable *other = nullptr;
    setenv("GPU_ASYNC_DEVICE", "cpu", 1);
    Status status = compile(gated, other, nullptr, name);
    unsetenv("GPU_ASYNC_DEVICE");
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(gpuasync_executable_context(other),
              gpuasync_executable_context(cpu.raw))
        << name;
    EXPECT_TRUE(Status(gpuasync_executable_release(other)).ok());
  }
}

// After a close of the shared context, programs compiled later get another one.
TEST(Library, ACompileAfterTheContextWasClosed) {
  Executable before(product);
  gpuasync_context *closed = gpuasync_executable_context(before.raw);
  Product values;
  std::vector<float> y(24);
  auto call = [&](Executable &executable) {
    std::vector<gpuasync_value> results = {
        make(y.data(), GPUASYNC_TYPE_F32, {8, 3})};
    return executable.call("main", values.arguments(), results);
  };
  Status first = call(before);
  EXPECT_TRUE(first.ok()) << first.message();
  Status end(gpuasync_context_close(closed));
  EXPECT_TRUE(end.ok()) << end.message();
  EXPECT_EQ(call(before).code(), uint32_t(GPUASYNC_SHUT_DOWN));
  Executable after(product), other(product);
  EXPECT_NE(gpuasync_executable_context(after.raw), closed);
  EXPECT_EQ(gpuasync_executable_context(after.raw),
            gpuasync_executable_context(other.raw));
  std::fill(y.begin(), y.end(), -1.0f);
  Status status = call(after);
  EXPECT_TRUE(status.ok()) << status.message();
  values.check(y.data());
}

// Memory that the library has allocated for results of such a call stays.
TEST(Library, ResultsOfACallThatGivesUp) {
  constexpr int64_t n = 700;
  const std::string type = "tensor<700x700xf32>";
  std::string text = "func.func @main(%x: " + type + ") -> " + type + R"( {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : T
    %f = linalg.fill ins(%z : f32) outs(%e : T) -> T
    %r = linalg.matmul ins(%x, %x : T, T) outs(%f : T) -> T
    return %r : T
  })";
  for (size_t at; (at = text.find(" T")) != std::string::npos;)
    text.replace(at + 1, 1, type);
  std::vector<float> x(n * n, 1);
  for (const char *words : {"stream=none", "stream=caller"}) {
    Executable executable(text, words);
    std::vector<gpuasync_value> arguments = {
        make(x.data(), GPUASYNC_TYPE_F32, {n, n})};
    auto call = [&] {
      std::vector<gpuasync_value> results(1);
      Status status = executable.call("main", arguments, results);
      if (status.ok())
        EXPECT_EQ(static_cast<float *>(results[0].data)[n * n - 1], float(n));
      gpuasync_value_release(&results[0]);
      return status;
    };
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(call().ok());
    // Whether a call gives up is up to the machine; most do.
    for (int i = 0; i < 20; ++i) {
      TimeLimit limit(0.0005);
      Status status = call();
      if (!status.ok())
        EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
    }
    EXPECT_TRUE(call().ok());
  }

  // Neither is what is no stream waited for.
  Executable executable(text, "stream=caller");
  gpuasync_callable *callable = nullptr;
  ASSERT_TRUE(
      Status(gpuasync_executable_lookup(executable.raw, "main", &callable))
          .ok());
  gpuasync_value argument = make(x.data(), GPUASYNC_TYPE_F32, {n, n}),
                 result = {};
  Status status(gpuasync_callable_call_on(callable, reinterpret_cast<void *>(2),
                                          &argument, 1, &result, 1));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_TRUE(says(status, "0x2, is none of")) << status.message();
  EXPECT_EQ(result.data, nullptr);
  EXPECT_TRUE(Status(gpuasync_callable_release(callable)).ok());
}

TEST(Library, TensorsOnAStreamOfTheCallers) {
  Executable executable(product, "stream=caller");
  EXPECT_STREQ(gpuasync_executable_diagnostics(executable.raw), "");
  Product data;
  std::vector<gpuasync_value> results(1);
  Status status = executable.call("main", data.arguments(), results);
  ASSERT_TRUE(status.ok()) << status.message();
  data.check(static_cast<float *>(results[0].data));
  gpuasync_value_release(&results[0]);
  auto wrong = data.arguments();
  wrong[0].shape[0] = 7;
  status = executable.call("main", wrong, results);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_EQ(results[0].data, nullptr);
}

TEST(Library, NumbersOfSeveralTypes) {
  Executable executable(R"(
func.func @f(%a: i8, %b: f64, %c: complex<f32>, %d: i1, %e: index)
    -> (f64, i8, complex<f32>, i1, index) {
  %one = arith.constant 1 : index
  %n = arith.addi %e, %one : index
  return %b, %a, %c, %d, %n : f64, i8, complex<f32>, i1, index
})");
  int8_t a = -3;
  double b = 2.5;
  std::complex<float> c(1, -2);
  uint8_t d = 1;
  int64_t e = 41, given = 0;
  std::vector<gpuasync_value> results(5);
  results[4] = make(&given, GPUASYNC_TYPE_I64, {});
  Status status = executable.call(
      "f",
      {make(&a, GPUASYNC_TYPE_UI8, {}), make(&b, GPUASYNC_TYPE_F64, {}),
       make(&c, GPUASYNC_TYPE_C64, {}), make(&d, GPUASYNC_TYPE_I1, {}),
       make(&e, GPUASYNC_TYPE_I64, {})},
      results);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(*static_cast<double *>(results[0].data), 2.5);
  EXPECT_EQ(*static_cast<int8_t *>(results[1].data), -3);
  EXPECT_EQ(*static_cast<std::complex<float> *>(results[2].data), c);
  EXPECT_EQ(*static_cast<uint8_t *>(results[3].data), 1);
  EXPECT_EQ(given, 42);
  for (gpuasync_value &result : results)
    gpuasync_value_release(&result);
}

TEST(Library, AnyByteButZeroIsTrue) {
  Executable executable(R"(
func.func @number(%x: i1) -> (i1, i32) {
  %e = arith.extui %x : i1 to i32
  return %x, %e : i1, i32
}
func.func @widen(%x: tensor<?xi1>) -> tensor<?xi32> {
  %r = arith.extui %x : tensor<?xi1> to tensor<?xi32>
  return %r : tensor<?xi32>
}
func.func @invert(%x: memref<?xi1>) {
  %true = arith.constant true
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : memref<?xi1>
  scf.for %i = %c0 to %n step %c1 {
    %v = memref.load %x[%i] : memref<?xi1>
    %w = arith.xori %v, %true : i1
    memref.store %w, %x[%i] : memref<?xi1>
  }
  return
})");
  uint8_t bytes[256], inverted[256];
  for (int i = 0; i < 256; ++i)
    bytes[i] = inverted[i] = uint8_t(i);
  for (uint8_t &byte : bytes) {
    uint8_t bit = 7;
    int32_t wide = 7;
    std::vector<gpuasync_value> results{make(&bit, GPUASYNC_TYPE_I1, {}),
                                        make(&wide, GPUASYNC_TYPE_I32, {})};
    Status status =
        executable.call("number", {make(&byte, GPUASYNC_TYPE_I1, {})}, results);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(bit, byte != 0);
    EXPECT_EQ(wide, byte != 0);
  }
  std::vector<gpuasync_value> results(1), none;
  Status status =
      executable.call("widen", {make(bytes, GPUASYNC_TYPE_I1, {256})}, results);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(static_cast<int32_t *>(results[0].data)[i], i != 0) << i;
  gpuasync_value_release(&results[0]);
  status = executable.call("invert", {make(inverted, GPUASYNC_TYPE_I1, {256})},
                           none);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < 256; ++i)
    EXPECT_EQ(inverted[i], i == 0) << i;
}

TEST(Library, MemrefsWithStrides) {
  Executable executable(R"(
func.func @add(%a: memref<?x?xi32, strided<[?, ?], offset: ?>>, %n: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %h = memref.dim %a, %c0 : memref<?x?xi32, strided<[?, ?], offset: ?>>
  %w = memref.dim %a, %c1 : memref<?x?xi32, strided<[?, ?], offset: ?>>
  scf.for %i = %c0 to %h step %c1 {
    scf.for %j = %c0 to %w step %c1 {
      %v = memref.load %a[%i, %j] : memref<?x?xi32, strided<[?, ?], offset: ?>>
      %s = arith.addi %v, %n : i32
      memref.store %s, %a[%i, %j] : memref<?x?xi32, strided<[?, ?], offset: ?>>
    }
  }
  return
}
func.func @whole(%a: memref<2x3xi32>) { return })");
  // Columns of a 3x4 array, transposed and backwards: [j][i].
  std::vector<int32_t> data(12, 0);
  gpuasync_value value = make(&data[8], GPUASYNC_TYPE_I32, {2, 3});
  value.strides[0] = 2;
  value.strides[1] = -4;
  int32_t n = 5;
  std::vector<gpuasync_value> none;
  Status status =
      executable.call("add", {value, make(&n, GPUASYNC_TYPE_I32, {})}, none);
  ASSERT_TRUE(status.ok()) << status.message();
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(data[i], i % 4 == 0 || i % 4 == 2 ? 5 : 0) << i;
  status = executable.call("whole", {value}, none);
  EXPECT_TRUE(says(status, "stride -4 in dimension 1, expected 1"))
      << status.message();
}

TEST(Library, ConstantsAreReadOnly) {
  Executable executable(R"(
memref.global constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
memref.global @variable : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
func.func @both() -> (memref<4xf32>, memref<4xf32>) {
  %a = memref.get_global @table : memref<4xf32>
  %b = memref.get_global @variable : memref<4xf32>
  return %a, %b : memref<4xf32>, memref<4xf32>
}
func.func @same(%x: memref<4xf32>) -> memref<4xf32> { return %x : memref<4xf32> }
func.func @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.addf %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
})");
  std::vector<gpuasync_value> both(2), results(1);
  Status status = executable.call("both", {}, both);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(both[0].flags, uint32_t(GPUASYNC_READ_ONLY));
  EXPECT_EQ(both[1].flags, 0u);
  status = executable.call("same", {both[0]}, results);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_TRUE(says(status, "argument 0 of memref<4xf32>: the function may "
                           "write it, but the array is read-only"))
      << status.message();
  status = executable.call("same", {both[1]}, results);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(results[0].flags, 0u);
  results[0] = both[0];
  status = executable.call("twice", {both[1]}, results);
  EXPECT_TRUE(says(status, "result 0 of tensor<4xf32>: the function may write "
                           "it, but the array is read-only"))
      << status.message();
  results[0].data = nullptr;
  status = executable.call("twice", {both[0]}, results);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(results[0].flags, 0u);
  EXPECT_EQ(static_cast<float *>(results[0].data)[3], 8);
  gpuasync_value_release(&results[0]);
}

TEST(Library, StridesOfNoElementsDoNotMatter) {
  Executable executable(R"(
func.func @tensor(%x: tensor<3x0x2xf32>) { return }
func.func @memref(%x: memref<?x?xf32>) -> memref<?x?xf32> {
  return %x : memref<?x?xf32>
}
func.func @strided(%x: memref<?x?xf32, strided<[5, ?]>>) { return })");
  float x = 0;
  for (int64_t stride : {int64_t(0), int64_t(-7), INT64_MIN, INT64_MAX}) {
    auto array = [&](std::initializer_list<int64_t> shape) {
      gpuasync_value value = make(&x, GPUASYNC_TYPE_F32, shape);
      std::fill_n(value.strides, value.rank, stride);
      return value;
    };
    std::vector<gpuasync_value> none, one(1);
    Status status = executable.call("tensor", {array({3, 0, 2})}, none);
    EXPECT_TRUE(status.ok()) << status.message();
    status = executable.call("strided", {array({3, 0})}, none);
    EXPECT_TRUE(status.ok()) << status.message();
    status = executable.call("memref", {array({0, 4})}, one);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(one[0].strides[0], 4);
    EXPECT_EQ(one[0].strides[1], 1);
  }
}

const char *const dynamicSum = R"(
func.func @add(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %e = tensor.empty(%n) : tensor<?xf32>
  %s = linalg.add ins(%x, %y : tensor<?xf32>, tensor<?xf32>)
    outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %s : tensor<?xf32>
})";

TEST(Library, DynamicResults) {
  Executable executable(dynamicSum);
  for (int64_t n : {1, 7, 1000}) {
    std::vector<float> x(n, 2), y(n, 3);
    std::vector<gpuasync_value> results(1);
    std::vector<gpuasync_value> arguments = {
        make(x.data(), GPUASYNC_TYPE_F32, {n}),
        make(y.data(), GPUASYNC_TYPE_F32, {n})};
    Status status = executable.call("add", arguments, results);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(results[0].shape[0], n);
    for (int64_t i = 0; i < n; ++i)
      ASSERT_EQ(static_cast<float *>(results[0].data)[i], 5);
    gpuasync_value_release(&results[0]);

    results[0] = arguments[0];
    status = executable.call("add", arguments, results);
    EXPECT_TRUE(says(status, "returns its own")) << status.message();
  }
  std::vector<float> x(4);
  std::vector<gpuasync_value> results(1);
  Status status = executable.call("add",
                                  {make(x.data(), GPUASYNC_TYPE_F32, {4}),
                                   make(x.data(), GPUASYNC_TYPE_F32, {3})},
                                  results);
  EXPECT_TRUE(says(status, "linalg.add at test.mlir:6")) << status.message();
}

const char *cache = R"(
func.func @step(%k: tensor<3x2xf32> {gpu_async.donated}, %row: tensor<1x2xf32>, %n: index) -> tensor<3x2xf32> {
  %r = tensor.insert_slice %row into %k[%n, 0] [1, 2] [1, 1] : tensor<1x2xf32> into tensor<3x2xf32>
  return %r : tensor<3x2xf32>
}
func.func @two(%k: tensor<3x2xf32> {gpu_async.donated}, %l: tensor<3x2xf32>) -> (tensor<3x2xf32>, tensor<1x2xf32>) {
  %o = tensor.extract_slice %l[1, 0] [1, 2] [1, 1] : tensor<3x2xf32> to tensor<1x2xf32>
  return %k, %o : tensor<3x2xf32>, tensor<1x2xf32>
})";

/// A cache, a row and a position; calls of @step.
struct Cache {
  Executable executable{cache};
  std::vector<float> elements{0, 1, 2, 3, 4, 5}, row{-1, -2};
  int64_t place = 1;
  gpuasync_callable *step = nullptr, *two = nullptr;

  Cache() {
    for (auto [name, callable] : {std::pair("step", &step), {"two", &two}}) {
      Status status(gpuasync_executable_lookup(executable.raw, name, callable));
      EXPECT_TRUE(status.ok()) << status.message();
    }
  }
  ~Cache() {
    for (gpuasync_callable *callable : {step, two})
      gpuasync_status_free(gpuasync_callable_release(callable));
  }
  std::vector<gpuasync_value> arguments(gpuasync_value first) {
    return {first, make(row.data(), GPUASYNC_TYPE_F32, {1, 2}),
            make(&place, GPUASYNC_TYPE_I64, {})};
  }
  gpuasync_value given() {
    return make(elements.data(), GPUASYNC_TYPE_F32, {3, 2});
  }
  Status donate(std::vector<gpuasync_value> &arguments,
                gpuasync_value &result) {
    return Status(gpuasync_callable_call_donating(
        step, 1, arguments.data(), arguments.size(), &result, 1));
  }
  static std::vector<float> read(const gpuasync_value &value) {
    auto *data = static_cast<const float *>(value.data);
    return {data, data + 6};
  }
};

TEST(Library, DonatedArgumentsAreDescribed) {
  Cache cache;
  gpuasync_parameter parameter = {};
  parameter.structSize = sizeof(parameter);
  gpuasync_status_free(gpuasync_callable_argument(cache.step, 0, &parameter));
  EXPECT_TRUE(parameter.donated && parameter.taken);
  gpuasync_status_free(gpuasync_callable_argument(cache.step, 1, &parameter));
  EXPECT_FALSE(parameter.donated || parameter.taken);
}

TEST(Library, DonatedMemoryIsTheResults) {
  Cache cache;
  // An array of the caller's is never given up.
  std::vector<gpuasync_value> arguments = cache.arguments(cache.given());
  gpuasync_value result = {}, next = {};
  Status status = cache.donate(arguments, result);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(arguments[0].data, cache.elements.data());
  EXPECT_EQ(cache.elements, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(Cache::read(result), (std::vector<float>{0, 1, -1, -2, 4, 5}));
  // A result of ours is.
  void *memory = result.owner;
  ASSERT_NE(memory, nullptr);
  cache.place = 2;
  arguments = cache.arguments(result);
  status = cache.donate(arguments, next);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(arguments[0].owner, nullptr);
  EXPECT_EQ(arguments[0].data, nullptr);
  EXPECT_EQ(next.owner, memory);
  EXPECT_EQ(Cache::read(next), (std::vector<float>{0, 1, -1, -2, -1, -2}));
  gpuasync_value_release(&next);
}

TEST(Library, DonatedArgumentsOfOtherCallsStay) {
  Cache cache;
  gpuasync_value made = {}, other = {};
  std::vector<gpuasync_value> arguments = cache.arguments(cache.given());
  for (auto call : {gpuasync_callable_call, gpuasync_callable_enqueue}) {
    Status status(call(cache.step, arguments.data(), 3, &made, 1));
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<gpuasync_value> again = cache.arguments(made);
    cache.row[0] = -7;
    status = Status(call(cache.step, again.data(), 3, &other, 1));
    ASSERT_TRUE(status.ok()) << status.message();
    cache.row[0] = -1;
    EXPECT_NE(other.data, made.data);
    EXPECT_EQ(Cache::read(made), (std::vector<float>{0, 1, -1, -2, 4, 5}));
    EXPECT_EQ(Cache::read(other), (std::vector<float>{0, 1, -7, -2, 4, 5}));
    gpuasync_value_release(&made);
    gpuasync_value_release(&other);
  }
  // Memory for the result.
  std::vector<float> out(6, -9);
  gpuasync_value result = make(out.data(), GPUASYNC_TYPE_F32, {3, 2});
  Status status = cache.donate(arguments, result);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(out, (std::vector<float>{0, 1, -1, -2, 4, 5}));
  EXPECT_EQ(cache.elements, (std::vector<float>{0, 1, 2, 3, 4, 5}));
  // One array twice.
  std::vector<gpuasync_value> same = {cache.given(), cache.given()};
  gpuasync_value both[2] = {};
  status = Status(gpuasync_callable_call(cache.two, same.data(), 2, both, 2));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Cache::read(both[0]), cache.elements);
  gpuasync_value_release(&both[0]);
  gpuasync_value_release(&both[1]);
}

TEST(Library, DonatedArgumentsThatAreRefusedStay) {
  Cache cache;
  gpuasync_value made = {}, result = {}, both[2] = {};
  std::vector<gpuasync_value> arguments = cache.arguments(cache.given());
  Status status = cache.donate(arguments, made);
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<gpuasync_value> twice = {made, made};
  status = Status(
      gpuasync_callable_call_donating(cache.two, 1, twice.data(), 2, both, 2));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_TRUE(says(status, "argument 0 of tensor<3x2xf32>: it is donated, but "
                           "argument 1 overlaps it; pass a copy"))
      << status.message();
  EXPECT_EQ(twice[0].owner, made.owner);
  arguments = cache.arguments(made);
  arguments[1].type = GPUASYNC_TYPE_F64;
  status = cache.donate(arguments, result);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_EQ(arguments[0].owner, made.owner);
  EXPECT_EQ(Cache::read(made), (std::vector<float>{0, 1, -1, -2, 4, 5}));
  // Once the program has begun they are gone.
  cache.place = 3;
  arguments = cache.arguments(made);
  status = cache.donate(arguments, result);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(arguments[0].owner, nullptr);
  EXPECT_EQ(result.data, nullptr);
}

TEST(Library, WrongValues) {
  Executable executable(product);
  Product data;
  auto refused = [&](std::vector<gpuasync_value> arguments,
                     std::vector<gpuasync_value> results, const char *text) {
    Status status = executable.call("main", arguments, results);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_TRUE(says(status, text)) << status.message();
  };
  std::vector<gpuasync_value> one(1), arguments = data.arguments();
  refused({arguments[0]}, one, "has 2 arguments and 1 results, given 1 and 1");
  refused(arguments, {}, "given 2 and 0");
  std::vector<gpuasync_value> wrong = arguments;
  wrong[1].type = GPUASYNC_TYPE_F64;
  refused(wrong, one, "argument 1 of tensor<4x3xf32>: given f64, expected f32");
  wrong = arguments;
  wrong[0].rank = 1;
  refused(wrong, one, "given 1 dimensions, expected 2");
  wrong = arguments;
  wrong[0].shape[0] = 7;
  refused(wrong, one, "given the size 7 in dimension 0, expected 8");
  wrong = arguments;
  wrong[0].strides[0] = 5;
  refused(wrong, one, "given the stride 5 in dimension 0, expected 4");
  wrong = arguments;
  wrong[0].data = nullptr;
  refused(wrong, one, "its data is null");
  wrong = arguments;
  wrong[0].data = reinterpret_cast<char *>(data.x.data()) + 1;
  refused(wrong, one, "not a multiple of the element's size");
  wrong = arguments;
  wrong[0].device = 3;
  refused(wrong, one, "given on device 3, but the executable is on cpu");
  refused(arguments, {make(data.x.data(), GPUASYNC_TYPE_F32, {8, 3})},
          "its memory overlaps that of argument 0; pass other memory");
}

TEST(Library, WrongPrograms) {
  gpuasync_executable *executable = nullptr;
  Status status = compile("this is no program", executable);
  EXPECT_EQ(executable, nullptr);
  EXPECT_TRUE(says(status, "test.mlir:1:1: error:")) << status.message();
  status = compile("func.func private @f()", executable);
  EXPECT_TRUE(says(status, "no public function has a body"))
      << status.message();
  status =
      compile("func.func private @gone()\nfunc.func @f() {\n  call @gone() "
              ": () -> ()\n  return\n}",
              executable);
  EXPECT_TRUE(says(status, "@gone is used but defined nowhere"))
      << status.message();
  status = compile(product, executable, "opt-level=7");
  EXPECT_TRUE(says(status, "option opt-level=7: expected 0, 1, 2 or 3"))
      << status.message();
  status = compile(product, executable, "blas=on");
  EXPECT_TRUE(says(status, "option blas=on: expected one of off, auto"))
      << status.message();
  status = compile(product, executable, "speed=high");
  EXPECT_TRUE(says(status, "is none of opt-level")) << status.message();
  status = compile(product, executable, nullptr, "abacus");
  EXPECT_TRUE(says(status, "device abacus")) << status.message();
  EXPECT_EQ(status.code(), GPUASYNC_INVALID_ARGUMENT);
  // In one line, and one device is told from the next.
  EXPECT_TRUE(says(status, "; the devices are: cuda: unavailable (why: "
                           "gpuasync_device_list; in Python ga.devices()); "))
      << status.message();
  EXPECT_TRUE(says(status, "; hip: ")) << status.message();
  EXPECT_TRUE(says(status, "; cpu: ")) << status.message();
  EXPECT_FALSE(says(status, "\n")) << status.message();
  status = compile("func.func @\"a\\00b\"() { return }", executable);
  EXPECT_TRUE(says(status, "test.mlir:1:1: error: the name of a public "
                           "function has a null byte"))
      << status.message();
  EXPECT_TRUE(says(status, "rename it")) << status.message();
  EXPECT_EQ(executable, nullptr);
}

TEST(Library, ADeviceThatIsNotThereHasTheCodeOfOpeningIt) {
  for (const char *device : {"cuda:4095", "hip:4095"}) {
    gpuasync_executable *executable = nullptr;
    Status status = compile(product, executable, nullptr, device);
    EXPECT_EQ(executable, nullptr);
    EXPECT_EQ(status.code(), GPUASYNC_UNAVAILABLE) << status.message();
    gpuasync::Context context;
    EXPECT_EQ(gpuasync::Context::open(device, context).code(), status.code());
  }
}

TEST(Library, UnsupportedTypesAreSaidAtLookup) {
  Executable executable("func.func @p(%a: !llvm.ptr) { return }\n"
                        "func.func @v(%a: memref<4xvector<4xf32>>) { return }");
  gpuasync_callable *callable = nullptr;
  Status status(gpuasync_executable_lookup(executable.raw, "p", &callable));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  EXPECT_TRUE(says(status, "is a pointer")) << status.message();
  status = Status(gpuasync_executable_lookup(executable.raw, "v", &callable));
  EXPECT_TRUE(says(status, "vectors as elements")) << status.message();
  EXPECT_EQ(callable, nullptr);
}

/// A picture, freed.
std::string draw(const gpuasync_executable *executable, const char *function,
                 const char *format) {
  char *text = nullptr;
  Status status(
      gpuasync_executable_schedule(executable, function, format, &text));
  EXPECT_TRUE(status.ok()) << status.message();
  std::string drawn = text ? text : "";
  std::free(text);
  return drawn;
}

TEST(Library, Schedules) {
  Executable executable(product);
  std::string text = draw(executable.raw, "main", "text");
  EXPECT_EQ(text.find("@main: "), 0u) << text;
  EXPECT_NE(text.find("host waits for s0"), std::string::npos) << text;
  EXPECT_EQ(draw(executable.raw, "main", "dot").find("digraph"), 0u);
  EXPECT_EQ(draw(executable.raw, "main", "svg").find("<svg "), 0u);
  gpuasync_callable *callable = nullptr;
  Status status(gpuasync_executable_lookup(executable.raw, "main", &callable));
  ASSERT_TRUE(status.ok()) << status.message();
  char *same = nullptr;
  status = Status(gpuasync_callable_schedule(callable, "text", &same));
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(same, text);
  std::free(same);
  status = Status(gpuasync_callable_release(callable));
  EXPECT_TRUE(status.ok()) << status.message();
  // What cannot be called has one too.
  Executable pointer("func.func @p(%a: !llvm.ptr) { return }");
  EXPECT_EQ(draw(pointer.raw, "p", "text").find("@p: 0 ops"), 0u);
}

TEST(Library, SchedulesThatThereAreNot) {
  Executable executable(product);
  char nothing = 0, *text = &nothing;
  Status status(
      gpuasync_executable_schedule(executable.raw, "gone", "text", &text));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_NOT_FOUND));
  EXPECT_TRUE(says(status, "@main")) << status.message();
  EXPECT_EQ(text, nullptr);
  text = &nothing;
  status = Status(
      gpuasync_executable_schedule(executable.raw, "main", "png", &text));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_TRUE(says(status, "one of text, dot, svg, not 'png'"))
      << status.message();
  EXPECT_EQ(text, nullptr);
  status = Status(
      gpuasync_executable_schedule(executable.raw, "main", nullptr, &text));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  status = Status(
      gpuasync_executable_schedule(executable.raw, "main", "text", nullptr));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  status = Status(gpuasync_executable_schedule(nullptr, "main", "text", &text));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  status = Status(gpuasync_callable_schedule(nullptr, "text", &text));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_EQ(text, nullptr);
  Executable lowered("llvm.func @main() { llvm.return }");
  status =
      Status(gpuasync_executable_schedule(lowered.raw, "main", "svg", &text));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNSUPPORTED));
  EXPECT_TRUE(says(status, "was lowered already")) << status.message();
}

TEST(Library, CallablesOutliveTheirExecutable) {
  gpuasync_executable *executable = nullptr;
  Status status = compile(product, executable);
  ASSERT_TRUE(status.ok()) << status.message();
  gpuasync_callable *callable = nullptr;
  status = Status(gpuasync_executable_lookup(executable, "main", &callable));
  ASSERT_TRUE(status.ok()) << status.message();
  status = Status(gpuasync_executable_release(executable));
  EXPECT_TRUE(status.ok()) << status.message();
  Product data;
  gpuasync_value result = {};
  std::vector<gpuasync_value> arguments = data.arguments();
  status =
      Status(gpuasync_callable_call(callable, arguments.data(), 2, &result, 1));
  ASSERT_TRUE(status.ok()) << status.message();
  data.check(static_cast<float *>(result.data));
  gpuasync_value_release(&result);
  status = Status(gpuasync_callable_release(callable));
  EXPECT_TRUE(status.ok()) << status.message();
  // Nulls are nothing to release.
  EXPECT_EQ(gpuasync_callable_release(nullptr), nullptr);
  EXPECT_EQ(gpuasync_executable_release(nullptr), nullptr);
  gpuasync_value_release(nullptr);
}

TEST(Library, EightThreadsCallAndCompile) {
  Executable executable(product);
  gpuasync_callable *callable = nullptr;
  Status status(gpuasync_executable_lookup(executable.raw, "main", &callable));
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      Product data;
      data.x[0] = float(t);
      std::vector<gpuasync_value> arguments = data.arguments();
      std::vector<float> y(24);
      for (int i = 0; i < 50; ++i) {
        gpuasync_value result = make(y.data(), GPUASYNC_TYPE_F32, {8, 3});
        Status status(
            gpuasync_callable_call(callable, arguments.data(), 2, &result, 1));
        ASSERT_TRUE(status.ok()) << status.message();
        data.check(y.data());
      }
      if (t < 3) {
        Executable own(dynamicSum);
        std::vector<gpuasync_value> results(1);
        std::vector<float> x(5, float(t));
        gpuasync_value argument = make(x.data(), GPUASYNC_TYPE_F32, {5});
        Status status = own.call("add", {argument, argument}, results);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(static_cast<float *>(results[0].data)[4], float(2 * t));
        gpuasync_value_release(&results[0]);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  status = Status(gpuasync_callable_release(callable));
  EXPECT_TRUE(status.ok()) << status.message();
}

//===----------------------------------------------------------------------===//
// Calls on ranks
//===----------------------------------------------------------------------===//

/// A function on ranks. Each gives two numbers and gets those of all, negated;
/// rank `bad` fails before that.
struct OnRanks {
  Executable executable{R"(
func.func @main(%x: tensor<2xf32>, %bad: index) -> tensor<?xf32> {
  %rank = gpu_async.rank
  %ok = arith.cmpi ne, %rank, %bad : index
  cf.assert %ok, "no data"
  %c2 = arith.constant 2 : index
  %n = gpu_async.size
  %all = arith.muli %n, %c2 : index
  %e = tensor.empty(%all) : tensor<?xf32>
  %g = gpu_async.tensor_collective all_gather ins(%x : tensor<2xf32>) outs(%e : tensor<?xf32>)
  %r = arith.negf %g : tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @sum(%x: tensor<2xf32>) -> tensor<2xf32> {
  %e = tensor.empty() : tensor<2xf32>
  %r = gpu_async.tensor_collective all_reduce<sum> ins(%x : tensor<2xf32>) outs(%e : tensor<2xf32>)
  return %r : tensor<2xf32>
})"};
  gpuasync_callable *main = nullptr, *sum = nullptr;
  int64_t bad = -1;
  std::vector<std::vector<float>> numbers;
  std::vector<std::vector<gpuasync_value>> arguments, results;

  explicit OnRanks(size_t count) {
    gpuasync_status_free(
        gpuasync_executable_lookup(executable.raw, "main", &main));
    gpuasync_status_free(
        gpuasync_executable_lookup(executable.raw, "sum", &sum));
    for (size_t rank = 0; rank < count; ++rank) {
      numbers.push_back({float(rank + 1), float(10 * rank)});
      arguments.push_back({make(numbers.back().data(), GPUASYNC_TYPE_F32, {2}),
                           make(&bad, GPUASYNC_TYPE_I64, {})});
      results.push_back({gpuasync_value{}});
    }
  }
  ~OnRanks() {
    for (std::vector<gpuasync_value> &each : results)
      gpuasync_value_release(&each[0]);
    for (gpuasync_callable *callable : {main, sum})
      gpuasync_status_free(gpuasync_callable_release(callable));
  }
  Status call(gpuasync_callable *callable, size_t argumentCount) {
    std::vector<const gpuasync_value *> given;
    std::vector<gpuasync_value *> made;
    for (size_t rank = 0; rank < arguments.size(); ++rank) {
      given.push_back(arguments[rank].data());
      made.push_back(results[rank].data());
    }
    return Status(gpuasync_callable_call_ranks(callable, uint32_t(given.size()),
                                               given.data(), argumentCount,
                                               made.data(), 1));
  }
};

TEST(Library, CallsOnRanks) {
  OnRanks ranks(3);
  // The second call takes the contexts of the first one.
  for (int round = 0; round < 2; ++round) {
    Status status = ranks.call(ranks.main, 2);
    ASSERT_TRUE(status.ok()) << status.message();
    for (std::vector<gpuasync_value> &result : ranks.results) {
      ASSERT_EQ(result[0].shape[0], 6);
      auto *data = static_cast<const float *>(result[0].data);
      EXPECT_EQ(std::vector<float>(data, data + 6),
                (std::vector<float>{-1, -0.f, -2, -10, -3, -20}));
      gpuasync_value_release(&result[0]);
    }
  }
}

TEST(Library, CallsOnRanksWriteToTheCallersMemory) {
  OnRanks ranks(2);
  std::vector<std::vector<float>> memory(2, std::vector<float>(2));
  for (size_t rank = 0; rank < 2; ++rank)
    ranks.results[rank][0] = make(memory[rank].data(), GPUASYNC_TYPE_F32, {2});
  Status status = ranks.call(ranks.sum, 1);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(memory[0], (std::vector<float>{3, 10}));
  EXPECT_EQ(memory[1], memory[0]);
}

TEST(Library, ARankThatFailsEndsTheOthers) {
  OnRanks ranks(3);
  ranks.bad = 1;
  Status status = ranks.call(ranks.main, 2);
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(says(status, "rank 1: test.mlir:5:3: assertion failed: no data"))
      << status.message();
  EXPECT_TRUE(says(status, "rank 0: ") && says(status, "rank 2: ") &&
              says(status, "rank 1 failed: "))
      << status.message();
  for (const std::vector<gpuasync_value> &result : ranks.results)
    EXPECT_EQ(result[0].data, nullptr);
  // Later calls have contexts of their own.
  ranks.bad = -1;
  status = ranks.call(ranks.main, 2);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Library, AnArgumentOfOneRankIsWrong) {
  OnRanks ranks(2);
  ranks.arguments[1][0] = make(ranks.numbers[1].data(), GPUASYNC_TYPE_F32, {1});
  Status status = ranks.call(ranks.main, 2);
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(says(status, "rank 1: @main: argument 0 of tensor<2xf32>"))
      << status.message();
}

TEST(Library, RanksDoNotShareVariablesOfKernels) {
  Executable executable(R"(
module attributes {gpu.container_module} {
gpu.module @k {
  memref.global "private" @counter : memref<1xi32> = dense<0>
  gpu.func @add() kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %m = memref.get_global @counter : memref<1xi32>
    %v = memref.load %m[%c0] : memref<1xi32>
    %s = arith.addi %v, %one : i32
    memref.store %s, %m[%c0] : memref<1xi32>
    gpu.return
  }
}
func.func @main() {
  %c1 = arith.constant 1 : index
  gpu.launch_func @k::@add blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
  return
}
})");
  gpuasync_callable *callable = nullptr;
  Status status(gpuasync_executable_lookup(executable.raw, "main", &callable));
  ASSERT_TRUE(status.ok()) << status.message();
  const gpuasync_value *none[2] = {};
  gpuasync_value *results[2] = {};
  status =
      Status(gpuasync_callable_call_ranks(callable, 2, none, 0, results, 0));
  EXPECT_TRUE(says(status, "@counter is a variable of kernels"))
      << status.message();
  status =
      Status(gpuasync_callable_call_ranks(callable, 1, none, 0, results, 0));
  EXPECT_TRUE(status.ok()) << status.message();
  gpuasync_status_free(gpuasync_callable_release(callable));
}

TEST(Library, CallsOnRanksAreChecked) {
  OnRanks none(0);
  EXPECT_TRUE(says(none.call(none.main, 2), "on 0 ranks; there are 1 to 1024"));
  EXPECT_TRUE(says(Status(gpuasync_callable_call_ranks(none.main, 2, nullptr, 2,
                                                       nullptr, 1)),
                   "each with its arguments and results"));
  EXPECT_TRUE(says(
      Status(gpuasync_callable_call_ranks(nullptr, 1, nullptr, 0, nullptr, 0)),
      "the callable is null"));
}

} // namespace
