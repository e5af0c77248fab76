//===- MgpuTest.cpp - Upstream's wrapper symbols over the runtime ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls as MLIR 22.1's gpu-to-llvm makes them, right and wrong: what it leaks,
// destroys twice and mixes up. On each device that is there.
//===----------------------------------------------------------------------===//

#include "gpuasync/Mgpu.h"
#include "Fixture.h"
#include "Kernels.h"
#include "gpuasync/Context.h"
#include "gpuasync/Stats.h"
#include "mgpu/Symbols.h"

#include <gtest/gtest.h>

#include <atomic>
#include <dlfcn.h>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

using namespace gpuasync_test;
using gpuasync::Context;
using gpuasync::Status;

namespace {

std::vector<char> readObject() {
  std::ifstream file(MGPU_OBJECT, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

gpuasync_mgpu_stats stats() {
  gpuasync_mgpu_stats result;
  EXPECT_EQ(gpuasync_mgpu_read_stats(&result), nullptr);
  return result;
}

std::string firstError() {
  const char *error = gpuasync_mgpu_error();
  return error ? error : "";
}

class MgpuTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    setenv("GPU_ASYNC_DEVICE", GetParam(), 1);
    setenv("GPU_ASYNC_MGPU_ON_ERROR", "continue", 1);
    gpuasync_context *raw = nullptr;
    Status status(gpuasync_context_default(nullptr, &raw));
    if (status.code() == GPUASYNC_UNAVAILABLE)
      GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    context = Context(raw);
    module = load();
    ASSERT_NE(module, nullptr) << firstError();
  }
  void TearDown() override {
    if (!context.get())
      return;
    EXPECT_EQ(firstError(), "");
    EXPECT_EQ(gpuasync_mgpu_close(), uint32_t(GPUASYNC_OK));
    gpuasync_stats after;
    EXPECT_EQ(gpuasync_stats_read(context.get(), &after), nullptr);
    EXPECT_EQ(after.streams.live, 0u);
    EXPECT_EQ(after.events.live, 0u);
    EXPECT_EQ(after.modules.live, 0u);
  }
  /// Ends a test that provoked an error.
  void expectError(const std::string &part) {
    EXPECT_NE(firstError().find(part), std::string::npos)
        << "the first error is: " << firstError();
    EXPECT_NE(gpuasync_mgpu_close(), uint32_t(GPUASYNC_OK));
  }
  bool onCpu() const { return std::string(GetParam()) == "cpu"; }

  void *load() {
    if (!onCpu())
      return mgpuModuleLoadJIT(const_cast<char *>(detail::ptx()), 3);
    static std::vector<char> object = readObject();
    return mgpuModuleLoad(object.data(), object.size());
  }
  /// A launch of `blocks` x 32 threads.
  template <typename... Params>
  void launch(const char *kernel, void *stream, intptr_t blocks,
              Params... params) {
    void *pointers[] = {&params...};
    mgpuLaunchKernel(mgpuModuleGetFunction(module, kernel), blocks, 1, 1, 32, 1,
                     1, 0, stream, pointers, nullptr, sizeof...(params));
  }
  template <typename T>
  T *shared(size_t count) {
    return static_cast<T *>(mgpuMemAlloc(count * sizeof(T), nullptr, true));
  }
  template <typename T>
  T *device(size_t count) {
    return static_cast<T *>(mgpuMemAlloc(count * sizeof(T), nullptr, false));
  }

  /// A gate: work behind it waits for `open`.
  uint32_t *closedGate() {
    auto *gate = shared<uint32_t>(1);
    *gate = 0;
    return gate;
  }
  static void open(uint32_t *gate) {
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  }
  void holdBack(void *stream, uint32_t *gate) {
    void *params[] = {&gate};
    mgpuLaunchKernel(mgpuModuleGetFunction(module, "gate"), 1, 1, 1, 1, 1, 1, 0,
                     stream, params, nullptr, 1);
  }

  /// One up, four branches of two, one down, as gpu-to-llvm lowers it: the
  /// branches' streams are forgotten. `x` has five words.
  uint32_t forkJoin(uint32_t *x, uint32_t start) {
    void *root = mgpuStreamCreate();
    launch("store", root, 1, x, start);
    void *branchPoint[4];
    for (void *&event : branchPoint) {
      event = mgpuEventCreate();
      mgpuEventRecord(event, root);
    }
    void *joined[4];
    for (uint32_t i = 0; i < 4; ++i) {
      void *branch = mgpuStreamCreate();
      mgpuStreamWaitEvent(branch, branchPoint[i]);
      mgpuEventDestroy(branchPoint[i]);
      launch("addUp", branch, 1, x + 32 * (i + 1),
             static_cast<const uint32_t *>(x), int64_t(1), i);
      launch("mulAdd", branch, 1, x + 32 * (i + 1), int64_t(1), 3u, 1u);
      joined[i] = mgpuEventCreate();
      mgpuEventRecord(joined[i], branch);
    }
    void *join = mgpuStreamCreate();
    for (void *event : joined)
      mgpuStreamWaitEvent(join, event);
    for (void *event : joined)
      mgpuEventDestroy(event);
    uint32_t host[160] = {};
    mgpuMemcpy(host, x, sizeof(host), join);
    mgpuStreamSynchronize(join);
    mgpuStreamDestroy(join);
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 4; ++i)
      wrong += host[32 * (i + 1)] != (start + i) * 3 + 1;
    return wrong;
  }

