//===- SweepTest.cpp - Each call that can fail does, in turn --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// E05, X01: for each program, each vendor call and each allocation inside the
// public entries fails once, in a process of its own: no crash, hang, leak,
// lost first error or false success. GPUASYNC_SWEEP=full tries each vendor call
// with every error.
//===----------------------------------------------------------------------===//

#include "Life.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define SWEEP_FINDS_LEAKS 1
#endif
#if __has_feature(thread_sanitizer)
#define SWEEP_IS_SLOW 1
#endif
#endif

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

#ifdef SWEEP_FINDS_LEAKS
constexpr uint64_t defaultStep = 11; // looking for leaks takes 50 ms each time
#else
constexpr uint64_t defaultStep = 1;
#endif

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

using Words = std::vector<uint32_t>;

Words counted(uint32_t count) {
  Words result(count);
  std::iota(result.begin(), result.end(), 0u);
  return result;
}

/// A context opened, used once and closed: the failure may come in opening it.
void openAndClose(Life &life) {
  life.arm();
  life.openContext();
}

void useDefault(Life &life) {
  setenv("GPU_ASYNC_DEVICE", life.device.c_str(), 1);
  life.usesShutdown = true;
  life.arm();
  Words out(64);
  LifeFrame frame(life, life.program);
  gpuasync_stream *stream = frame.stream();
  uint32_t *x = frame.alloc(stream, 64);
  frame.launch(stream, Store, 1, 64, StoreParams{x, 9});
  frame.copy(stream, out.data(), x, 256);
  frame.dealloc(stream, x);
  frame.wait({stream});
  frame.leave();
  life.expect(out == Words(64, 9), "the copy");
}

void forkAndJoin(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    Words in = counted(256), out(256), expected(256);
    for (uint32_t i = 0; i < 256; ++i)
      expected[i] = (i + 10) * 2 + 1;
    LifeFrame frame(life, life.program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 256), *y = frame.alloc(a, 256);
    frame.copy(a, x, in.data(), 1024);
    gpuasync_event *fork = frame.record(a);
    frame.waitEvent(b, fork);
    frame.destroy(fork);
    frame.launch(b, AddUp, 2, 128, AddUpParams{y, x, 256, 10});
    gpuasync_event *join = frame.record(b);
    frame.waitEvent(a, join);
    frame.destroy(join);
    frame.launch(a, MulAdd, 2, 128, MulAddParams{y, 256, 2, 1});
    frame.copy(a, out.data(), y, 1024);
    frame.dealloc(a, x);
    frame.dealloc(a, y);
    frame.wait({a, b});
    frame.destroy(b, true);
    frame.destroy(a, true);
    frame.leave();
    life.expect(out == expected, "the download");
  }
  life.scope(false);
}

/// Host-shared memory, the other streams' memory, more of each than once.
void hostShared(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    for (uint32_t count : {1u, 1000u, 100000u}) {
      uint32_t *shared = frame.alloc(nullptr, count, true);
      uint32_t *device = frame.alloc(nullptr, count);
      if (shared)
        std::fill(shared, shared + count, 4u);
      int64_t blocks = (count + 255) / 256;
      frame.copy(stream, device, shared, 4ull * count);
      frame.launch(stream, MulAdd, blocks, 256,
                   MulAddParams{device, count, 3, 2});
      frame.copy(stream, shared, device, 4ull * count);
      frame.wait({stream});
      if (shared && !frame.failed())
        life.expect(shared[0] == 14 && shared[count - 1] == 14,
                    "shared memory");
      frame.dealloc(stream, shared);
      frame.dealloc(stream, device);
    }
    frame.wait({stream});
  }
  life.scope(false);
}

