//===- Fixture.h - One suite over all devices -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test case runs on each driver that is there; the others are skipped with
// the reason. Order is tested by gates that the test opens, never by sleeping.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_FIXTURE_H
#define GPUASYNC_TEST_RUNTIME_FIXTURE_H

#include "Kernels.h"
#include "gpuasync/Context.h"
#include "gpuasync/Stats.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gpuasync_test {

using gpuasync::Context;
using gpuasync::ContextScope;
using gpuasync::Status;

/// The static site of an op at this line.
#define SITE(op)                                                               \
  ([]() -> const gpuasync_site * {                                             \
    static const gpuasync_site site = {"test.mlir", op, __LINE__, 3,           \
                                       UINT32_MAX,  0,  0,        0};          \
    return &site;                                                              \
  }())

/// One frame, left at the end of its scope unless left before.
class FrameScope {
public:
  explicit FrameScope(TestProgram &program) : program(program) {
    entered = gpuasync_frame_enter(&frame, &program.function) == 0;
  }
  FrameScope(const FrameScope &) = delete;
  ~FrameScope() {
    if (open)
      EXPECT_EQ(leave().message(), std::string());
  }
  Status leave() {
    open = false;
    return Status(gpuasync_frame_leave(&frame));
  }
  operator gpuasync_frame *() { return &frame; }
  bool failed() const { return frame.failed; }

  gpuasync_stream *stream() {
    return gpuasync_stream_create(&frame, SITE("stream.create"));
  }
  void destroy(gpuasync_stream *stream, bool idle = true) {
    gpuasync_stream_destroy(&frame, stream, idle ? GPUASYNC_STREAM_IDLE : 0,
                            SITE("stream.destroy"));
  }
  template <typename Params>
  void launch(gpuasync_stream *stream, KernelIndex kernel, int64_t grid,
              int64_t block, const Params &params, uint32_t shared = 0) {
    alignas(16) Params aligned = params;
    gpuasync_block launch = makeLaunch(grid, block, aligned, shared);
    launch.paramBytes = program.kernels[kernel].paramBytes;
    gpuasync_launch(&frame, stream, &program.launchSites[kernel], &launch);
  }
  template <typename T = uint32_t>
  T *alloc(gpuasync_stream *stream, uint64_t count, uint32_t flags = 0) {
    return static_cast<T *>(gpuasync_alloc(&frame, stream, count * sizeof(T),
                                           flags, SITE("alloc")));
  }
  void dealloc(gpuasync_stream *stream, void *pointer) {
    gpuasync_dealloc(&frame, stream, pointer, SITE("dealloc"));
  }
  void copy(gpuasync_stream *stream, void *to, const void *from,
            uint64_t bytes) {
    gpuasync_memcpy(&frame, stream, to, from, bytes, SITE("memcpy"));
  }
  int32_t wait(std::vector<gpuasync_stream *> streams) {
    return gpuasync_stream_synchronize(&frame, streams.data(),
                                       static_cast<uint32_t>(streams.size()),
                                       SITE("synchronize"));
  }
  gpuasync_event *record(gpuasync_stream *stream) {
    return gpuasync_event_record(&frame, stream, SITE("record"));
  }
  void waitEvent(gpuasync_stream *stream, gpuasync_event *event) {
    gpuasync_stream_wait(&frame, stream, event, SITE("wait"));
  }
  int32_t waitHost(gpuasync_event *event) {
    return gpuasync_event_synchronize(&frame, &event, 1,
                                      SITE("event.synchronize"));
  }
  void destroy(gpuasync_event *event) {
    gpuasync_event_destroy(&frame, event, SITE("event.destroy"));
  }

  TestProgram &program;
  gpuasync_frame frame;
  bool entered = false;

private:
  bool open = true;
};

/// Host-shared words that kernels spin on and the test sets.
inline void openGate(uint32_t *flag) {
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}
inline bool isSet(const uint32_t *flag) {
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

inline gpuasync_stats readStats(const Context &context) {
  gpuasync_stats stats;
  gpuasync_stats_read(context.get(), &stats);
  return stats;
}

/// Opens a context of its own on the parameter's device.
class DeviceTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    Status status = Context::open(GetParam(), context);
    if (status.code() == GPUASYNC_UNAVAILABLE)
      GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    scope = std::make_unique<ContextScope>(context);
  }
  /// Closes the context and checks that nothing of ours is left (S10).
  void TearDown() override {
    scope.reset();
    if (!context.get())
      return;
    program.reset();
    if (!expectLoss) {
      Status status = context.close();
      EXPECT_TRUE(status.ok()) << status.message();
      gpuasync_stats stats = readStats(context);
      EXPECT_EQ(stats.streams.live, 0u);
      EXPECT_EQ(stats.events.live, 0u);
      EXPECT_EQ(stats.modules.live, 0u);
      EXPECT_EQ(stats.streams.physical, 0u);
      EXPECT_EQ(stats.events.physical, 0u);
      EXPECT_EQ(stats.modules.physical, 0u);
      EXPECT_EQ(stats.buffers.physical, 0u);
    }
    context = Context();
  }
  bool onCpu() const { return std::string(GetParam()) == "cpu"; }

  std::unique_ptr<TestProgram> program = std::make_unique<TestProgram>();
  Context context;
  std::unique_ptr<ContextScope> scope;
  bool expectLoss = false;
};

#define INSTANTIATE_OVER_DEVICES(Suite)                                        \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Devices, Suite, testing::Values("cpu", "cuda"),                          \
      [](const testing::TestParamInfo<const char *> &info) {                   \
        return std::string(info.param);                                        \
      })

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_FIXTURE_H