  Context context;
  void *module = nullptr;
};

//===----------------------------------------------------------------------===//
// Upstream's programs
//===----------------------------------------------------------------------===//

TEST_P(MgpuTest, ForkJoinIsRightAndItsLeakedStreamsAreTakenBack_S02) {
  auto *x = device<uint32_t>(160);
  uint32_t wrong = 0;
  uint64_t most = 0;
  gpuasync_stats before, held;
  EXPECT_EQ(gpuasync_stats_read(context.get(), &before), nullptr);
  for (uint32_t i = 0; i < 500; ++i) {
    wrong += forkJoin(x, i);
    uint64_t now = stats().physicalStreams;
    most = now > most ? now : most;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(stats().streams, 2500u); // root and branches: 5 forgotten each
  EXPECT_EQ(stats().events, 0u);
  EXPECT_LE(most, 24u);
  EXPECT_EQ(gpuasync_stats_read(context.get(), &held), nullptr);
  EXPECT_LE(held.streams.physical, before.streams.physical + 64);
  EXPECT_LE(held.events.physical, before.events.physical + 64);
  mgpuMemFree(x, nullptr);
}

TEST_P(MgpuTest, LeakedStreamsCost64BytesEach) {
  constexpr uint64_t count = 100000;
  gpuasync_stats before, after;
  EXPECT_EQ(gpuasync_stats_read(context.get(), &before), nullptr);
  std::vector<void *> streams(count);
  for (void *&stream : streams)
    stream = mgpuStreamCreate();
  EXPECT_EQ(stats().streams, count);
  EXPECT_LE(stats().handleBytes, count * 64 + 4096 * 64);
  EXPECT_EQ(stats().physicalStreams, 0u);
  EXPECT_EQ(gpuasync_stats_read(context.get(), &after), nullptr);
  EXPECT_EQ(after.streams.physical, before.streams.physical);
  // Each of them works.
  auto *x = shared<uint32_t>(32);
  for (uint64_t i = 0; i < count; i += 1000) {
    launch("store", streams[i], 1, x, uint32_t(i));
    mgpuStreamSynchronize(streams[i]);
    EXPECT_EQ(x[31], uint32_t(i));
  }
  EXPECT_LE(stats().physicalStreams, 2u);
  mgpuMemFree(x, nullptr);
}

TEST_P(MgpuTest, PlacesOfDestroyedStreamsAreUsedAgain) {
  for (int i = 0; i < 100000; ++i)
    mgpuStreamDestroy(mgpuStreamCreate());
  EXPECT_EQ(stats().streams, 0u);
  uint64_t bytes = stats().handleBytes;
  for (int i = 0; i < 100000; ++i)
    mgpuEventDestroy(mgpuEventCreate());
  EXPECT_EQ(stats().handleBytes, bytes);
}

//===----------------------------------------------------------------------===//
// What it mixes up
//===----------------------------------------------------------------------===//

TEST_P(MgpuTest, StreamAsEventIsItsTail) {
  uint32_t *gate = closedGate();
  auto *x = shared<uint32_t>(32);
  x[0] = 0;
  void *first = mgpuStreamCreate(), *second = mgpuStreamCreate();
  holdBack(first, gate);
  launch("store", first, 1, x, 7u);
  mgpuStreamWaitEvent(second, first); // an event was expected
  launch("mulAdd", second, 1, x, int64_t(32), 10u, 5u);
  EXPECT_EQ(__atomic_load_n(x, __ATOMIC_ACQUIRE), 0u);
  open(gate);
  mgpuEventSynchronize(second); // here too
  EXPECT_EQ(x[0], 75u);
  mgpuEventDestroy(second);
  mgpuEventDestroy(first);
  EXPECT_EQ(stats().streams, 0u);
  EXPECT_GE(stats().mixedUp, 2u);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(gate, nullptr);
}

TEST_P(MgpuTest, EventAsStreamIsWorkBehindIt) {
  uint32_t *gate = closedGate();
  auto *x = shared<uint32_t>(32);
  void *stream = mgpuStreamCreate(), *event = mgpuEventCreate();
  holdBack(stream, gate);
  launch("store", stream, 1, x, 3u);
  mgpuEventRecord(event, stream);
  mgpuStreamDestroy(stream);
  launch("mulAdd", event, 1, x, int64_t(32), 2u, 1u); // a stream was expected
  void *other = mgpuStreamCreate();
  // As an event it now stands for the launch too.
  mgpuStreamWaitEvent(other, event);
  mgpuStreamDestroy(event);
  launch("mulAdd", other, 1, x, int64_t(32), 10u, 0u);
  open(gate);
  mgpuStreamSynchronize(other);
  EXPECT_EQ(x[0], 70u);
  mgpuStreamDestroy(other);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(gate, nullptr);
}

TEST_P(MgpuTest, EventRecordedOnAnEventCopiesIt) {
  uint32_t *gate = closedGate();
  auto *x = shared<uint32_t>(32);
  void *stream = mgpuStreamCreate();
  void *first = mgpuEventCreate(), *second = mgpuEventCreate();
  holdBack(stream, gate);
  launch("store", stream, 1, x, 9u);
  mgpuEventRecord(first, stream);
  mgpuEventRecord(second, first);
  mgpuEventDestroy(first);
  open(gate);
  mgpuEventSynchronize(second);
  EXPECT_EQ(x[5], 9u);
  mgpuEventDestroy(second);
  mgpuStreamDestroy(stream);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(gate, nullptr);
}

TEST_P(MgpuTest, DestroyingTwiceIsReportedOnceAndHarmless) {
  testing::internal::CaptureStderr();
  auto *x = shared<uint32_t>(32);
  void *stream = mgpuStreamCreate();
  launch("store", stream, 1, x, 4u);
  // gpu.wait of two tokens that share a stream.
  for (int i = 0; i < 2; ++i) {
    mgpuStreamSynchronize(stream);
    mgpuStreamDestroy(stream);
  }
  void *event = mgpuEventCreate();
  mgpuEventDestroy(event);
  mgpuEventDestroy(event);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(x[0], 4u);
  EXPECT_EQ(stats().destroyedTwice, 2u);
  EXPECT_EQ(stats().waitsOnDestroyed, 1u);
  size_t at = text.find("warning: mgpuStreamDestroy: the stream 0x");
  EXPECT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.find("was destroyed before", at + 1),
            text.rfind("was destroyed before"));
  mgpuMemFree(x, nullptr);
}

