//===- DevicesTest.cpp - Frames of several devices ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device 0 and device 1 of one frame: two contexts of the CPU device, or two
// devices of a vendor. The fake vendor libraries see that the right context is
// current at each call.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Program.h"

#include <string.h>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// A scope of these contexts.
class DevicesScope {
public:
  explicit DevicesScope(std::vector<gpuasync_context *> contexts)
      : error(gpuasync_scope_push_devices(
            contexts.data(), static_cast<uint32_t>(contexts.size()))) {}
  DevicesScope(const DevicesScope &) = delete;
  ~DevicesScope() {
    if (error.ok())
      gpuasync_scope_pop();
  }
  Status error;
};

class Devices : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    const std::string name = device() == "cpu" ? "cpu" : device() + ":1";
    Status status = Context::open(name.c_str(), second);
    if (status.code() == GPUASYNC_UNAVAILABLE && !mock)
      GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    both = std::make_unique<DevicesScope>(
        std::vector<gpuasync_context *>{context.get(), second.get()});
    ASSERT_TRUE(both->error.ok()) << both->error.message();
    program->function.deviceCount = 2;
  }
  void TearDown() override {
    both.reset();
    if (second.get()) {
      program.reset();
      closeSecond();
    }
    DeviceTest::TearDown();
  }
  void closeSecond() {
    Status status = second.close();
    EXPECT_TRUE(status.ok()) << status.message();
    gpuasync_stats stats = readStats(second);
    EXPECT_EQ(stats.streams.live, 0u);
    EXPECT_EQ(stats.events.live, 0u);
    EXPECT_EQ(stats.streams.physical, 0u);
    EXPECT_EQ(stats.events.physical, 0u);
    EXPECT_EQ(stats.modules.physical, 0u);
    EXPECT_EQ(stats.buffers.physical, 0u);
    second = Context();
  }
  static void contains(const Status &status, const char *text) {
    EXPECT_NE(strstr(status.message(), text), nullptr)
        << "'" << text << "' is not in: " << status.message();
  }
  uint64_t live(const Context &of) {
    gpuasync_stats stats = readStats(of);
    return stats.streams.live + stats.events.live + stats.buffers.live;
  }

  Context second;
  std::unique_ptr<DevicesScope> both;
  std::vector<std::unique_ptr<OwnedFragment>> kept; ///< as long as the program
};

// A value goes from one device to the other and back, ordered by events.
TEST_P(Devices, WorkIsOrderedByEvents) {
  std::vector<uint32_t> outs[2] = {std::vector<uint32_t>(64),
                                   std::vector<uint32_t>(64)};
  FrameScope frame(*program);
  auto *flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
  uint32_t *x[2] = {frame.alloc(s[0], 64, 0, 0), frame.alloc(s[1], 64, 0, 1)};
  frame.launch(s[0], Gate, 1, 1, GateParams{flag});
  frame.launch(s[0], Store, 1, 64, StoreParams{x[0], 5});
  gpuasync_event *there = frame.record(s[0]);
  frame.waitEvent(s[1], there);
  frame.copy(s[1], x[1], x[0], 256);
  frame.launch(s[1], MulAdd, 1, 64, MulAddParams{x[1], 64, 3, 1});
  gpuasync_event *back = frame.record(s[1]);
  frame.waitEvent(s[0], back);
  frame.copy(s[0], x[0], x[1], 256);
  frame.launch(s[0], MulAdd, 1, 64, MulAddParams{x[0], 64, 2, 0});
  for (int i = 0; i < 2; ++i)
    frame.copy(s[i], outs[i].data(), x[i], 256);
  openGate(flag);
  EXPECT_EQ(frame.waitHost(back), 0);
  EXPECT_EQ(frame.wait({s[0], s[1]}), 0);
  EXPECT_EQ(outs[0], std::vector<uint32_t>(64, 32));
  EXPECT_EQ(outs[1], std::vector<uint32_t>(64, 16));
  frame.destroy(there);
  frame.destroy(back);
  for (int i = 0; i < 2; ++i) {
    frame.dealloc(s[i], x[i], static_cast<uint32_t>(i));
    frame.destroy(s[i], /*idle=*/false);
  }
  frame.dealloc(nullptr, flag);
  Status status = frame.leave();
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(readStats(context).launches, 3u);
  EXPECT_EQ(readStats(second).launches, 1u);
}

