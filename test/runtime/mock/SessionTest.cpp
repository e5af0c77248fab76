//===- SessionTest.cpp - Calls without frames, where one fails ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the library of upstream's symbols calls, with failures of the vendor's.
//===----------------------------------------------------------------------===//

#include "services/session/Session.h"
#include "Fixture.h"
#include "shim/context/Program.h"

#include <stdlib.h>
#include <string.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;
using namespace gpuasync;

namespace {

/// The marker of a point of a stream. Some suites take the flags away.
const char *fence() {
  const char *settings = getenv("GPUASYNC_MOCK");
  return settings && strstr(settings, "flags=0") ? "cuEventRecord"
                                                 : "cuStreamWriteValue32";
}

// E05: a copy back whose point could not be marked has failed. Nothing of it
// comes to the caller's memory, neither when another copy is made.
TEST(Sessions, CopyWithoutAFenceWritesNothing_E05) {
  constexpr int unknownError = 999;
  Mock *mock = mockOf("cuda-on-mock");
  mock->mock_reset();
  TestProgram program(TestProgram::Cuda);
  Session *session = nullptr;
  Status opened(gpuasync_session_open(sessionVersion, "cuda", &session));
  ASSERT_TRUE(opened.ok()) << opened.message();
  const gpuasync_site *site = testSites.data() + SITE("call");
  NativeModule loaded = nullptr;
  NativeFunction functions[NumKernels];
  ASSERT_TRUE(session
                  ->loadModule(program.module, program.images[0], site, loaded,
                               functions)
                  .ok());
  gpuasync_stream *stream = nullptr;
  ASSERT_TRUE(session->takeStream(site, stream).ok());
  void *x = nullptr;
  ASSERT_TRUE(session->alloc(256, 0, site, x).ok());
  std::vector<uint32_t> out(64, 77);
  uint32_t value = 5;
  StoreParams unused = {};
  void *parameters[] = {&x, &value};
  mock->mock_gate_close("store");
  EXPECT_TRUE(session
                  ->launch(stream, functions[Store], program.kernels[Store],
                           makeLaunch(1, 64, unused), parameters, site)
                  .ok());
  mock->mock_fail(fence(), 1, unknownError);
  Status copied = session->copy(stream, out.data(), x, 256, site);
  EXPECT_FALSE(copied.ok());
  EXPECT_NE(mock->mock_failed(), nullptr);
  // Its source may be the destination of a copy back.
  copied = session->copy(stream, x, out.data(), 256, site);
  EXPECT_TRUE(copied.ok()) << copied.message();
  EXPECT_EQ(out, std::vector<uint32_t>(64, 77));
  mock->mock_gate_open("store");
  EXPECT_TRUE(session->copy(stream, out.data(), x, 256, site).ok());
  Event *event = nullptr;
  EXPECT_TRUE(session->record(stream, site, event).ok());
  EXPECT_TRUE(session->synchronize(event, site).ok());
  session->giveEvent(event);
  EXPECT_EQ(out, std::vector<uint32_t>(64, 77));
  EXPECT_TRUE(session->dealloc(stream, x, site).ok());
  session->giveStream(stream, /*idle=*/false);
  EXPECT_TRUE(session->unloadModule(loaded, site).ok());
  session->close();
  gpuasync_context *raw = nullptr;
  EXPECT_TRUE(defaultOn("cuda", raw).ok());
  Status closed(gpuasync_context_close(raw));
  EXPECT_TRUE(closed.ok()) << closed.message();
  raw->release();
  EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
}

class Covers : public testing::Test {
protected:
  static constexpr int rounds = 200;

