//===- Fixture.h - One suite over all devices -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A test case runs on each driver that is there; the others are skipped with
// the reason. Order is tested by gates that the test opens, never by sleeping.
//===----------------------------------------------------------------------===//

#ifndef GPUASYNC_TEST_RUNTIME_FIXTURE_H
#define GPUASYNC_TEST_RUNTIME_FIXTURE_H

#include "Expectations.h"
#include "FragmentBuilder.h"
#include "Kernels.h"
#include "gpuasync/Context.h"
#include "gpuasync/Stats.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define TEST_FINDS_LEAKS 1
#endif
#endif

namespace gpuasync_test {

using gpuasync::Context;
using gpuasync::ContextScope;
using gpuasync::Status;

/// While one lives, what this thread allocates is no leak: contexts that are
/// closed while their work goes on leave it behind.
class LeftBehind {
public:
#ifdef TEST_FINDS_LEAKS
  LeftBehind() { __lsan_disable(); }
  ~LeftBehind() { __lsan_enable(); }
#else
  LeftBehind() {}
#endif
  LeftBehind(const LeftBehind &) = delete;
};

/// One frame, left at the end of its scope unless left before.
class FrameScope {
public:
  explicit FrameScope(TestProgram &program) : program(program) {
    outer = setMidFrame(0);
    entered = gpuasync_frame_enter(&frame, &program.function) == 0;
    setMidFrame(1);
  }
  FrameScope(const FrameScope &) = delete;
  ~FrameScope() {
    // A test that failed with its gates closed would wait for them here.
    if (testing::Test::HasFailure())
      for (uint32_t *gate : gates)
        __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    if (open)
      EXPECT_EQ(leave().message(), std::string());
  }
  Status leave() {
    builder.flush();
    open = false;
    Status status(gpuasync_frame_leave(&frame));
    setMidFrame(outer);
    return status;
  }
  /// The frame for calls that no fragment holds.
  operator gpuasync_frame *() {
    builder.flush();
    return &frame;
  }
  bool failed() const { return frame.failed; }

  gpuasync_stream *stream(uint32_t device = 0) {
    return builder.create(device, SITE("stream.create"));
  }
  void destroy(gpuasync_stream *stream, bool idle = true) {
    builder.destroy(stream, idle ? GPUASYNC_STREAM_IDLE : 0,
                    SITE("stream.destroy"));
  }
  template <typename Params>
  void launch(gpuasync_stream *stream, KernelIndex kernel, int64_t grid,
              int64_t block, const Params &params, uint32_t shared = 0) {
    if constexpr (std::is_same_v<Params, detail::GateParams>)
      if (kernel == Gate)
        gates.push_back(params.flag);
    alignas(16) Params aligned = params;
    gpuasync_launch_config launch = makeLaunch(grid, block, aligned, shared);
    launch.paramBytes = program.kernels[kernel].paramBytes;
    if (builder.isActive())
      return builder.launch(stream, program.launchSites[kernel], launch);
    gpuasync_launch(&frame, stream, program.launchSites[kernel], &launch);
  }
  template <typename T = uint32_t>
  T *alloc(gpuasync_stream *stream, uint64_t count, uint32_t flags = 0,
           uint32_t device = 0) {
    builder.flush();
    return static_cast<T *>(gpuasync_alloc(
        &frame, device, stream, count * sizeof(T), flags, SITE("alloc")));
  }
  void dealloc(gpuasync_stream *stream, void *pointer, uint32_t device = 0) {
    gates.erase(std::remove(gates.begin(), gates.end(), pointer), gates.end());
    builder.flush();
    gpuasync_dealloc(&frame, device, stream, pointer, SITE("dealloc"));
  }
  void copy(gpuasync_stream *stream, void *to, const void *from,
            uint64_t bytes) {
    if (builder.isActive())
      return builder.copy(stream, to, from, bytes, SITE("memcpy"));
    gpuasync_memcpy(&frame, stream, to, from, bytes, SITE("memcpy"));
  }
  int32_t wait(std::vector<gpuasync_stream *> streams) {
    builder.flush();
    return gpuasync_stream_synchronize(&frame, streams.data(),
                                       static_cast<uint32_t>(streams.size()),
                                       SITE("synchronize"));
  }
  int32_t query(gpuasync_stream *stream) {
    builder.flush();
    return gpuasync_stream_query(&frame, stream, SITE("query"));
  }
  gpuasync_event *record(gpuasync_stream *stream) {
    return builder.record(stream, SITE("record"));
  }
  void waitEvent(gpuasync_stream *stream, gpuasync_event *event) {
    builder.wait(stream, event, SITE("wait"));
  }
  int32_t waitHost(gpuasync_event *event) {
    event = builder.real(event);
    builder.flush();
    return gpuasync_event_synchronize(&frame, &event, 1,
                                      SITE("event.synchronize"));
  }
  void destroy(gpuasync_event *event) {
    builder.destroy(event, SITE("event.destroy"));
  }

