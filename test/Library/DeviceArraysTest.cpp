//===- DeviceArraysTest.cpp - Results that stay on a device ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Executables of place=device through GPUAsync-C/GPUAsync.h, over the fake CUDA
// library of GPU_ASYNC_CUDA_LIBRARY, whose kernels do nothing.
//===----------------------------------------------------------------------===//

#include "GPUAsync-C/GPUAsync.h"
#include "Mock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <string>
#include <vector>

using gpuasync::Status;
using gpuasync_test::Mock;

namespace {

const char *const program = R"(
func.func @same(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @slow(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func @copy(%x: memref<4xf32>, %y: memref<4xf32>) {
  %t = gpu_async.wait async
  %u = gpu_async.memcpy async [%t] %y, %x : memref<4xf32>, memref<4xf32>
  gpu_async.wait [%u]
  return
})";

Mock &mock() {
  static Mock library(getenv("GPU_ASYNC_CUDA_LIBRARY"));
  return library;
}

void expectOk(gpuasync_status *raw, const char *what) {
  Status status(raw);
  EXPECT_TRUE(status.ok()) << what << ": " << status.message();
}
#define EXPECT_OK(call) expectOk(call, #call)

void expectTimeout(gpuasync_status *raw) {
  Status status(raw);
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT)) << status.message();
}

gpuasync_executable *compile(const char *options = "place=device",
                             const char *device = "cuda") {
  gpuasync_compile_options how = {sizeof(how), "test.mlir", device,
                                  options,     nullptr,     nullptr};
  gpuasync_executable *executable = nullptr;
  EXPECT_OK(gpuasync_compile(program, strlen(program), &how, &executable));
  return executable;
}

class DeviceArrays : public testing::Test {
protected:
  void SetUp() override {
    executable = compile();
    EXPECT_OK(gpuasync_executable_lookup(executable, "same", &same));
    EXPECT_OK(gpuasync_executable_lookup(executable, "slow", &slow));
    EXPECT_OK(gpuasync_executable_lookup(executable, "copy", &copy));
    gpuasync_value first = enqueue(slow, host(x)); // loads the kernel
    EXPECT_OK(gpuasync_value_wait(&first));
    gpuasync_value_release(&first);
  }
  void TearDown() override {
    gpuasync_set_timeout(0);
    EXPECT_EQ(mock().mock_violations(nullptr, nullptr), 0u);
    mock().mock_reset();
    EXPECT_OK(gpuasync_context_wait_abandoned(nullptr, 60));
    TearDownButResults();
    EXPECT_EQ(mock().mock_live("context"), 0u);
  }
  void TearDownButResults() {
    EXPECT_OK(gpuasync_callable_release(same));
    EXPECT_OK(gpuasync_callable_release(slow));
    EXPECT_OK(gpuasync_callable_release(copy));
    EXPECT_OK(gpuasync_executable_release(executable));
  }

  static gpuasync_value host(const float *data) {
    static const int64_t shape[] = {4};
    return gpuasync_value_make(const_cast<float *>(data), GPUASYNC_TYPE_F32, 1,
                               shape);
  }
  static gpuasync_value enqueue(gpuasync_callable *callable,
                                const gpuasync_value &argument) {
    gpuasync_value result = {};
    EXPECT_OK(gpuasync_callable_enqueue(callable, &argument, 1, &result, 1));
    return result;
  }
  /// Work that the queue does not come past until the reset.
  void hold() {
    mock().mock_gate_close("add_4");
    held = enqueue(slow, host(x));
    gpuasync_set_timeout(0.05);
  }
  void letGo() {
    gpuasync_set_timeout(0);
    mock().mock_gate_open("add_4");
    gpuasync_value_release(&held);
  }
  static std::vector<float> read(const gpuasync_value &value) {
    std::vector<float> data(4);
    EXPECT_OK(gpuasync_value_download(&value, data.data()));
    return data;
  }

  const float x[4] = {1, 2, 3, 4}, zero[4] = {};
  gpuasync_executable *executable = nullptr;
  gpuasync_callable *same = nullptr, *slow = nullptr, *copy = nullptr;
  gpuasync_value held = {};
};

TEST_F(DeviceArrays, MemoryOfTheCallersIsWaitedFor) {
  gpuasync_value r = enqueue(same, host(zero));
  EXPECT_OK(gpuasync_value_wait(&r));
  hold();
  gpuasync_value given = r;
  given.owner = nullptr; // the library does not see it, but knows the address
  gpuasync_value argument = host(x);
  EXPECT_OK(gpuasync_callable_enqueue(same, &argument, 1, &given, 1));
  expectTimeout(gpuasync_value_wait(&given));
  expectTimeout(gpuasync_value_wait(&r));
  // Memory that nobody knows, too.
  gpuasync_value unknown = given;
  unknown.data = reinterpret_cast<void *>(4096);
  expectTimeout(gpuasync_value_wait(&unknown));
  expectTimeout(gpuasync_queues_wait());
  // None of these waits has abandoned the work.
  EXPECT_OK(gpuasync_context_wait_abandoned(nullptr, 0));
  letGo();
  EXPECT_OK(gpuasync_value_wait(&unknown));
  EXPECT_EQ(read(r), std::vector<float>(x, x + 4));
  gpuasync_value_release(&r);
}