// Strided copies and fills, too.
TEST_P(Devices, ArraysAreCopiedAcross) {
  std::vector<uint32_t> out(16);
  FrameScope frame(*program);
  gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
  uint32_t *from = frame.alloc(s[0], 64, 0, 0);
  uint32_t *to = frame.alloc(s[1], 16, 0, 1);
  const uint32_t seven = 7, nine = 9;
  const int64_t sizes[] = {4, 4}, wide[] = {16, 1}, narrow[] = {4, 1};
  gpuasync_memset(frame, s[0], from, &seven, 4, 64, SITE("fill"));
  gpuasync_memset_strided(frame, s[0], from, wide, sizes, 2, &nine, 4,
                          SITE("fill"));
  gpuasync_event *event = frame.record(s[0]);
  frame.waitEvent(s[1], event);
  gpuasync_memcpy_strided(frame, s[1], to, narrow, from, wide, sizes, 2, 4,
                          SITE("copy"));
  frame.copy(s[1], out.data(), to, 64);
  EXPECT_EQ(frame.wait({s[1]}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(16, 9));
  frame.dealloc(nullptr, from, 0);
  frame.dealloc(nullptr, to, 1);
}

// One device reads what the other one has yet to write to pageable memory.
TEST_P(Devices, PendingDownloadsAreSeenFromBoth) {
  std::vector<uint32_t> host(64, 1), out(64);
  FrameScope frame(*program);
  gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
  uint32_t *x[2] = {frame.alloc(s[0], 64, 0, 0), frame.alloc(s[1], 64, 0, 1)};
  frame.launch(s[1], Store, 1, 64, StoreParams{x[1], 5});
  frame.copy(s[1], host.data(), x[1], 256);
  gpuasync_event *event = frame.record(s[1]);
  frame.waitEvent(s[0], event);
  frame.copy(s[0], x[0], host.data(), 256);
  frame.copy(s[0], out.data(), x[0], 256);
  EXPECT_EQ(frame.wait({s[0], s[1]}), 0);
  EXPECT_EQ(host, std::vector<uint32_t>(64, 5));
  EXPECT_EQ(out, std::vector<uint32_t>(64, 5));
  frame.dealloc(nullptr, x[0], 0);
  frame.dealloc(nullptr, x[1], 1);
}

// Two devices' downloads to one place: the later one counts.
TEST_P(Devices, DownloadsOfBothToOnePlace_B06) {
  for (uint32_t first : {0u, 1u})
    for (bool isFill : {false, true}) {
      SCOPED_TRACE(first);
      std::vector<uint32_t> host(64);
      FrameScope frame(*program);
      gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
      uint32_t *x[2];
      for (uint32_t i = 0; i < 2; ++i) {
        x[i] = frame.alloc(s[i], 64, 0, i);
        frame.launch(s[i], Store, 1, 64, StoreParams{x[i], 10 + i});
      }
      const uint32_t last = 1 - first, value = 10 + last;
      frame.copy(s[first], host.data(), x[first], 256);
      frame.waitEvent(s[last], frame.record(s[first]));
      if (isFill)
        gpuasync_memset(frame, s[last], host.data(), &value, 4, 64,
                        SITE("fill"));
      else
        frame.copy(s[last], host.data(), x[last], 256);
      EXPECT_EQ(frame.wait({s[0], s[1]}), 0);
      EXPECT_EQ(host, std::vector<uint32_t>(64, value));
      for (uint32_t i = 0; i < 2; ++i)
        frame.dealloc(nullptr, x[i], i);
    }
}

// A token of one device covers what the other one has copied before it.
TEST_P(Devices, TokensCoverDownloadsOfBoth_B06) {
  std::vector<uint32_t> host(64);
  gpuasync_event *token = nullptr;
  uint32_t *x = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
    x = frame.alloc(s[1], 64, 0, 1);
    frame.launch(s[1], Store, 1, 64, StoreParams{x, 7});
    frame.copy(s[1], host.data(), x, 256);
    frame.waitEvent(s[0], frame.record(s[1]));
    token = gpuasync_event_export(frame, frame.record(s[0]), SITE("return"));
  }
  EXPECT_TRUE(Status(gpuasync_event_wait(token)).ok());
  EXPECT_EQ(host, std::vector<uint32_t>(64, 7));
  gpuasync_event_release(token);
  FrameScope frame(*program);
  frame.dealloc(nullptr, x, 1);
}