void fillsAndStrides(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  {
    Words out(1024, 1);
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 1024);
    const unsigned char pattern[16] = {7, 7, 7, 7, 7, 7, 7, 7,
                                       7, 7, 7, 7, 7, 7, 7, 8};
    for (uint32_t element : {1u, 2u, 4u, 8u, 16u})
      frame.fill(stream, x, pattern, element, 4096 / element);
    frame.copy(stream, out.data(), x, 4096);
    frame.wait({stream});
    life.expect(frame.failed() ||
                    (out[0] == 0x07070707 && out[3] == 0x08070707),
                "the fill");
    Words in = counted(1024), rows(1024, 0);
    frame.copyStrided(stream, x, {64, 1}, in.data(), {64, 1}, {16, 32});
    frame.copyStrided(stream, rows.data(), {64, 1}, x, {64, 1}, {16, 32});
    frame.copyStrided(stream, rows.data() + 512, {1, 16}, x, {64, 2}, {8, 8});
    frame.dealloc(stream, x);
    frame.wait({stream});
    life.expect(frame.failed() || (rows[64 + 5] == 69 && rows[32] == 0),
                "the strided copy");
  }
  life.scope(false);
}

/// More streams than the pools keep; the surplus goes at a later enter.
void manyStreams(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    LifeFrame frame(life, life.program);
    std::vector<gpuasync_stream *> streams;
    uint32_t *x = frame.alloc(nullptr, 64);
    gpuasync_event *last = nullptr;
    for (int i = 0; i < 20; ++i) {
      streams.push_back(frame.stream());
      if (last)
        frame.waitEvent(streams.back(), last);
      frame.launch(streams.back(), Store, 1, 64, StoreParams{x, uint32_t(i)});
      last = frame.record(streams.back());
    }
    Words out(64);
    frame.copy(streams.back(), out.data(), x, 256);
    for (gpuasync_stream *stream : streams)
      if (stream != streams.back())
        frame.destroy(stream, false);
    frame.wait({streams.back()});
    life.expect(frame.failed() || out == Words(64, 19), "the last store");
    frame.dealloc(streams.back(), x);
  }
  life.scope(false);
}

/// Two modules, one frame inside another, a program released and used again.
void modules(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  for (int round = 0; round < 2; ++round) {
    Words out(32);
    {
      LifeFrame outer(life, life.program);
      gpuasync_stream *stream = outer.stream();
      uint32_t *x = outer.alloc(stream, 32);
      outer.launch(stream, Store, 1, 32, StoreParams{x, 4});
      outer.wait({stream});
      {
        LifeFrame inner(life, life.second);
        gpuasync_stream *own = inner.stream();
        if (x)
          inner.launch(own, MulAdd, 1, 32, MulAddParams{x, 32, 2, 0});
        inner.wait({own});
      }
      outer.resume();
      outer.copy(stream, out.data(), x, 128);
      outer.wait({stream});
      outer.dealloc(stream, x);
    }
    life.expect(out == Words(32, 8), "the inner frame's product");
    Entry entry(life);
    gpuasync_program_release(&life.second.program);
  }
  {
    Entry entry(life);
    life.note(gpuasync_program_load(&life.second.program, life.context));
  }
  life.scope(false);
}

/// The caller's stream, ordered both ways and synchronised by the caller.
void callersStream(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  gpuasync_stream *mine = nullptr;
  if (life.context) {
    Entry entry(life);
    life.note(gpuasync_context_stream_create(life.context, &mine));
  }
  if (mine) {
    void *native = gpuasync_context_stream_native(mine);
    Words in(64, 6), out(64);
    uint32_t *x = nullptr, *shared = nullptr;
    {
      LifeFrame frame(life, life.program);
      gpuasync_stream *stream = frame.external(native);
      gpuasync_stream *own = frame.stream();
      x = frame.alloc(stream, 64);
      shared = frame.alloc(nullptr, 64, true);
      frame.copy(stream, x, in.data(), 256);
      frame.waitEvent(own, frame.record(stream));
      frame.launch(own, MulAdd, 1, 64, MulAddParams{x, 64, 3, 1});
      frame.waitEvent(stream, frame.record(own));
      frame.copy(stream, shared, x, 256);
      frame.destroy(own, false);
      frame.destroy(stream, false);
      frame.leave();
      if (!frame.succeeded)
        x = shared = nullptr; // the frame has freed them
    }
    {
      Entry entry(life);
      life.note(gpuasync_context_stream_synchronize(mine));
    }
    if (shared)
      life.expect(Words(shared, shared + 64) == Words(64, 19),
                  "what the caller's stream copied");
    {
      LifeFrame frame(life, life.program);
      frame.dealloc(nullptr, x);
      frame.dealloc(nullptr, shared);
    }
    Entry entry(life);
    gpuasync_context_stream_destroy(mine);
  }
  life.scope(false);
}