  void SetUp() override {
    mock->mock_reset();
    Status opened(gpuasync_session_open(sessionVersion, "cuda", &session));
    ASSERT_TRUE(opened.ok()) << opened.message();
    ASSERT_TRUE(session
                    ->loadModule(program.module, program.images[0], site,
                                 loaded, functions)
                    .ok());
    ASSERT_TRUE(session->alloc(256 * rounds, 0, site, x).ok());
  }
  void TearDown() override {
    bool ended = false;
    EXPECT_TRUE(session->finishAll(site, ended).ok());
    EXPECT_TRUE(session->dealloc(nullptr, x, site).ok());
    EXPECT_TRUE(session->unloadModule(loaded, site).ok());
    session->close();
    gpuasync_context *raw = nullptr;
    EXPECT_TRUE(defaultOn("cuda", raw).ok());
    Status closed(gpuasync_context_close(raw));
    EXPECT_TRUE(closed.ok()) << closed.message();
    raw->release();
    EXPECT_EQ(mock->mock_violations(nullptr, nullptr), 0u);
  }
  gpuasync_stream *take() {
    gpuasync_stream *stream = nullptr;
    EXPECT_TRUE(session->takeStream(site, stream).ok());
    return stream;
  }
  /// Each round has memory of its own.
  void store(gpuasync_stream *stream, int round) {
    uint32_t *to = static_cast<uint32_t *>(x) + 64 * round, value = 5;
    StoreParams unused = {};
    void *parameters[] = {&to, &value};
    EXPECT_TRUE(session
                    ->launch(stream, functions[Store], program.kernels[Store],
                             makeLaunch(1, 64, unused), parameters, site)
                    .ok());
  }

  Mock *mock = mockOf("cuda-on-mock");
  TestProgram program{TestProgram::Cuda};
  const gpuasync_site *site = testSites.data() + SITE("call");
  Session *session = nullptr;
  NativeModule loaded = nullptr;
  NativeFunction functions[NumKernels];
  void *x = nullptr;
};

// B06: what a registration makes the device write comes after an older copy
// back, which no wait has finished.
TEST_F(Covers, RegistrationBehindACopyBack_B06) {
  gpuasync_stream *stream = take();
  std::vector<uint32_t> host(64);
  store(stream, 0);
  EXPECT_TRUE(session->copy(stream, host.data(), x, 256, site).ok());
  EXPECT_TRUE(session->registerHost(host.data(), 256, site).ok());
  const uint32_t six = 6;
  EXPECT_TRUE(session->fill(stream, host.data(), &six, 4, 64, site).ok());
  Event *event = nullptr;
  EXPECT_TRUE(session->record(stream, site, event).ok());
  EXPECT_TRUE(session->synchronize(event, site).ok());
  EXPECT_EQ(host, std::vector<uint32_t>(64, 6));
  EXPECT_TRUE(session->unregisterHost(host.data(), site).ok());
  session->giveEvent(event);
  session->giveStream(stream, /*idle=*/true);
}

// An event that is recorded anew no longer stands for the stream that it was
// recorded on first.
TEST_F(Covers, EventThatIsRecordedAnew) {
  gpuasync_stream *first = take(), *second = take(), *later = take();
  Event *event = nullptr;
  mock->mock_gate_close("store");
  store(first, 0);
  EXPECT_TRUE(session->record(first, site, event).ok());
  EXPECT_TRUE(session->record(second, site, event).ok());
  EXPECT_TRUE(session->wait(later, event, site).ok());
  session->giveStream(later, /*idle=*/true);
  session->giveStream(first, /*idle=*/false);
  std::vector<gpuasync_stream *> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(take());
    EXPECT_NE(others.back(), first);
  }
  mock->mock_gate_open("store");
  EXPECT_TRUE(session->record(second, site, event).ok());
  EXPECT_TRUE(session->synchronize(event, site).ok());
  session->giveEvent(event);
  others.push_back(second);
  for (gpuasync_stream *stream : others)
    session->giveStream(stream, /*idle=*/false);
}

// One thread waits for events of streams that another one goes on with.
TEST_F(Covers, EventOfAnotherThreadsStream) {
  std::atomic<Event *> token{nullptr};
  std::thread other([&] {
    gpuasync_stream *later = take();
    for (int i = 0; i < rounds; ++i) {
      Event *event;
      while (!(event = token.exchange(nullptr)))
        sched_yield();
      EXPECT_TRUE(session->wait(later, event, site).ok());
      session->giveEvent(event);
    }
    session->giveStream(later, /*idle=*/false);
  });
  for (int i = 0; i < rounds; ++i) {
    gpuasync_stream *stream = take();
    Event *event = nullptr;
    store(stream, i);
    EXPECT_TRUE(session->record(stream, site, event).ok());
    while (token.load())
      sched_yield();
    token.store(event);
    session->giveStream(stream, /*idle=*/false);
  }
  other.join();
}

} // namespace