// M08: a registration that overlaps one that has ended is made on both devices.
TEST_P(Devices, RegistrationAcrossTheEndOfAnother_M08) {
  std::vector<char> host(8192);
  FrameScope frame(*program);
  gpuasync_host_register(frame, host.data() + 810, 172, SITE("register"));
  gpuasync_host_unregister(frame, host.data() + 810, SITE("unregister"));
  gpuasync_host_register(frame, host.data() + 975, 9, SITE("register"));
  gpuasync_host_unregister(frame, host.data() + 975, SITE("unregister"));
  gpuasync_host_register(frame, host.data() + 975, 99, SITE("register"));
  EXPECT_FALSE(frame.failed());
  if (mock)
    EXPECT_EQ(mock->mock_live("registration"), 1u);
  gpuasync_host_unregister(frame, host.data() + 975, SITE("unregister"));
}

TEST_P(Devices, RegisteredMemoryIsEachDevices) {
  std::vector<uint32_t> host(4096, 3), out(64);
  FrameScope frame(*program);
  gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
  gpuasync_host_register(frame, host.data(), 16384, SITE("register"));
  for (int i = 0; i < 2; ++i)
    frame.launch(s[i], MulAdd, 1, 64,
                 MulAddParams{host.data() + 64 * i, 64, 2, 1});
  EXPECT_EQ(frame.wait({s[0], s[1]}), 0);
  EXPECT_EQ(host[0], 7u);
  EXPECT_EQ(host[127], 7u);
  EXPECT_EQ(host[128], 3u);
  if (mock)
    EXPECT_EQ(mock->mock_live("registration"), 1u);
  gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
  Status status = frame.leave();
  EXPECT_TRUE(status.ok()) << status.message();
  // The memory is the caller's again: each device has to have let go of it.
  EXPECT_TRUE(context.trim().ok());
  if (mock)
    EXPECT_EQ(mock->mock_live("registration"), 1u);
  EXPECT_TRUE(second.trim().ok());
  if (mock)
    EXPECT_EQ(mock->mock_live("registration"), 0u);
}

// Each device has its own copies.
TEST_P(Devices, ConstantsAndResidents) {
  std::vector<uint32_t> data(64, 11), resident(64, 12);
  gpuasync_image image = {GPUASYNC_IMAGE_DATA, 0,   "",
                          data.data(),         256, {0xdead, 1}};
  gpuasync_module modules[2] = {program->module, {"w", nullptr, &image, 0, 1}};
  const uint32_t indices[] = {0, 1};
  program->program.modules = modules;
  program->program.moduleCount = 2;
  program->function.modules = indices;
  program->function.moduleCount = 2;
  {
    FrameScope frame(*program);
    const void *constants[2], *copies[2];
    for (uint32_t i = 0; i < 2; ++i) {
      constants[i] = gpuasync_constant(frame, i, 1, SITE("constant"));
      copies[i] =
          gpuasync_resident(frame, i, resident.data(), 256, SITE("resident"));
      std::vector<uint32_t> outs[2] = {std::vector<uint32_t>(64),
                                       std::vector<uint32_t>(64)};
      gpuasync_stream *stream = frame.stream(i);
      frame.copy(stream, outs[0].data(), constants[i], 256);
      frame.copy(stream, outs[1].data(), copies[i], 256);
      EXPECT_EQ(frame.wait({stream}), 0);
      EXPECT_EQ(outs[0], data);
      EXPECT_EQ(outs[1], resident);
    }
    EXPECT_EQ(constants[0] == constants[1], onCpu());
    EXPECT_EQ(copies[0] == copies[1], onCpu());
  }
  EXPECT_EQ(readStats(second).residentUploads, onCpu() ? 0u : 1u);
  EXPECT_EQ(readStats(context).residentUploads, onCpu() ? 0u : 1u);
  // Before the tables go.
  gpuasync_status_free(gpuasync_program_release(&program->program));
}