TEST_F(DeviceArrays, MemrefsAreWaitedFor) {
  gpuasync_value pair[] = {enqueue(same, host(x)), enqueue(same, host(zero))};
  EXPECT_OK(gpuasync_value_wait(&pair[1]));
  hold();
  EXPECT_OK(gpuasync_callable_enqueue(copy, pair, 2, nullptr, 0));
  expectTimeout(gpuasync_value_wait(&pair[1]));
  letGo();
  EXPECT_EQ(read(pair[1]), std::vector<float>(x, x + 4));
  gpuasync_value_release(&pair[0]);
  gpuasync_value_release(&pair[1]);
}

TEST_F(DeviceArrays, ACallThatGivesUpIsAbandoned) {
  gpuasync_value r = enqueue(same, host(zero));
  EXPECT_OK(gpuasync_value_wait(&r));
  hold();
  gpuasync_value argument = host(x), given = r;
  expectTimeout(gpuasync_callable_call(same, &argument, 1, &given, 1));
  expectTimeout(gpuasync_context_wait_abandoned(
      gpuasync_executable_context(executable), 0));
  letGo();
  EXPECT_OK(gpuasync_context_wait_abandoned(nullptr, 60));
  EXPECT_EQ(read(r), std::vector<float>(x, x + 4));
  gpuasync_value_release(&r);
}

TEST_F(DeviceArrays, ResultsKeepTheirDevice) {
  gpuasync_value r = enqueue(same, host(x));
  gpuasync_context *before = gpuasync_executable_context(executable);
  TearDownButResults();
  SetUp();
  EXPECT_EQ(gpuasync_executable_context(executable), before);
  gpuasync_value q = enqueue(same, r);
  gpuasync_value_release(&r);
  EXPECT_EQ(read(q), std::vector<float>(x, x + 4));
  gpuasync_value_release(&q);
}

TEST_F(DeviceArrays, ArraysOfAClosedContextAreRefused) {
  gpuasync_value r = enqueue(same, host(x)), q = {};
  EXPECT_OK(gpuasync_value_wait(&r));
  // One of a context with arrays says so, and closes it.
  Status closed(
      gpuasync_context_close(gpuasync_executable_context(executable)));
  EXPECT_TRUE(strstr(closed.message(), "never released")) << closed.message();
  TearDownButResults();
  SetUp();
  // Its memory may be this one's.
  gpuasync_value other = enqueue(same, host(zero));
  for (const char *name : {"same", "slow"}) {
    Status status(gpuasync_executable_call(executable, name, &r, 1, &q, 1));
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_TRUE(strstr(status.message(), "its context was closed"))
        << status.message();
  }
  EXPECT_FALSE(Status(gpuasync_value_download(&r, &q)).ok());
  gpuasync_value_release(&r);
  EXPECT_EQ(read(other), std::vector<float>(zero, zero + 4));
  gpuasync_value_release(&other);
}

TEST_F(DeviceArrays, TheCpuDeviceRefusesThem) {
  gpuasync_value r = enqueue(same, host(x)), q = {};
  gpuasync_executable *cpu = compile("", "cpu");
  Status status(gpuasync_executable_call(cpu, "same", &r, 1, &q, 1));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_TRUE(strstr(status.message(), "another device's")) << status.message();
  EXPECT_OK(gpuasync_executable_release(cpu));
  gpuasync_value_release(&r);
}

TEST_F(DeviceArrays, ManyOfThem) {
  std::vector<gpuasync_value> all;
  for (int i = 0; i < 500; ++i) {
    const float data[] = {float(i), 0, 0, 0};
    all.push_back(enqueue(same, host(data)));
    if (i % 3 == 0) {
      gpuasync_value_release(&all[size_t(i / 2)]);
      all[size_t(i / 2)] = enqueue(same, host(zero));
    }
  }
  for (size_t i = 250; i < 500; ++i)
    EXPECT_EQ(read(all[i])[0], float(i));
  // The arrays of a view are found by any address in them.
  gpuasync_value part = all[300];
  part.data = static_cast<float *>(part.data) + 3;
  part.owner = nullptr;
  EXPECT_OK(gpuasync_value_wait(&part));
  for (gpuasync_value &each : all)
    gpuasync_value_release(&each);
}

} // namespace