TEST_P(MgpuTest, DestroyedStreamKeepsItsWorkAndCanBeWaitedFor_S11) {
  uint32_t *gate = closedGate();
  auto *x = shared<uint32_t>(32);
  x[0] = 0;
  void *stream = mgpuStreamCreate();
  holdBack(stream, gate);
  launch("store", stream, 1, x, 8u);
  mgpuStreamDestroy(stream); // returns though the gate is closed
  EXPECT_EQ(stats().streams, 0u);
  EXPECT_EQ(__atomic_load_n(x, __ATOMIC_ACQUIRE), 0u);
  open(gate);
  mgpuStreamSynchronize(stream);
  EXPECT_EQ(x[0], 8u);
  EXPECT_EQ(stats().waitsOnDestroyed, 1u);
  EXPECT_EQ(stats().physicalStreams, 0u);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(gate, nullptr);
}

TEST_P(MgpuTest, DestroyedEventCanBeWaitedFor) {
  uint32_t *gate = closedGate();
  auto *x = shared<uint32_t>(32);
  void *stream = mgpuStreamCreate(), *event = mgpuEventCreate();
  holdBack(stream, gate);
  launch("store", stream, 1, x, 8u);
  mgpuEventRecord(event, stream);
  mgpuEventDestroy(event);
  void *other = mgpuStreamCreate();
  mgpuStreamWaitEvent(other, event);
  launch("mulAdd", other, 1, x, int64_t(32), 2u, 0u);
  open(gate);
  mgpuStreamSynchronize(other);
  EXPECT_EQ(x[0], 16u);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(gate, nullptr);
}

TEST_P(MgpuTest, WorkOnADestroyedStreamIsAnError) {
  void *stream = mgpuStreamCreate();
  mgpuStreamDestroy(stream);
  mgpuMemset32(device<uint32_t>(1), 1, 1, stream);
  expectError("mgpuMemset32: the stream 0x");
}

TEST_P(MgpuTest, ForeignHandlesAreAnError) {
  int local = 0;
  mgpuStreamSynchronize(&local);
  expectError("is not a stream or event of this library");
}