TEST_P(Devices, LibraryCallOnBoth) {
  FrameScope frame(*program);
  gpuasync_stream *s[2] = {frame.stream(1), frame.stream(0)};
  const gpuasync_call *call =
      gpuasync_call_begin(frame, s, 2, SITE("library.call"));
  ASSERT_NE(call, nullptr);
  ASSERT_EQ(call->count, 2u);
  const Context *contexts[] = {&second, &context};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(call->streams[i], gpuasync_context_stream_native(s[i]));
    std::string name = call->driver;
    if (name != "cpu")
      name += ":" + std::to_string(call->ordinals[i]);
    EXPECT_EQ(name, gpuasync_context_device(contexts[i]->get()));
  }
  EXPECT_EQ(call->stream, call->streams[0]);
  EXPECT_EQ(call->ordinal, call->ordinals[0]);
  gpuasync_call_end(frame, 0, SITE("library.call"));
  // The stream's device is current after another one was.
  uint32_t *x = frame.alloc(nullptr, 64, 0, 0);
  frame.launch(s[1], Store, 1, 64, StoreParams{x, 1});
  EXPECT_EQ(frame.wait({s[0], s[1]}), 0);
  frame.dealloc(nullptr, x, 0);
}

// A region of several devices is played on its streams.
TEST_P(Devices, RegionsRunOnStreams) {
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<uint32_t> out(64);
    FrameScope frame(*program);
    gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
    uint32_t *x[2] = {frame.alloc(nullptr, 64, 0, 0),
                      frame.alloc(nullptr, 64, 0, 1)};
    gpuasync_region_begin(frame, SITE("region"));
    frame.launch(s[0], Store, 1, 64, StoreParams{x[0], 5});
    gpuasync_event *event = frame.record(s[0]);
    frame.waitEvent(s[1], event);
    frame.copy(s[1], x[1], x[0], 256);
    frame.launch(s[1], MulAdd, 1, 64, MulAddParams{x[1], 64, 3, 1});
    gpuasync_region_end(frame, SITE("region"));
    frame.copy(s[1], out.data(), x[1], 256);
    EXPECT_EQ(frame.wait({s[0], s[1]}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(64, 16));
    for (uint32_t i = 0; i < 2; ++i)
      frame.dealloc(nullptr, x[i], i);
  }
  EXPECT_EQ(readStats(context).graphs.created, 0u);
}

// A null lane gets a stream of the lane's device.
TEST_P(Devices, FragmentsHaveLanesOfBoth) {
  std::vector<uint32_t> out(64);
  FrameScope frame(*program);
  gpuasync_stream *outer = frame.stream(0);
  uint32_t *x = frame.alloc(nullptr, 64, 0, 0);
  uint32_t *y = frame.alloc(nullptr, 64, 0, 1);
  gpuasync_region_begin(frame, SITE("region"));
  gpuasync_stream *inner = frame.stream(1);
  frame.launch(inner, Store, 1, 64, StoreParams{y, 6});
  gpuasync_event *event = frame.record(inner);
  frame.waitEvent(outer, event);
  frame.launch(outer, Store, 1, 64, StoreParams{x, 5});
  frame.destroy(event);
  frame.destroy(inner, /*idle=*/false);
  gpuasync_region_end(frame, SITE("region"));
  frame.copy(outer, out.data(), y, 256);
  EXPECT_EQ(frame.wait({outer}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 6));
  frame.dealloc(nullptr, x, 0);
  frame.dealloc(nullptr, y, 1);
  EXPECT_EQ(frame.leave().message(), std::string());
  EXPECT_EQ(readStats(context).launches, 1u);
  EXPECT_EQ(readStats(second).launches, 1u);
}

// A frame inside leaves the context that was current before.
TEST_P(Devices, FramesInside) {
  TestProgram another(TestProgram::All, "another");
  std::vector<uint32_t> out(64);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream(1);
  uint32_t *x = frame.alloc(stream, 64, 0, 1);
  {
    FrameScope inner(another);
    gpuasync_stream *its = inner.stream();
    uint32_t *y = inner.alloc(its, 64);
    inner.launch(its, Store, 1, 64, StoreParams{y, 1});
    EXPECT_EQ(inner.wait({its}), 0);
    inner.dealloc(nullptr, y);
  }
  frame.launch(stream, Store, 1, 64, StoreParams{x, 8});
  frame.copy(stream, out.data(), x, 256);
  EXPECT_EQ(frame.wait({stream}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 8));
  frame.dealloc(nullptr, x, 1);
}