/// Registered memory, some of it never released.
void registrations(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  static uint32_t memory[3][4096];
  for (auto &piece : memory)
    std::fill(std::begin(piece), std::end(piece), 2u);
  for (int round = 0; round < 2; ++round) {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *host = memory[round];
    frame.registerHost(host, sizeof(memory[0]));
    frame.registerHost(host, sizeof(memory[0]));
    frame.launch(stream, MulAdd, 16, 256, MulAddParams{host, 4096, 2, 1});
    uint32_t *x = frame.alloc(stream, 4096);
    frame.copy(stream, x, host, sizeof(memory[0]));
    frame.copy(stream, host, x, sizeof(memory[0]));
    frame.wait({stream});
    life.expect(frame.failed() || (host[0] == 5 && host[4095] == 5),
                "registered memory");
    frame.unregisterHost(host);
    frame.unregisterHost(host);
    frame.dealloc(stream, x);
    frame.registerHost(memory[2], sizeof(memory[2]));
  }
  life.scope(false);
}

/// Tokens that leave their frame, with downloads that a later wait finishes.
void tokens(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  // Outlives a wait that fails: the download may come later.
  static Words out(32);
  uint32_t *x = nullptr;
  gpuasync_event *token = nullptr;
  bool made = false;
  {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    x = frame.alloc(stream, 32);
    frame.launch(stream, Store, 1, 32, StoreParams{x, 6});
    token = frame.exported(frame.record(stream));
    frame.leave();
    made = frame.succeeded;
  }
  if (!made) {
    // Results of a failed function are not read.
    token = nullptr;
    x = nullptr;
  }
  {
    LifeFrame frame(life, life.program);
    token = frame.imported(token);
    gpuasync_stream *stream = frame.stream();
    frame.waitEvent(stream, token);
    if (x) {
      frame.launch(stream, MulAdd, 1, 32, MulAddParams{x, 32, 2, 1});
      frame.copy(stream, out.data(), x, 128);
    }
    frame.dealloc(stream, x);
    gpuasync_event *second = frame.record(stream);
    token = frame.exported(second);
    frame.leave();
    if (!frame.succeeded)
      token = nullptr;
  }
  {
    Entry entry(life);
    life.note(gpuasync_event_wait(token));
  }
  {
    Entry entry(life);
    gpuasync_event_release(token);
  }
  life.expect(out == Words(32, 13), "the download of a token's past");
  life.scope(false);
}

/// Large pageable copies that wait behind a held kernel, one feeding another.
/// No vendor call may be out of memory: what is given back then waits for the
/// kernel (docs/Runtime.md, Limits).
void staging(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  {
    constexpr uint32_t count = 1100000; // more than is staged at a time
    Words in(count, 5), middle(512), out(count);
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream(), *other = frame.stream();
    uint32_t *x = frame.alloc(stream, count), *y = frame.alloc(other, 256);
    life.hold("store");
    frame.launch(stream, Store, 1, 64, StoreParams{x, 0});
    frame.copy(stream, x, in.data(), 4ull * count);
    std::fill(in.begin(), in.end(), 9u);
    frame.copy(stream, middle.data(), x, 2048);
    frame.copy(stream, y, middle.data(), 1024);
    frame.copy(stream, out.data(), x, 4ull * count);
    frame.copy(stream, in.data(), y, 1024);
    life.letGo("store");
    frame.wait({stream, other});
    life.expect(frame.failed() || (out == Words(count, 5) && in[0] == 5 &&
                                   in[255] == 5 && in[256] == 9),
                "the staged copies");
    frame.dealloc(stream, x);
    frame.dealloc(stream, y);
    frame.leave();
  }
  life.scope(false);
}

