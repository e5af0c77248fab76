//===- RegistrationTest.cpp - One place registered on several threads ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one thread registers while another one's call for the same memory is
// held at a gate.
//===----------------------------------------------------------------------===//

#include "Fixture.h"

#include <atomic>
#include <dlfcn.h>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

class Registration : public DeviceTest {
protected:
  std::string call(const char *what) const {
    return (device() == "cuda" ? "cuMemHost" : "hipHost") + std::string(what);
  }
  void add(gpuasync_frame *frame) {
    gpuasync_host_register(frame, host.data(), bytes, SITE("register"));
  }
  void drop(gpuasync_frame *frame) {
    gpuasync_host_unregister(frame, host.data(), SITE("unregister"));
  }
  /// Long enough for a thread that nothing holds up.
  template <typename Done>
  static void giveTime(Done done) {
    for (int i = 0; i < 1000 && !done(); ++i)
      std::this_thread::yield();
  }

  static constexpr uint32_t bytes = 16384;
  std::vector<uint32_t> host = std::vector<uint32_t>(bytes / 4, 2);
};
INSTANTIATE_OVER_DEVICES(Registration);

// M08: both count.
TEST_P(Registration, FirstOnTwoThreads_M08) {
  std::string name = call("Register");
  mock->mock_gate_close(name.c_str());
  std::atomic<int> begun{0}, registered{0}, left{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      ContextScope own(context);
      FrameScope frame(*program);
      ++begun;
      add(frame);
      ++registered;
      while (registered < 2)
        std::this_thread::yield();
      drop(frame);
      EXPECT_FALSE(frame.failed());
      ++left;
    });
  mock->mock_gate_wait(name.c_str(), 1);
  while (begun < 2)
    std::this_thread::yield();
  giveTime([&] { return mock->mock_calls(name.c_str()) == 2; });
  mock->mock_gate_open(name.c_str());
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(mock->mock_calls(name.c_str()), 1u);
  EXPECT_EQ(gpuasync_leaks_list(context.get(), nullptr, nullptr), 0u);
}

// M08: what another thread is giving back just now is registered anew.
TEST_P(Registration, WhileAnotherThreadGivesItBack_M08) {
  {
    FrameScope frame(*program);
    add(frame);
    drop(frame);
  }
  std::string name = call("Unregister");
  mock->mock_gate_close(name.c_str());
  std::thread giving([&] {
    ContextScope own(context);
    FrameScope frame(*program); // nothing else runs
  });
  mock->mock_gate_wait(name.c_str(), 1);
  std::atomic<bool> registered{false}, checked{false};
  std::thread again([&] {
    ContextScope own(context);
    FrameScope frame(*program);
    add(frame);
    registered = true;
    while (!checked)
      std::this_thread::yield();
    drop(frame);
  });
  giveTime([&] { return registered.load(); });
  mock->mock_gate_open(name.c_str());
  giving.join();
  while (!registered)
    std::this_thread::yield();
  EXPECT_EQ(mock->mock_live("registration"), 1u);
  checked = true;
  again.join();
}

// M08: what was unregistered is pageable memory, though the driver has yet to
// learn of it: other memory may lie there.
TEST_P(Registration, EndedBeforeTheDriverKnows_M08) {
  std::vector<uint32_t> out(bytes / 4);
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, bytes / 4);
  gpuasync_host_register(frame, host.data(), 64, SITE("register"));
  gpuasync_host_register(frame, out.data(), bytes, SITE("register"));
  drop(frame);
  gpuasync_host_unregister(frame, out.data(), SITE("unregister"));
  EXPECT_EQ(mock->mock_live("registration"), 2u);
  frame.copy(stream, x, host.data(), bytes);
  std::fill(host.begin(), host.end(), 3); // it has been read
  frame.copy(stream, out.data(), x, bytes);
  EXPECT_EQ(out[0], 0u); // until somebody waits
  ASSERT_EQ(frame.wait({stream}), 0);
  EXPECT_EQ(out, std::vector<uint32_t>(bytes / 4, 2));
  frame.dealloc(stream, x);
}

// M08: a larger registration ends the smaller one that waits for its end.
TEST_P(Registration, LargerInPlaceOfARetiredOne_M08) {
  FrameScope frame(*program);
  gpuasync_host_register(frame, host.data(), 64, SITE("register"));
  drop(frame);
  add(frame);
  EXPECT_EQ(mock->mock_calls(call("Register").c_str()), 2u);
  EXPECT_EQ(mock->mock_live("registration"), 1u);
  drop(frame);
  add(frame);
  drop(frame);
  EXPECT_EQ(mock->mock_calls(call("Register").c_str()), 2u);
}

// M08: a registration that is counted on cannot grow, and the error says how it
// goes.
TEST_P(Registration, LargerThanOneThereIs_M08) {
  FrameScope frame(*program);
  gpuasync_host_register(frame, host.data(), 64, SITE("register"));
  {
    FrameScope inner(*program);
    add(inner);
    Status status = inner.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
    EXPECT_NE(std::string(status.message())
                  .find("is registered already, with 64 bytes only; register "
                        "all 16384 bytes before that part"),
              std::string::npos)
        << status.message();
  }
  drop(frame);
  EXPECT_FALSE(frame.failed());
}