TEST_P(Devices, TokensOfTheSecondDevice) {
  gpuasync_event *token = nullptr;
  uint32_t *x = nullptr;
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream(1);
    x = frame.alloc(stream, 64, 0, 1);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
    token = gpuasync_event_export(frame, frame.record(stream), SITE("return"));
  }
  EXPECT_TRUE(Status(gpuasync_event_wait(token)).ok());
  std::vector<uint32_t> out(64);
  FrameScope frame(*program);
  token = gpuasync_event_import(frame, token, SITE("call"));
  gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
  uint32_t *y = frame.alloc(s[0], 64, 0, 0);
  frame.waitEvent(s[0], token);
  frame.copy(s[0], y, x, 256);
  frame.copy(s[0], out.data(), y, 256);
  EXPECT_EQ(frame.wait({s[0]}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 5));
  frame.destroy(token);
  frame.dealloc(nullptr, x, 1);
  frame.dealloc(nullptr, y, 0);
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

TEST_P(Devices, LeavingWithAnErrorGivesBackBoth) {
  std::thread opener;
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 16, GPUASYNC_ALLOC_HOST_SHARED);
    flag[0] = flag[8] = 0;
  }
  const uint64_t before[2] = {live(context), live(second)};
  {
    std::vector<uint32_t> out(64);
    FrameScope frame(*program);
    gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
    uint32_t *x[2] = {frame.alloc(s[0], 64, 0, 0), frame.alloc(s[1], 64, 0, 1)};
    frame.launch(s[1], Meet, 1, 1, MeetParams{flag, flag + 8});
    frame.launch(s[1], Store, 1, 64, StoreParams{x[1], 9});
    frame.copy(s[1], out.data(), x[1], 256);
    frame.waitEvent(s[0], frame.record(s[1]));
    frame.copy(s[0], x[0], x[1], 256);
    frame.launch(s[0], Store, -1, 64, StoreParams{x[0], 9});
    EXPECT_TRUE(frame.failed());
    opener = std::thread([flag] {
      while (!isSet(flag))
        std::this_thread::yield();
      openGate(flag + 8);
    });
    Status status = frame.leave(); // waits for both
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, "store: ");
  }
  opener.join();
  EXPECT_EQ(live(context), before[0]);
  EXPECT_EQ(live(second), before[1]);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

// The wait of the other device's stream names what has not ended.
TEST_P(Devices, TimeoutOnTheSecondDevice) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  gpuasync_set_timeout(0.05);
  {
    FrameScope frame(*program);
    gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
    uint32_t *x = frame.alloc(s[1], 64, 0, 1);
    frame.launch(s[1], Gate, 1, 1, GateParams{flag});
    frame.launch(s[1], Store, 1, 64, StoreParams{x, 1});
    EXPECT_EQ(frame.wait({s[0], s[1]}), 1);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_TIMEOUT));
    contains(status, "timed out after 0.05 s; unfinished: ");
  }
  gpuasync_set_timeout(-1);
  openGate(flag);
  EXPECT_TRUE(context.waitAbandoned().ok());
  EXPECT_TRUE(second.waitAbandoned().ok());
  EXPECT_EQ(readStats(second).buffers.live, 0u);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
}

TEST_P(Devices, LeaksAreListedWithTheirDevice) {
  void *leak = nullptr;
  {
    FrameScope frame(*program);
    leak = frame.alloc(nullptr, 64, 0, 1);
  }
  auto list = [](const Context &of) {
    std::vector<std::string> lines;
    gpuasync_leaks_list(
        of.get(),
        [](void *user, const char *line) {
          static_cast<std::vector<std::string> *>(user)->push_back(line);
        },
        &lines);
    return lines;
  };
  EXPECT_EQ(list(context).size(), 0u);
  ASSERT_EQ(list(second).size(), 1u);
  EXPECT_NE(list(second)[0].find("256 bytes"), std::string::npos)
      << list(second)[0];
  FrameScope frame(*program);
  frame.dealloc(nullptr, leak, 1);
}

// Work that waits for another context's outlives the frame of both.
TEST_P(Devices, ContextsCloseInAnyOrder) {
  uint32_t *flag = nullptr;
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
    gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
    uint32_t *x = frame.alloc(s[1], 64, 0, 1);
    frame.launch(s[0], Gate, 1, 1, GateParams{flag});
    gpuasync_event *event = frame.record(s[0]);
    frame.launch(s[1], Store, 1, 64, StoreParams{x, 1});
    frame.waitEvent(s[1], event);
    frame.launch(s[1], Store, 1, 64, StoreParams{x, 2});
    frame.dealloc(s[1], x, 1);
    openGate(flag);
    EXPECT_EQ(frame.wait({s[0]}), 0);
    frame.dealloc(nullptr, flag);
  }
  both.reset();
  scope.reset();
  program.reset();
  EXPECT_TRUE(context.close().ok());
  EXPECT_TRUE(second.close().ok());
}