/// An error of the program itself while work runs; then a frame that leaks.
void errorsAndLeaks(Life &life) {
  life.openContext();
  life.arm();
  if (!life.scope(true))
    return;
  {
    LifeFrame frame(life, life.program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 64), *shared = frame.alloc(nullptr, 64, true);
    frame.launch(a, Store, 1, 64, StoreParams{x, 1});
    frame.waitEvent(b, frame.record(a));
    Words out(64);
    frame.copy(b, out.data(), x, 256);
    frame.copy(b, shared, x, 256);
    frame.fill(b, x, &out, 3, 5); // refused: three bytes
    frame.wait({a, b});
    frame.leaveWithError("fill with elements of 3 bytes");
  }
  {
    LifeFrame frame(life, life.program);
    gpuasync_stream *stream = frame.stream();
    uint32_t *x = frame.alloc(stream, 5000);
    frame.launch(stream, Store, 1, 64, StoreParams{x, 1});
  }
  life.scope(false);
}

/// Two devices at once, and a thread that shares the first's context.
void devicesAndThreads(Life &life) {
  life.openContext();
  life.arm();
  auto work = [](Life &life, TestProgram &program, uint32_t value) {
    Words out(128);
    LifeFrame frame(life, program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    uint32_t *x = frame.alloc(a, 128);
    frame.launch(a, Store, 1, 128, StoreParams{x, value});
    frame.waitEvent(b, frame.record(a));
    frame.launch(b, MulAdd, 1, 128, MulAddParams{x, 128, 2, 1});
    frame.copy(b, out.data(), x, 512);
    frame.dealloc(b, x);
    frame.wait({a, b});
    frame.leave();
    life.expect(out == Words(128, 2 * value + 1), "a thread's product");
  };
  std::thread other([&] {
    if (!life.scope(true))
      return;
    work(life, life.program, 3);
    life.scope(false);
  });
  other.join();
  gpuasync_context *second = nullptr;
  {
    Entry entry(life);
    life.note(gpuasync_context_open((life.device + ":1").c_str(), &second));
  }
  if (second) {
    gpuasync_status *pushed;
    {
      Entry entry(life);
      pushed = gpuasync_scope_push(second);
    }
    bool scoped = !pushed;
    life.note(pushed);
    if (scoped) {
      work(life, life.second, 5);
      Entry entry(life);
      gpuasync_scope_pop();
    }
    for (int i = 0; i < 2; ++i) {
      Entry entry(life);
      life.note(gpuasync_context_close(second));
    }
    Entry entry(life);
    gpuasync_context_release(second);
  }
}

//===----------------------------------------------------------------------===//
// The sweep
//===----------------------------------------------------------------------===//

class Sweep : public testing::Test {
protected:
  using Body = void (*)(Life &);

  void SetUp() override {
    outcome = static_cast<Outcome *>(mmap(nullptr, sizeof(Outcome),
                                          PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void *>(outcome), MAP_FAILED);
    log = memfd_create("sweep", 0);
  }
  void TearDown() override {
    munmap(outcome, sizeof(Outcome));
    close(log);
  }

  /// One life in a process of its own; what it was.
  Outcome live(Body body, const Injection &injection) {
    *outcome = {};
    (void)!ftruncate(log, 0);
    lseek(log, 0, SEEK_SET);
    pid_t child = fork();
    if (child == 0) {
      dup2(log, 2);
      alarm(10); // a hang ends it
      {
        Life life(injection, device, *outcome);
        body(life);
        life.finish();
#ifdef SWEEP_FINDS_LEAKS
        if (!life.lost() && __lsan_do_recoverable_leak_check())
          life.problem("host memory is leaked");
#endif
      }
      outcome->ended = true;
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
      snprintf(outcome->problem, sizeof(outcome->problem), "signal %d%s",
               WTERMSIG(status), WTERMSIG(status) == SIGALRM ? ": a hang" : "");
    else if (!outcome->ended)
      snprintf(outcome->problem, sizeof(outcome->problem), "exit status %d",
               WEXITSTATUS(status));
    return *outcome;
  }

  std::string childsLog() {
    std::string text(4000, '\0');
    ssize_t count = pread(log, &text[0], text.size(), 0);
    text.resize(count > 0 ? size_t(count) : 0);
    return text;
  }

  /// Whether the failure came to pass.
  bool inject(Body body, Injection injection, const char *what) {
    // Half of the callers have a context of their own.
    injection.callersContext = injection.index % 2;
    Outcome result = live(body, injection);
    ++injections;
    fired += result.fired;
    errors += result.failed;
    if (!result.problem[0])
      return result.fired;
    std::string problem = std::string(result.call) + ": " + result.problem;
    if (++problems[problem] > 2)
      return result.fired;
    ADD_FAILURE() << what << " " << injection.index << " " << result.call
                  << " code " << injection.code
                  << "\n  problem: " << result.problem
                  << "\n  first error: " << result.first << "\n"
                  << childsLog();
    return result.fired;
  }

  /// `step`: of slow programs only each step-th failure, unless all are wanted.
  void sweep(Body body, bool mayRunOutOfMemory = true, uint64_t step = 1) {
    Outcome whole = live(body, {});
    ASSERT_STREQ(whole.problem, "") << childsLog();
    ASSERT_GT(whole.vendorCalls, 20u);
#ifdef SWEEP_IS_SLOW
    return; // the program alone
#endif
    const int codes[] = {1, 2, deviceFault, 999};
    const char *mode = getenv("GPUASYNC_SWEEP");
    bool full = mode && !strcmp(mode, "full");
    step = full ? 1 : step * defaultStep;
    // How often a wait asks depends on the machine's load, and so does how many
    // calls there are: a life may end before the call that was to fail.
    const uint64_t enough = step > 1 ? 1 : 3;
    uint64_t beyond = 0;
    for (uint64_t i = 1; i <= whole.vendorCalls && beyond < enough; i += step)
      for (uint64_t c = 0; c < (full ? 4 : 1); ++c)
        if (mayRunOutOfMemory || codes[(i + c) % 4] != 2)
          beyond =
              inject(body, {Fault::VendorCall, i, codes[(i + c) % 4], false},
                     "vendor call")
                  ? 0
                  : beyond + 1;
    beyond = 0;
    for (uint64_t i = 1; i <= whole.allocations && beyond < enough; i += step)
      beyond = inject(body, {Fault::Allocation, i, 0, false}, "allocation")
                   ? 0
                   : beyond + 1;
    printf("%llu vendor calls, %llu allocations: %llu injections, %llu came "
           "to pass, %llu reported\n",
           static_cast<unsigned long long>(whole.vendorCalls),
           static_cast<unsigned long long>(whole.allocations),
           static_cast<unsigned long long>(injections),
           static_cast<unsigned long long>(fired),
           static_cast<unsigned long long>(errors));
    // A sweep in which next to nothing fails is none.
    EXPECT_GT(fired, injections * 9 / 10);
    EXPECT_GT(errors, injections / 4);
  }

  const char *device = "cuda";
  Outcome *outcome = nullptr;
  int log = -1;
  uint64_t injections = 0, fired = 0, errors = 0;
  std::map<std::string, int> problems;
};

TEST_F(Sweep, OpenAndClose_E05) { sweep(openAndClose); }
TEST_F(Sweep, UseDefault_E05) { sweep(useDefault); }
TEST_F(Sweep, ForkAndJoin_E05) { sweep(forkAndJoin); }
TEST_F(Sweep, HostShared_E05) { sweep(hostShared); }
TEST_F(Sweep, FillsAndStrides_E05) { sweep(fillsAndStrides); }
TEST_F(Sweep, ManyStreams_E05) { sweep(manyStreams); }
TEST_F(Sweep, Modules_E05) { sweep(modules); }
TEST_F(Sweep, CallersStream_E05) { sweep(callersStream); }
TEST_F(Sweep, Registrations_E05) { sweep(registrations); }
TEST_F(Sweep, Tokens_E05) { sweep(tokens); }
TEST_F(Sweep, Staging_E05) {
  sweep(staging, /*mayRunOutOfMemory=*/false, /*step=*/5);
}
TEST_F(Sweep, ErrorsAndLeaks_E05) { sweep(errorsAndLeaks); }
TEST_F(Sweep, DevicesAndThreads_E05) { sweep(devicesAndThreads); }

} // namespace