TEST_P(MgpuTest, HandlesFromBeforeCloseAreStale) {
  void *stream = mgpuStreamCreate();
  EXPECT_EQ(gpuasync_mgpu_close(), 0u);
  mgpuStreamSynchronize(stream);
  expectError("mgpuStreamSynchronize: the stream");
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

TEST_P(MgpuTest, HostWaitReturnsThoughLaterWorkWaits_B03) {
  uint32_t *gate = closedGate();
  auto *x = shared<uint32_t>(32);
  void *stream = mgpuStreamCreate(), *event = mgpuEventCreate();
  launch("store", stream, 1, x, 6u);
  mgpuEventRecord(event, stream);
  holdBack(stream, gate);
  mgpuEventSynchronize(event);
  EXPECT_EQ(x[0], 6u);
  open(gate);
  mgpuStreamSynchronize(stream);
  mgpuEventDestroy(event);
  mgpuStreamDestroy(stream);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(gate, nullptr);
}

TEST_P(MgpuTest, UnrecordedEventIsDone) {
  void *stream = mgpuStreamCreate(), *event = mgpuEventCreate();
  mgpuStreamWaitEvent(stream, event);
  mgpuEventSynchronize(event);
  mgpuStreamSynchronize(stream);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(stats().physicalStreams, 0u);
}

TEST_P(MgpuTest, RecordingAgainMovesTheEvent) {
  uint32_t *gate = closedGate();
  auto *x = shared<uint32_t>(32);
  void *stream = mgpuStreamCreate(), *event = mgpuEventCreate();
  holdBack(stream, gate);
  mgpuEventRecord(event, stream);
  void *idle = mgpuStreamCreate();
  mgpuEventRecord(event, idle);
  mgpuEventSynchronize(event); // returns though the gate is closed
  launch("store", stream, 1, x, 2u);
  mgpuEventRecord(event, stream);
  open(gate);
  mgpuEventSynchronize(event);
  EXPECT_EQ(x[0], 2u);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(gate, nullptr);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TEST_P(MgpuTest, CopiesAndFills) {
  EXPECT_EQ(mgpuMemAlloc(0, nullptr, false), nullptr);
  mgpuMemFree(nullptr, nullptr);
  void *stream = mgpuStreamCreate();
  auto *x = static_cast<uint32_t *>(mgpuMemAlloc(4096, stream, false));
  mgpuMemset32(x, 0x01020304, 1024, stream);
  mgpuMemset16(x, 0x0a0b, 2, stream);
  std::vector<uint32_t> host(1024), again(1024), up(1024, 77);
  mgpuMemcpy(host.data(), x, 4096, stream);
  // From pageable memory that a download has yet to write.
  auto *y = static_cast<uint32_t *>(mgpuMemAlloc(4096, stream, false));
  mgpuMemcpy(y, host.data(), 4096, stream);
  mgpuMemcpy(again.data(), y, 4096, stream);
  mgpuMemFree(y, stream);
  mgpuStreamSynchronize(stream);
  EXPECT_EQ(host[0], 0x0a0b0a0bu);
  EXPECT_EQ(host[1], 0x01020304u);
  EXPECT_EQ(host, again);
  mgpuMemcpy(x, up.data(), 4096, nullptr);
  up.assign(1024, 0);
  mgpuMemcpy(up.data(), x, 4096, nullptr);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(up[1023], 77u);
  mgpuMemFree(x, stream);
  mgpuStreamDestroy(stream);
}

TEST_P(MgpuTest, DownloadIsFinishedByAnyCoveringWait) {
  std::vector<uint32_t> host(1024);
  auto *x = device<uint32_t>(1024);
  void *stream = mgpuStreamCreate(), *join = mgpuStreamCreate();
  mgpuMemset32(x, 5, 1024, stream);
  mgpuMemcpy(host.data(), x, 4096, stream);
  mgpuStreamWaitEvent(join, stream);
  mgpuStreamSynchronize(join);
  EXPECT_EQ(host[1023], 5u);
  mgpuMemFree(x, nullptr);
}

TEST_P(MgpuTest, FreeingOnTheNullStreamWaitsForAllStreams) {
  uint32_t *gate = closedGate();
  auto *x = device<uint32_t>(1 << 16);
  std::vector<uint32_t> host(1 << 16);
  void *stream = mgpuStreamCreate();
  mgpuMemset32(x, 11, 1 << 16, stream);
  holdBack(stream, gate);
  mgpuMemcpy(host.data(), x, 4 << 16, stream);
  mgpuMemFree(x, nullptr); // does not block
  auto *y = device<uint32_t>(1 << 16);
  void *other = mgpuStreamCreate();
  mgpuMemset32(y, 22, 1 << 16, other);
  mgpuStreamSynchronize(other);
  open(gate);
  mgpuStreamSynchronize(stream);
  EXPECT_EQ(host.front(), 11u);
  EXPECT_EQ(host.back(), 11u);
  mgpuMemFree(y, nullptr);
  mgpuMemFree(gate, nullptr);
}

TEST_P(MgpuTest, FreeingTwiceIsAnError) {
  auto *x = device<uint32_t>(64);
  mgpuMemFree(x, nullptr);
  mgpuMemFree(x, nullptr);
  expectError("mgpuMemFree: ");
}

TEST_P(MgpuTest, FreeingForeignMemoryIsAnError) {
  uint32_t local = 0;
  mgpuMemFree(&local, nullptr);
  expectError("was not allocated by this runtime");
}

TEST_P(MgpuTest, CopyBeyondABufferIsAnError) {
  std::vector<char> host(128);
  mgpuMemcpy(device<char>(64), host.data(), 128, nullptr);
  expectError("mgpuMemcpy: the destination exceeds its buffer");
}

TEST_P(MgpuTest, HostMemoryIsRegistered) {
  std::vector<uint32_t> host(64 * 1024);
  struct {
    void *base, *data;
    int64_t offset, sizes[2], strides[2];
  } matrix = {host.data(), host.data(), 64, {16, 32}, {64, 1}};
  mgpuMemHostRegisterMemRef(2, &matrix, 4);
  void *stream = mgpuStreamCreate();
  MemRef1d seen = mgpuMemGetDeviceMemRef1dInt32(
      reinterpret_cast<int32_t *>(host.data()),
      reinterpret_cast<int32_t *>(host.data() + 64), 3, 32, 1);
  EXPECT_EQ(seen.offset, 3);
  EXPECT_EQ(seen.size, 32);
  EXPECT_EQ(seen.stride, 1);
  launch("store", stream, 1, seen.data, 21u);
  mgpuStreamSynchronize(stream);
  EXPECT_EQ(host[63], 0u);
  EXPECT_EQ(host[64], 21u);
  mgpuMemHostUnregisterMemRef(2, &matrix, 4);
  mgpuMemHostRegister(host.data(), 4096);
  EXPECT_NE(mgpuMemGetDeviceMemRef1dFloat(
                nullptr, reinterpret_cast<float *>(host.data()), 0, 8, 1)
                .data,
            nullptr);
  mgpuMemHostUnregister(host.data());
  mgpuStreamDestroy(stream);
}

/// Products of sizes that are not the number of elements.
TEST_P(MgpuTest, SizesThatWrapAreErrors) {
  struct {
    void *base, *data;
    int64_t offset, sizes[2], strides[2];
  } matrix = {};
  uint32_t word = 0;
  matrix.data = &word;
  matrix.sizes[0] = matrix.sizes[1] = matrix.strides[0] = int64_t(1) << 32;
  matrix.strides[1] = 1;
  mgpuMemHostRegisterMemRef(2, &matrix, 4);
  expectError("too large: 4294967296 x 4294967296 elements of 4 bytes");
  matrix.sizes[0] = -3;
  mgpuMemHostUnregisterMemRef(2, &matrix, 4);
  expectError("negative size: -3 x 4294967296");
  int64_t box[] = {(int64_t(1) << 32) + 1, 1};
  matrix.sizes[0] = 4;
  mgpuTensorMapEncodeTiledMemref(2, &matrix, 7, 0, 0, 0, 0, box);
  expectError("in boxes of 4294967297");
}

TEST_P(MgpuTest, UnregisteringWhatIsNotRegisteredIsAnError) {
  uint32_t local = 0;
  mgpuMemHostUnregister(&local);
  expectError("is not registered");
}

//===----------------------------------------------------------------------===//
// Modules and launches
//===----------------------------------------------------------------------===//

TEST_P(MgpuTest, ModulesAreLoadedManyTimesAndNeverFreed) {
  auto *x = shared<uint32_t>(32);
  for (uint32_t i = 0; i < 20; ++i) {
    module = load();
    launch("store", nullptr, 1, x, i);
    mgpuStreamSynchronize(nullptr);
    EXPECT_EQ(x[0], i);
  }
  void *function = mgpuModuleGetFunction(module, "store");
  EXPECT_EQ(function, mgpuModuleGetFunction(module, "store"));
  mgpuMemFree(x, nullptr);
}

TEST_P(MgpuTest, UnloadWaitsForTheModulesWork) {
  auto *x = shared<uint32_t>(32);
  uint32_t *gate = closedGate();
  holdBack(nullptr, gate);
  launch("store", nullptr, 1, x, 1u);
  std::thread opener([&] { open(gate); });
  mgpuModuleUnload(module);
  EXPECT_EQ(x[0], 1u);
  opener.join();
  mgpuMemFree(x, nullptr);
  mgpuMemFree(gate, nullptr);
}

TEST_P(MgpuTest, UnloadingTwiceIsAnError) {
  mgpuModuleUnload(nullptr);
  mgpuModuleUnload(module);
  EXPECT_EQ(firstError(), "");
  mgpuModuleUnload(module);
  expectError("mgpuModuleUnload: the module was unloaded before");
}

TEST_P(MgpuTest, LaunchFromAnUnloadedModuleIsAnError) {
  void *function = mgpuModuleGetFunction(module, "raise");
  mgpuModuleUnload(module);
  void *pointer = nullptr, *params[] = {&pointer};
  mgpuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr, 1);
  expectError("mgpuLaunchKernel: the module of kernel @raise was unloaded");
}

TEST_P(MgpuTest, UnknownKernelIsAnErrorThatNamesIt) {
  EXPECT_EQ(mgpuModuleGetFunction(module, "absent"), nullptr);
  EXPECT_EQ(firstError().find("mgpuModuleGetFunction: "), 0u);
  expectError("@absent");
}

TEST_P(MgpuTest, GarbageIsNoModule) {
  char garbage[256] = "not a module";
  EXPECT_EQ(mgpuModuleLoad(garbage, sizeof(garbage)), nullptr);
  expectError("mgpuModuleLoad: the module is neither PTX");
}

TEST_P(MgpuTest, ModuleForAnotherDeviceIsAnErrorThatSaysWhatToDo) {
  if (onCpu())
    mgpuModuleLoadJIT(const_cast<char *>(detail::ptx()), 2);
  else {
    std::vector<char> object = readObject();
    mgpuModuleLoad(object.data(), object.size());
  }
  expectError("GPU_ASYNC_DEVICE");
}

TEST_P(MgpuTest, SizesAreChecked) {
  uint32_t *x = device<uint32_t>(1), value = 0;
  void *params[] = {&x, &value};
  void *store = mgpuModuleGetFunction(module, "store");
  mgpuLaunchKernel(store, 0, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr, 2);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(firstError(), "");
  mgpuLaunchKernel(store, 1, 1, 1, 4096, 1, 1, 0, nullptr, params, nullptr, 2);
  expectError("mgpuLaunchKernel @store: ");
}

TEST_P(MgpuTest, ParameterCountIsCheckedOnTheCpu) {
  if (!onCpu())
    GTEST_SKIP() << "the vendor's driver knows no count";
  launch("store", nullptr, 1, uint64_t(0));
  expectError("kernel @store takes 2 parameters, 1 are passed");
}

TEST_P(MgpuTest, ClusterLaunch) {
  auto *x = shared<uint32_t>(64);
  uint32_t value = 3;
  void *params[] = {&x, &value};
  void *store = mgpuModuleGetFunction(module, "store");
  mgpuLaunchClusterKernel(store, 1, 1, 1, 2, 1, 1, 32, 1, 1, 0, nullptr, params,
                          nullptr, 0);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(x[63], 3u);
  if (onCpu()) {
    mgpuLaunchClusterKernel(store, 2, 1, 1, 2, 1, 1, 32, 1, 1, 0, nullptr,
                            params, nullptr, 0);
    expectError("cpu has no thread block clusters");
  } else {
    mgpuMemFree(x, nullptr);
  }
}

TEST_P(MgpuTest, KernelsOfAnObjectCallTheRuntime) {
  if (!onCpu())
    GTEST_SKIP() << "for objects of the cpu device";
  testing::internal::CaptureStdout();
  launch("say", nullptr, 2, 5u);
  mgpuStreamSynchronize(nullptr);
  fflush(stdout);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "said 5\nsaid 5\n");
}