// A stream that one of the other device has waited for is idle with that one,
// but for what it has been given since. The other context may be gone later.
TEST_P(Devices, CoversAcross) {
  auto *flag = static_cast<uint32_t *>(nullptr);
  gpuasync_stream *earlier[2];
  {
    FrameScope frame(*program);
    flag = frame.alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
    *flag = 0;
  }
  for (uint32_t from : {1u, 0u}) {
    FrameScope frame(*program);
    earlier[from] = frame.stream(from);
    gpuasync_stream *later = frame.stream(1 - from);
    uint32_t *y = frame.alloc(earlier[from], 64, 0, from);
    frame.launch(earlier[from], Store, 1, 64, StoreParams{y, 1});
    frame.dealloc(earlier[from], y, from);
    frame.waitEvent(later, frame.record(earlier[from]));
    EXPECT_EQ(frame.wait({later}), 0);
    if (from == 0) // the flag is that device's
      frame.launch(earlier[from], Gate, 1, 1, GateParams{flag});
    frame.destroy(later);
    frame.destroy(earlier[from], /*idle=*/false);
    Status status = frame.leave();
    EXPECT_TRUE(status.ok()) << status.message();
  }
  auto get = [&](uint32_t device) {
    std::vector<gpuasync_stream *> streams;
    FrameScope frame(*program);
    for (int i = 0; i < 30; ++i)
      streams.push_back(frame.stream(device));
    for (gpuasync_stream *stream : streams)
      frame.destroy(stream);
    return std::count(streams.begin(), streams.end(), earlier[device]);
  };
  EXPECT_EQ(get(0), 0);
  EXPECT_EQ(get(1), 1);
  openGate(flag); // unloading modules waits for kernels
  both.reset();
  program->function.deviceCount = 1;
  closeSecond();
  Status trimmed(gpuasync_context_trim(context.get(), -1));
  EXPECT_TRUE(trimmed.ok()) << trimmed.message();
  EXPECT_EQ(get(0), 1);
  FrameScope frame(*program);
  frame.dealloc(nullptr, flag);
  for (int i = 0; i < 3; ++i) {
    gpuasync_stream *own = frame.stream();
    uint32_t *y = frame.alloc(own, 64);
    frame.launch(own, Store, 1, 64, StoreParams{y, 1});
    frame.dealloc(own, y);
    frame.destroy(own, /*idle=*/false);
  }
}

// An assert on one device is told to who waits for it on the other.
TEST_P(Devices, ErrorsCrossByEvents_E02) {
  if (!onCpu())
    GTEST_SKIP() << "a fault of a GPU is final: OneDeviceIsLost";
  FrameScope frame(*program);
  gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
  frame.launch(s[1], Fail, 1, 1, FailParams{1});
  frame.waitEvent(s[0], frame.record(s[1]));
  EXPECT_EQ(frame.wait({s[0]}), 1);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_KERNEL_ASSERT));
}

// Run in a second process only: the loss of device 1 is final there.
TEST(DevicesBody, DISABLED_OneIsLost) {
  const std::string device = getenv("GPU_ASYNC_TEST_DEVICE");
  Context first, second;
  ASSERT_TRUE(Context::open((device + ":0").c_str(), first).ok());
  ASSERT_TRUE(Context::open((device + ":1").c_str(), second).ok());
  TestProgram program;
  {
    DevicesScope scope({first.get(), second.get()});
    program.function.deviceCount = 2;
    {
      FrameScope frame(program);
      gpuasync_stream *s[2] = {frame.stream(0), frame.stream(1)};
      uint32_t *x = frame.alloc(s[0], 64, 0, 0);
      frame.launch(s[0], Store, 1, 64, StoreParams{x, 1});
      frame.launch(s[1], Fail, 1, 1, FailParams{1});
      EXPECT_EQ(frame.wait({s[0], s[1]}), 1);
      EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_DEVICE_LOST));
    }
    FrameScope frame(program);
    EXPECT_FALSE(frame.entered);
    EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_DEVICE_LOST));
  }
  // Device 0 goes on.
  {
    ContextScope scope(first);
    program.function.deviceCount = 1;
    std::vector<uint32_t> out(64);
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 4});
    frame.copy(stream, out.data(), x, 256);
    EXPECT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(out, std::vector<uint32_t>(64, 4));
    frame.dealloc(nullptr, x);
  }
  gpuasync_status_free(gpuasync_program_release(&program.program));
  EXPECT_TRUE(first.close().ok());
  (void)second.close();
}