// M08: memory that lies where a registration has ended, and begins elsewhere,
// is registered anew: that end is not its own.
TEST_P(Registration, InPlaceOfAPartOfARetiredOne_M08) {
  char *begin = reinterpret_cast<char *>(host.data());
  char *inner = begin + 4096, *across = begin + bytes / 2;
  {
    FrameScope frame(*program);
    add(frame);
    drop(frame);
    gpuasync_host_register(frame, inner, 4096, SITE("register"));
    gpuasync_host_register(frame, begin, 4096, SITE("register"));
    gpuasync_host_unregister(frame, begin, SITE("unregister"));
    gpuasync_host_register(frame, across, bytes / 4, SITE("register"));
    gpuasync_host_unregister(frame, across, SITE("unregister"));
    gpuasync_host_register(frame, across + 64, bytes / 2 - 64,
                           SITE("register"));
    gpuasync_host_unregister(frame, across + 64, SITE("unregister"));
  }
  {
    FrameScope frame(*program); // nothing else runs
    EXPECT_EQ(mock->mock_live("registration"), 1u);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 1024);
    frame.copy(stream, x, inner, 4096);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    gpuasync_host_unregister(frame, inner, SITE("unregister"));
  }
}

// M08: one that ends leaves alone what another one of its memory counts on.
TEST_P(Registration, PartOutlivesTheWhole_M08) {
  char *inner = reinterpret_cast<char *>(host.data()) + 4096;
  {
    FrameScope frame(*program);
    add(frame);
    gpuasync_host_register(frame, inner, 4096, SITE("register"));
    drop(frame);
  }
  {
    FrameScope frame(*program); // nothing else runs
    EXPECT_EQ(mock->mock_live("registration"), 1u);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 1024);
    frame.copy(stream, x, inner, 4096);
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    gpuasync_host_unregister(frame, inner, SITE("unregister"));
  }
  FrameScope frame(*program);
  EXPECT_EQ(mock->mock_live("registration"), 0u);
}

// M08: an error names what is in the way, which another context has registered.
TEST_P(Registration, AcrossAnotherContextsEnd_M08) {
  Context other;
  ASSERT_TRUE(Context::open(device().c_str(), other).ok());
  char *begin = reinterpret_cast<char *>(host.data());
  {
    ContextScope inner(other);
    FrameScope frame(*program);
    add(frame);
    // A part of it is there for this context, too.
    ContextScope outer(context);
    FrameScope its(*program);
    gpuasync_host_register(its, begin + 64, 64, SITE("register"));
  }
  {
    ContextScope inner(other);
    FrameScope frame(*program);
    drop(frame);
  }
  EXPECT_TRUE(other.trim().ok());
  EXPECT_EQ(mock->mock_live("registration"), 1u); // this context counts on it
  {
    ContextScope inner(other);
    FrameScope frame(*program);
    gpuasync_host_register(frame, begin + 64, bytes, SITE("register"));
    Status status = frame.leave();
    EXPECT_FALSE(status.ok());
    EXPECT_NE(std::string(status.message())
                  .find("16384 bytes at " +
                        [&] {
                          char text[32];
                          snprintf(text, sizeof(text), "%p", host.data());
                          return std::string(text);
                        }() +
                        ", which overlap it, are registered: unregister those "
                        "first, and trim the context"),
              std::string::npos)
        << status.message();
  }
  {
    FrameScope frame(*program);
    gpuasync_host_unregister(frame, begin + 64, SITE("unregister"));
  }
  EXPECT_TRUE(context.trim().ok());
  EXPECT_EQ(mock->mock_live("registration"), 0u);
  program.reset();
  EXPECT_TRUE(other.close().ok());
}

// M08: memory stays pageable if the driver fails to unregister it.
TEST_P(Registration, TheDriverFailsToEndIt_M08) {
  {
    FrameScope frame(*program);
    add(frame);
    drop(frame);
  }
  mock->mock_fail(call("Unregister").c_str(), 1, 999);
  EXPECT_TRUE(context.trim().ok());
  ASSERT_NE(mock->mock_failed(), nullptr);
  mock->mock_fail(nullptr, 0, 0);
  {
    FrameScope frame(*program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 64);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 3});
    frame.copy(stream, host.data(), x, 256);
    mock->mock_streams_wait();
    EXPECT_EQ(host[0], 2u); // until somebody waits
    ASSERT_EQ(frame.wait({stream}), 0);
    EXPECT_EQ(host[0], 3u);
    frame.dealloc(stream, x);
    add(frame); // the driver's is used
    drop(frame);
  }
  EXPECT_TRUE(context.trim().ok());
  EXPECT_EQ(mock->mock_live("registration"), 0u);
}

// M08: memory that the embedder has registered is asked about again each time.
TEST_P(Registration, TheEmbeddersMayEnd_M08) {
  const bool onCuda = device() == "cuda";
  void *library = dlopen(
      getenv(onCuda ? "GPU_ASYNC_CUDA_LIBRARY" : "GPU_ASYNC_HIP_LIBRARY"),
      RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  auto begin = reinterpret_cast<int (*)(void *, size_t, unsigned)>(
      dlsym(library, onCuda ? "cuMemHostRegister_v2" : "hipHostRegister"));
  auto end = reinterpret_cast<int (*)(void *)>(
      dlsym(library, onCuda ? "cuMemHostUnregister" : "hipHostUnregister"));
  FrameScope frame(*program);
  ASSERT_EQ(begin(host.data(), bytes, 0), 0);
  add(frame);
  drop(frame);
  ASSERT_EQ(end(host.data()), 0);
  EXPECT_EQ(mock->mock_live("registration"), 0u);
  add(frame);
  EXPECT_EQ(mock->mock_live("registration"), 1u);
  drop(frame);
  dlclose(library);
}

} // namespace