  TestProgram &program;
  gpuasync_frame frame;
  FragmentBuilder builder{frame};
  bool entered = false;

private:
  /// Tells the fake vendor libraries that this thread is inside a frame (B02).
  static int setMidFrame(int inside) {
    int before = 0;
    for (const char *device : testedDevices())
      if (Mock *mock = mockOf(device))
        before = mock->mock_mid_frame(inside);
    return before;
  }

  int outer = 0;
  bool open = true;
  std::vector<uint32_t *> gates;
};

/// Calls of the runtime that become a part of a fragment in a region.
inline void gpuasync_region_begin(FrameScope &frame, uint32_t site) {
  frame.builder.begin(site);
}
inline void gpuasync_region_end(FrameScope &frame, uint32_t site) {
  frame.builder.end(site);
}
inline void gpuasync_launch(FrameScope &frame, gpuasync_stream *stream,
                            uint32_t site,
                            const gpuasync_launch_config *block) {
  if (frame.builder.isActive())
    return frame.builder.launch(stream, site, *block);
  gpuasync_launch(&frame.frame, stream, site, block);
}
inline void gpuasync_memcpy(FrameScope &frame, gpuasync_stream *stream,
                            void *to, const void *from, uint64_t bytes,
                            uint32_t site) {
  if (frame.builder.isActive())
    return frame.builder.copy(stream, to, from, bytes, site);
  gpuasync_memcpy(&frame.frame, stream, to, from, bytes, site);
}
inline void gpuasync_memcpy_strided(FrameScope &frame, gpuasync_stream *stream,
                                    void *to, const int64_t *toStrides,
                                    const void *from,
                                    const int64_t *fromStrides,
                                    const int64_t *sizes, uint32_t rank,
                                    uint32_t elementBytes, uint32_t site) {
  if (frame.builder.isActive())
    return frame.builder.copyStrided(stream, to, toStrides, from, fromStrides,
                                     sizes, rank, elementBytes, site);
  gpuasync_memcpy_strided(&frame.frame, stream, to, toStrides, from,
                          fromStrides, sizes, rank, elementBytes, site);
}
inline void gpuasync_memset(FrameScope &frame, gpuasync_stream *stream,
                            void *to, const void *pattern,
                            uint32_t elementBytes, uint64_t count,
                            uint32_t site) {
  if (frame.builder.isActive())
    return frame.builder.fill(stream, to, pattern, elementBytes, count, site);
  gpuasync_memset(&frame.frame, stream, to, pattern, elementBytes, count, site);
}
inline void gpuasync_memset_strided(FrameScope &frame, gpuasync_stream *stream,
                                    void *to, const int64_t *strides,
                                    const int64_t *sizes, uint32_t rank,
                                    const void *pattern, uint32_t elementBytes,
                                    uint32_t site) {
  if (frame.builder.isActive())
    return frame.builder.fillStrided(stream, to, strides, sizes, rank, pattern,
                                     elementBytes, site);
  gpuasync_memset_strided(&frame.frame, stream, to, strides, sizes, rank,
                          pattern, elementBytes, site);
}
inline void gpuasync_call_replayable(
    FrameScope &frame, gpuasync_stream *const *streams, uint32_t count,
    int32_t (*function)(const gpuasync_call *call, const void *arguments),
    const void *arguments, uint32_t bytes, uint32_t site) {
  if (frame.builder.isActive() && count == 1)
    return frame.builder.call(*streams, function, arguments, bytes, site);
  gpuasync_call_replayable(&frame.frame, streams, count, function, arguments,
                           bytes, site);
}
inline gpuasync_event *
gpuasync_event_export(FrameScope &frame, gpuasync_event *event, uint32_t site) {
  event = frame.builder.real(event);
  frame.builder.flush();
  return gpuasync_event_export(&frame.frame, event, site);
}

/// Host-shared words that kernels spin on and the test sets.
inline void openGate(uint32_t *flag) {
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}
inline bool isSet(const uint32_t *flag) {
  return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/// A thread that says whether it waits for something: what it does has to be
/// over, or to be held up, before a test goes on.
class Watched {
public:
  template <typename Body>
  explicit Watched(Body body)
      : thread([this, body] {
          id = static_cast<int>(syscall(SYS_gettid));
          body();
          over = true;
        }) {}
  Watched(const Watched &) = delete;
  ~Watched() { join(); }
  void join() {
    if (thread.joinable())
      thread.join();
  }
  bool isOver() const { return over; }
  /// Until it is over, or sleeps, and not only for a moment, as for a mutex. A
  /// thread that the process' exit() has ended is no longer there.
  void settle() const {
    for (int looks = 0; !over && looks < 50; ++looks) {
      if (!isAsleepOrEnded())
        looks = 0;
      std::this_thread::yield();
    }
  }

private:
  bool isAsleepOrEnded() const {
    if (!id)
      return false;
    char path[64], state = 'R';
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id.load());
    FILE *file = fopen(path, "r");
    if (!file)
      return errno == ENOENT;
    // "12 (name) S ..."; the name has no parenthesis of its own.
    errno = 0;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1 && errno == ESRCH)
      state = 'X';
    fclose(file);
    return state == 'S' || state == 'X' || state == 'Z';
  }