TEST_P(Devices, OneDeviceIsLost_E04) {
  if (onCpu())
    GTEST_SKIP() << "the cpu device is never lost";
  EXPECT_EQ(runBody(device(), "--gtest_filter=DevicesBody.DISABLED_OneIsLost"),
            0);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_P(Devices, NumbersAreChecked) {
  {
    FrameScope frame(*program);
    EXPECT_EQ(frame.stream(2), nullptr);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, "the frame has 2 devices, there is no device 2");
  }
  {
    FrameScope frame(*program);
    EXPECT_EQ(frame.alloc(frame.stream(1), 64, 0, 0), nullptr);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, "the stream is not of device 0, which has the memory");
  }
  uint32_t *x = nullptr;
  {
    FrameScope frame(*program);
    x = frame.alloc(nullptr, 64, 0, 1);
  }
  {
    FrameScope frame(*program);
    frame.dealloc(nullptr, x, 0);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    contains(status, "was not allocated by this runtime in this context");
  }
  FrameScope frame(*program);
  frame.dealloc(nullptr, x, 1);
}

TEST_P(Devices, LanesAreChecked) {
  auto refused = [&](uint32_t number, uint32_t device) {
    uint32_t word = 0;
    const StoreParams params = {&word, 1};
    auto owned = std::make_unique<OwnedFragment>();
    owned->launch(0, program->launchSites[Store], makeLaunch(1, 1, params), {});
    owned->fragment.site = SITE("region");
    owned->laneDevices = {number};
    owned->link();
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream(device);
    ::gpuasync_region_run(frame, &owned->fragment, &stream,
                          owned->block.data());
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    kept.push_back(std::move(owned));
    return std::string(status.message());
  };
  EXPECT_NE(refused(0, 1).find("lane 0 of a fragment is on device 0, and its "
                               "stream is not"),
            std::string::npos);
  EXPECT_NE(refused(1, 0).find("lane 0 of a fragment is on device 1, and its "
                               "stream is not"),
            std::string::npos);
  EXPECT_NE(refused(2, 0).find("there is no device 2"), std::string::npos);
  program->function.deviceCount = 1;
  EXPECT_NE(refused(1, 0).find("the frame has 1 device, there is no device 1"),
            std::string::npos);
}

TEST_P(Devices, ScopesAreChecked) {
  auto refused = [](std::vector<gpuasync_context *> contexts) {
    DevicesScope scope(contexts);
    EXPECT_EQ(scope.error.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    return std::string(scope.error.message());
  };
  EXPECT_EQ(refused({context.get(), context.get()}),
            "devices 0 and 1 of the scope are one context");
  gpuasync_context *none = nullptr;
  EXPECT_STREQ(Status(gpuasync_scope_push_devices(&none, 0)).message(),
               "a scope has 1 to 16 devices, not 0");
  EXPECT_EQ(refused(std::vector<gpuasync_context *>(17, context.get())),
            "a scope has 1 to 16 devices, not 17");
  EXPECT_EQ(refused({context.get(), nullptr}),
            "gpuasync_scope_push_devices: null argument");
  if (device() != "cpu") {
    Context host;
    ASSERT_TRUE(Context::open("cpu", host).ok());
    EXPECT_EQ(refused({context.get(), host.get()}),
              "the devices of a scope are of one vendor, but device 0 is " +
                  std::string(gpuasync_context_device(context.get())) +
                  " and device 1 is cpu");
    EXPECT_TRUE(host.close().ok());
  }
  ContextScope one(context);
  FrameScope frame(*program);
  Status status = frame.leave();
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  contains(status, "the function uses 2 devices, the thread's scope has 1");
}

// A function of fewer devices takes the first ones.
TEST_P(Devices, FunctionOfOneDevice) {
  program->function.deviceCount = 0;
  FrameScope frame(*program);
  EXPECT_NE(frame.stream(), nullptr);
  EXPECT_EQ(frame.stream(1), nullptr);
  contains(frame.leave(), "the frame has 1 device, there is no device 1");
  EXPECT_EQ(readStats(second).modules.created, 0u);
}

INSTANTIATE_OVER_DEVICES(Devices);

} // namespace