TEST_P(MgpuTest, AssertInAKernelIsReportedAtTheWait_E06) {
  if (!onCpu())
    GTEST_SKIP() << "a trap would lose the GPU for the process";
  void *stream = mgpuStreamCreate();
  launch("fail", stream, 1, 1u);
  mgpuStreamSynchronize(stream);
  expectError("mgpuStreamSynchronize: kernel.mlir:7:9: assertion failed");
}

// E01: nobody waits, and the error is told all the same; the module goes.
TEST_P(MgpuTest, AssertThatNobodyWaitsForIsReported_E01) {
  if (!onCpu())
    GTEST_SKIP() << "a trap would lose the GPU for the process";
  launch("fail", mgpuStreamCreate(), 1, 1u);
  EXPECT_EQ(firstError(), "");
  mgpuModuleUnload(module);
  module = nullptr;
  expectError("mgpuModuleUnload: kernel.mlir:7:9: assertion failed");
}

// A trim cannot wait for what upstream's programs never give back.
TEST_P(MgpuTest, TrimIsRefusedWhileAStreamIsHeld_M05) {
  void *stream = mgpuStreamCreate();
  auto *x = device<uint32_t>(32);
  launch("store", stream, 1, x, 1u);
  Status refused = context.trim(0.2);
  EXPECT_EQ(refused.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_NE(std::string(refused.message())
                .find("an mgpu program holds a "
                      "stream"),
            std::string::npos)
      << refused.message();
  mgpuMemFree(x, stream);
  mgpuStreamSynchronize(stream);
  mgpuStreamDestroy(stream);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_P(MgpuTest, FirstErrorIsPrintedOnceAndLaterCallsDoNothing) {
  auto *x = shared<uint32_t>(32);
  x[0] = 1;
  testing::internal::CaptureStderr();
  mgpuMemHostUnregister(x);
  mgpuModuleGetFunction(module, "absent");
  mgpuMemset32(x, 2, 1, nullptr);
  mgpuStreamSynchronize(nullptr);
  EXPECT_EQ(mgpuMemAlloc(8, nullptr, false), nullptr);
  EXPECT_EQ(mgpuStreamCreate(), nullptr);
  std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(x[0], 1u);
  EXPECT_EQ(text.find("error: mgpuMemHostUnregister: "), 0u) << text;
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  expectError("mgpuMemHostUnregister");
}

TEST_P(MgpuTest, ErrorsAbortByDefault) {
  if (!onCpu())
    GTEST_SKIP() << "once is enough, and CUDA cannot be used after fork";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        unsetenv("GPU_ASYNC_MGPU_ON_ERROR");
        mgpuEventSynchronize(nullptr);
      },
      "error: mgpuEventSynchronize: the event is null");
}