  std::atomic<int> id{0};
  std::atomic<bool> over{false};
  std::thread thread;
};

inline gpuasync_stats readStats(const Context &context) {
  gpuasync_stats stats;
  EXPECT_EQ(gpuasync_stats_read(context.get(), &stats), nullptr);
  return stats;
}

/// Opens a context of its own on the parameter's device.
class DeviceTest : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    for (const Expectation &gap :
         expectations(GetParam(), Expected::Unsupported))
      GTEST_SKIP() << gap.reason;
    if (mock)
      mock->mock_reset();
    Status status = Context::open(device().c_str(), context);
    if (status.code() == GPUASYNC_UNAVAILABLE && !mock)
      GTEST_SKIP() << status.message();
    ASSERT_TRUE(status.ok()) << status.message();
    scope = std::make_unique<ContextScope>(context);
    for (const Expectation &failure :
         expectations(GetParam(), Expected::Failure))
      mustFail = std::make_unique<MustFail>(failure.reason);
  }
  /// Closes the context and checks that nothing of ours is left (S10), and that
  /// the vendor's rules were followed (T02).
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
      EXPECT_EQ(stats.graphs.live, 0u);
      EXPECT_EQ(stats.graphs.physical, 0u);
      EXPECT_EQ(stats.streams.physical, 0u);
      EXPECT_EQ(stats.events.physical, 0u);
      EXPECT_EQ(stats.modules.physical, 0u);
      EXPECT_EQ(stats.buffers.physical, 0u);
    }
    context = Context();
    if (mock)
      checkMock();
    mustFail.reset();
  }
  /// What Context::open takes.
  std::string device() const {
    std::string name = GetParam();
    return name.substr(0, name.find("-on-"));
  }
  /// Also a device of another name that is the CPU device underneath.
  bool onCpu() const {
    return device() == "cpu" || strstr(GetParam(), "-on-cpu");
  }

  Mock *mock = mockOf(GetParam());
  std::unique_ptr<TestProgram> program = std::make_unique<TestProgram>();
  Context context;
  std::unique_ptr<ContextScope> scope;
  bool expectLoss = false;

private:
  void checkMock() {
    struct Check {
      std::vector<Expectation> allowed;
    } check = {expectations(GetParam(), Expected::Violation)};
    mock->mock_violations(
        [](void *user, const char *call, const char *reason) {
          std::string complaint = std::string(call) + ": " + reason;
          for (const Expectation &entry : static_cast<Check *>(user)->allowed)
            if (matches(entry.complaint, complaint))
              return;
          ADD_FAILURE() << complaint;
        },
        &check);
    EXPECT_EQ(mock->mock_live(nullptr), 0u);
    EXPECT_EQ(mock->mock_context_depth(), 0u);
  }

  std::unique_ptr<MustFail> mustFail;
};

/// Runs disabled tests in a process of their own, which may lose the device. 0:
/// they have passed.
inline int runBody(const std::string &device, const char *filter) {
  fflush(nullptr);
  setenv("GPU_ASYNC_TEST_DEVICE", device.c_str(), 1);
  pid_t child = fork();
  if (child == 0) { // beside threads that may hold the lock of malloc
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests", filter,
          nullptr);
    _exit(127);
  }
  unsetenv("GPU_ASYNC_TEST_DEVICE");
  int result = 0;
  waitpid(child, &result, 0);
  return result;
}

#define INSTANTIATE_OVER_DEVICES(Suite)                                        \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Devices, Suite, testing::ValuesIn(testedDevices()),                      \
      [](const testing::TestParamInfo<const char *> &info) {                   \
        std::string name = info.param;                                         \
        std::replace(name.begin(), name.end(), '-', '_');                      \
        return name;                                                           \
      })

} // namespace gpuasync_test

#endif // GPUASYNC_TEST_RUNTIME_FIXTURE_H