TEST_P(MgpuTest, PolicyIsOneOfTwoWords) {
  if (!onCpu())
    GTEST_SKIP() << "once is enough, and CUDA cannot be used after fork";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        setenv("GPU_ASYNC_MGPU_ON_ERROR", "go-on", 1);
        gpuasync_mgpu_close();
        mgpuMemAlloc(256, nullptr, false); // opens the device anew
      },
      "GPU_ASYNC_MGPU_ON_ERROR: 'go-on' is none of abort, continue");
}

/// Older than the runtime's handler of exit, so it is destroyed after that ran.
struct JoinedInExit {
  std::thread thread;
  std::atomic<bool> began{false}, exits{false};
  ~JoinedInExit() {
    exits = true;
    if (thread.joinable())
      thread.join();
  }
} joinedInExit;

TEST_P(MgpuTest, OthersCallWhileTheProcessExits) {
  if (!onCpu())
    GTEST_SKIP() << "once is enough, and CUDA cannot be used after fork";
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "it waits for a thread's end in its own books, besides the "
                  "kernel's";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        unsetenv("GPU_ASYNC_MGPU_ON_ERROR");
        // What only the ended thread refers to.
        const gpuasync_test::LeftBehind meant;
        joinedInExit.thread = std::thread([] {
          const gpuasync_test::LeftBehind alsoMeant;
          joinedInExit.began = true;
          while (!joinedInExit.exits)
            std::this_thread::yield();
          mgpuMemAlloc(256, nullptr, false);
          _exit(3);
        });
        while (!joinedInExit.began)
          std::this_thread::yield();
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_P(MgpuTest, UnknownDeviceIsAnError) {
  gpuasync_mgpu_close();
  mgpuSetDefaultDevice(0);
  EXPECT_NE(mgpuStreamCreate(), nullptr);
  mgpuSetDefaultDevice(4000);
  EXPECT_EQ(mgpuStreamCreate(), nullptr);
  expectError("mgpuSetDefaultDevice: there is no device");
}

TEST_P(MgpuTest, SparseCallsAreRefusedByName) {
  EXPECT_EQ(mgpuSpMVBufferSize(0, nullptr, nullptr, nullptr, 0, nullptr), 0);
  expectError("mgpuSpMVBufferSize: cuSPARSE is not supported");
}

TEST_P(MgpuTest, SparseLtCallsAreRefusedByName) {
  mgpuCreateCuSparseLtDnMat(nullptr, 1, 1, nullptr, 0, nullptr);
  expectError("mgpuCreateCuSparseLtDnMat: cuSPARSE is not supported");
}

TEST_P(MgpuTest, TensorMapsAreRefusedOnTheCpu) {
  if (!onCpu())
    GTEST_SKIP() << "needs a chip that has them";
  struct {
    void *base, *data;
    int64_t offset, sizes[2], strides[2];
  } matrix = {nullptr, device<float>(4096), 0, {64, 64}, {64, 1}};
  int64_t box[] = {16, 16};
  mgpuTensorMapEncodeTiledMemref(2, &matrix, 7, 0, 0, 0, 0, box);
  expectError("mgpuTensorMapEncodeTiled: this device has no tensor map");
}

TEST_P(MgpuTest, TensorMapOfAMemRefLiesInDeviceMemory) {
  if (onCpu())
    GTEST_SKIP() << "has no tensor maps";
  struct {
    void *base, *data;
    int64_t offset, sizes[2], strides[2];
  } matrix = {nullptr, device<float>(4096), 0, {64, 64}, {64, 1}};
  int64_t box[] = {16, 32};
  void *map = mgpuTensorMapEncodeTiledMemref(2, &matrix, 7, 0, 0, 0, 0, box);
  ASSERT_NE(map, nullptr);
  uint64_t host[16] = {};
  mgpuMemcpy(host, map, sizeof(host), nullptr);
  mgpuStreamSynchronize(nullptr);
  EXPECT_NE(host[0], 0u);
  mgpuMemFree(map, nullptr);
  mgpuMemFree(matrix.data, nullptr);
}

TEST_P(MgpuTest, TensorMapsHaveAtMostFiveDimensions) {
  mgpuTensorMapEncodeTiledMemref(6, nullptr, 7, 0, 0, 0, 0, nullptr);
  expectError("mgpuTensorMapEncodeTiledMemref: rank 6");
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

TEST_P(MgpuTest, ManyThreadsForkAndJoin_X04) {
  std::atomic<uint32_t> wrong{0};
  std::vector<std::thread> threads;
  std::vector<uint32_t *> memory;
  for (int i = 0; i < 8; ++i)
    memory.push_back(device<uint32_t>(160));
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      for (uint32_t n = 0; n < 40; ++n)
        wrong += forkJoin(memory[static_cast<size_t>(i)], n * 8 + uint32_t(i));
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0u);
  for (uint32_t *x : memory)
    mgpuMemFree(x, nullptr);
}

TEST_P(MgpuTest, ManyThreadsShareStreamsAndEvents) {
  auto *x = shared<uint32_t>(32);
  x[0] = 0;
  void *stream = mgpuStreamCreate();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) {
        launch("mulAdd", stream, 1, x, int64_t(1), 1u, 1u);
        void *event = mgpuEventCreate();
        mgpuEventRecord(event, stream);
        if (n % 4 == 0)
          mgpuEventSynchronize(event);
        if (n % 8 == 0)
          mgpuStreamSynchronize(stream);
        mgpuEventDestroy(event);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  mgpuStreamSynchronize(stream);
  EXPECT_EQ(x[0], 400u);
  mgpuMemFree(x, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Devices, MgpuTest, testing::Values("cpu", "cuda"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

/// All that upstream 22.1's two libraries export.
TEST(MgpuSymbols, AllOfUpstreamAreExported) {
  for (const char *name : {"mgpuModuleLoad",
                           "mgpuModuleLoadJIT",
                           "mgpuModuleUnload",
                           "mgpuModuleGetFunction",
                           "mgpuLaunchKernel",
                           "mgpuLaunchClusterKernel",
                           "mgpuStreamCreate",
                           "mgpuStreamDestroy",
                           "mgpuStreamSynchronize",
                           "mgpuStreamWaitEvent",
                           "mgpuEventCreate",
                           "mgpuEventDestroy",
                           "mgpuEventSynchronize",
                           "mgpuEventRecord",
                           "mgpuMemAlloc",
                           "mgpuMemFree",
                           "mgpuMemcpy",
                           "mgpuMemset32",
                           "mgpuMemset16",
                           "mgpuMemHostRegister",
                           "mgpuMemHostRegisterMemRef",
                           "mgpuMemHostUnregister",
                           "mgpuMemHostUnregisterMemRef",
                           "mgpuMemGetDeviceMemRef1dFloat",
                           "mgpuMemGetDeviceMemRef1dInt32",
                           "mgpuSetDefaultDevice",
                           "mgpuTensorMapEncodeTiled",
                           "mgpuTensorMapEncodeTiledMemref",
                           "mgpuCreateSparseEnv",
                           "mgpuDestroySparseEnv",
                           "mgpuCreateDnVec",
                           "mgpuDestroyDnVec",
                           "mgpuCreateDnMat",
                           "mgpuDestroyDnMat",
                           "mgpuCreateCoo",
                           "mgpuCreateCooAoS",
                           "mgpuCreateCsr",
                           "mgpuCreateCsc",
                           "mgpuCreateBsr",
                           "mgpuDestroySpMat",
                           "mgpuSpMVBufferSize",
                           "mgpuSpMV",
                           "mgpuSpMMBufferSize",
                           "mgpuSpMM",
                           "mgpuSDDMMBufferSize",
                           "mgpuSDDMM",
                           "mgpuSpGEMMCreateDescr",
                           "mgpuSpGEMMDestroyDescr",
                           "mgpuSpGEMMWorkEstimation",
                           "mgpuSpGEMMCompute",
                           "mgpuSpGEMMCopy",
                           "mgpuSpMatGetSize",
                           "mgpuSetCsrPointers",
                           "mgpuCreateSparseLtEnv",
                           "mgpuDestroySparseLtEnv",
                           "mgpuCreateCuSparseLtDnMat",
                           "mgpuDestroyCuSparseLtDnMat",
                           "mgpuCusparseLtCreate2To4SpMat",
                           "mgpuDestroyCuSparseLtSpMat",
                           "mgpuCuSparseLtSpMMBufferSize",
                           "mgpuCuSparseLtSpMM"})
    EXPECT_NE(dlsym(RTLD_DEFAULT, name), nullptr) << name;
}

} // namespace
