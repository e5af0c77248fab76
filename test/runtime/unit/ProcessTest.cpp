//===- ProcessTest.cpp - Start, fork, exit, shutdown ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What happens at the edges of a process, each in a child of its own.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "FreshProcess.h"
#include "gpuasync/Trace.h"

#include <fstream>
#include <sys/mman.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

bool work(TestProgram &program) {
  FrameScope frame(program);
  gpuasync_stream *stream = frame.stream();
  auto *x = frame.alloc(stream, 64, GPUASYNC_ALLOC_HOST_SHARED);
  frame.launch(stream, Store, 1, 64, StoreParams{x, 5});
  frame.wait({stream});
  bool right = !frame.failed() && x[63] == 5;
  frame.dealloc(stream, x);
  frame.wait({stream});
  return right;
}

/// Runs `body` in a child; its exit code.
template <typename Body>
int inChild(Body body) {
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0)
    _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return exitCodeOf(status);
}

FRESH_PROCESS_TEST(Process, DefaultDeviceFromTheEnvironment) {
  setenv("GPU_ASYNC_DEVICE", "cpu", 1);
  TestProgram program;
  bool right = work(program);
  gpuasync_context *context = nullptr;
  Status status(gpuasync_context_default(&program.program, &context));
  right &= status.ok() && !strcmp(gpuasync_context_device(context), "cpu");
  gpuasync_context_release(context);
  gpuasync_status_free(gpuasync_program_release(&program.program));
  status = Status(gpuasync_shutdown());
  return right && status.ok() ? 0 : 1;
}

// A program that ran in the default context runs in a new one when that is
// closed.
FRESH_PROCESS_TEST(Process, ClosedDefaultContextIsReplaced) {
  setenv("GPU_ASYNC_DEVICE", "cpu", 1);
  TestProgram program;
  if (!work(program))
    return 1;
  gpuasync_context *first = nullptr, *second = nullptr;
  Status status(gpuasync_context_default(&program.program, &first));
  if (!status.ok() || !Status(gpuasync_context_close(first)).ok())
    return 2;
  if (!work(program))
    return 3;
  status = Status(gpuasync_context_default(&program.program, &second));
  bool other = status.ok() && second != first;
  gpuasync_context_release(first);
  gpuasync_context_release(second);
  if (!other)
    return 4;
  return Status(gpuasync_program_release(&program.program)).ok() &&
                 Status(gpuasync_shutdown()).ok()
             ? 0
             : 5;
}

FRESH_PROCESS_TEST(Process, UnknownDevice) {
  setenv("GPU_ASYNC_DEVICE", "gameboy", 1);
  TestProgram program;
  FrameScope frame(program);
  Status status = frame.leave();
  return strstr(status.message(), "GPU_ASYNC_DEVICE: 'gameboy' is no device")
             ? 0
             : 1;
}

/// Opens the cpu device, by name, and says what came of it.
static std::string openedCpu() {
  gpuasync_context *context = nullptr;
  Status status(gpuasync_context_open("cpu", &context));
  gpuasync_context_release(context);
  return status.ok() ? "ok" : status.message();
}

/// What a fresh process says that has one more variable in its environment.
static std::string openedCpuWith(const char *variable, const char *value) {
  int ends[2];
  if (pipe(ends) != 0)
    return "no pipe";
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 100);
    setenv(variable, value, 1);
    execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
          "--gtest_filter=ProcessBody.DISABLED_OpenedCpu", nullptr);
    _exit(127);
  }
  close(ends[1]);
  char text[512];
  ssize_t length = read(ends[0], text, sizeof(text));
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return std::string(text, length > 0 ? size_t(length) : 0);
}

// In a process of its own, whose environment the parent chose.
TEST(ProcessBody, DISABLED_OpenedCpu) {
  std::string said = openedCpu();
  EXPECT_EQ(write(100, said.data(), said.size()), ssize_t(said.size()));
}

// Each variable takes what Runtime.md says, and nothing else: a value that is
// none is told with the variable, the value and what is allowed. Those of the
// disk cache are in DiskCacheTest, GPU_ASYNC_MGPU_ON_ERROR is in MgpuTest and
// GPU_ASYNC_DEVICE above.
TEST(Process, SettingsAreChecked) {
  struct Setting {
    const char *variable;
    std::vector<const char *> good, bad;
    const char *allowed;
  };
  const char *size = "a size";
  const char *zeroOrOne = "none of 0, 1";
  const Setting settings[] = {
      {"GPU_ASYNC_TIMEOUT",
       {"", "0", "2", "1.5", ".5", "99999999999999999999"},
       {"abc", "-1", "1s", "1e3", "inf", "nan", " 1", "."},
       "a number of seconds"},
      {"GPU_ASYNC_SPIN_US",
       {"", "0", "50", "0.5"},
       {"abc", "-1", "50us", "0x10"},
       "a number of microseconds"},
      {"GPU_ASYNC_SYNC_LAUNCHES",
       {"", "0", "1"},
       {"yes", "2", "on"},
       zeroOrOne},
      {"GPU_ASYNC_MODULE_ENTRIES",
       {"", "0", "8", "18446744073709551615"},
       {"abc", "-1", "8K", "+8", "18446744073709551616"},
       "a number from 0 to"},
      {"GPU_ASYNC_MODULE_BYTES",
       {"", "0", "64M"},
       {"abc", "-1", "1.5G", "1 "},
       size},
      {"GPU_ASYNC_MODULE_KEEP",
       {"", "0", "1"},
       {"yes", "true", "01"},
       zeroOrOne},
      {"GPU_ASYNC_CPU_THREADS",
       {"", "1", "65536"},
       {"abc", "0", "-1", "65537", "4 "},
       "a number from 1 to 65536"},
      {"GPU_ASYNC_CPU_DEVICES",
       {"", "1", "64"},
       {"abc", "0", "-1", "65", "4 "},
       "a number from 1 to 64"},
      {"GPU_ASYNC_CPU_MEMORY",
       {"", "1073741824", "1G", "512m"},
       {"foo", "-5", "0", "1Gi", "0G", "G", "17179869184G", "99999999T", "1 "},
       "a size of 1 or more"},
      {"GPU_ASYNC_CPU_SCHEDULE",
       {"", "fair", "adversarial", "adversarial:4294967295"},
       {"unfair", "adversarial:", "adversarial:-1", "adversarial:4294967296"},
       "none of fair, adversarial"},
  };
  for (const Setting &setting : settings) {
    for (const char *value : setting.good)
      EXPECT_EQ(openedCpuWith(setting.variable, value), "ok")
          << setting.variable << "=" << value;
    for (const char *value : setting.bad) {
      std::string said = openedCpuWith(setting.variable, value);
      std::string begin =
          std::string(setting.variable) + ": '" + value + "' is ";
      EXPECT_EQ(said.find(begin), 0u) << said;
      EXPECT_NE(said.find(setting.allowed), std::string::npos) << said;
    }
  }
}

// A program without an image for any device says what was tried.
FRESH_PROCESS_TEST(Process, NoDeviceFits) {
  unsetenv("GPU_ASYNC_DEVICE");
  TestProgram program(0);
  FrameScope frame(program);
  Status status = frame.leave();
  return status.code() == GPUASYNC_NOT_FOUND &&
                 strstr(status.message(), "cpu: ") &&
                 strstr(status.message(), "cuda: ")
             ? 0
             : 1;
}

// E07: after shutdown every entry refuses.
FRESH_PROCESS_TEST(Process, Shutdown_E07) {
  setenv("GPU_ASYNC_DEVICE", "cpu", 1);
  TestProgram program;
  if (!work(program))
    return 1;
  if (!Status(gpuasync_shutdown()).ok())
    return 2;
  FrameScope frame(program);
  if (frame.leave().code() != GPUASYNC_SHUT_DOWN)
    return 3;
  Context context;
  if (Context::open("cpu", context).code() != GPUASYNC_SHUT_DOWN)
    return 4;
  return Status(gpuasync_shutdown()).ok() ? 0 : 5;
}

// A shutdown that gave up has left work behind, which can be waited for.
FRESH_PROCESS_TEST(Process, WaitsServeAfterAShutdownThatGaveUp_B05) {
  static auto *meant = new LeftBehind;
  (void)meant;
  static auto *program = new TestProgram;
  static uint32_t gate[1], x[1];
  Context context;
  gpuasync_stream *mine = nullptr;
  if (!Context::open("cpu", context).ok() ||
      gpuasync_context_stream_create(context.get(), &mine))
    return 1;
  {
    ContextScope scope(context);
    FrameScope frame(*program);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    frame.launch(stream, Gate, 1, 1, GateParams{gate});
    frame.launch(stream, Store, 1, 1, StoreParams{x, 1});
    frame.destroy(stream, /*idle=*/false);
  }
  gpuasync_set_timeout(0.02);
  if (Status(gpuasync_shutdown()).code() != GPUASYNC_TIMEOUT)
    return 2;
  if (Status(gpuasync_context_stream_synchronize(mine)).code() !=
      GPUASYNC_TIMEOUT)
    return 3;
  gpuasync_set_timeout(0);
  openGate(gate);
  if (gpuasync_context_stream_synchronize(mine) || x[0] != 1)
    return 4;
  // Nothing runs any more.
  gpuasync_status_free(gpuasync_context_wait_abandoned(nullptr, -1));
  return Status(gpuasync_context_stream_synchronize(mine)).code() ==
                 GPUASYNC_SHUT_DOWN
             ? 0
             : 5;
}

// After fork the child's entries refuse, and its end is quiet.
FRESH_PROCESS_TEST(Process, ForkedChildRefuses) {
  Context context;
  if (!Context::open("cpu", context).ok())
    return 1;
  ContextScope scope(context);
  TestProgram program;
  if (!work(program))
    return 2;
  FrameScope open(program);
  int inner = inChild([&] {
    gpuasync_stream *stream = open.stream();
    if (stream || open.leave().code() != GPUASYNC_SHUT_DOWN)
      return 1;
    FrameScope frame(program);
    if (frame.leave().code() != GPUASYNC_SHUT_DOWN)
      return 2;
    return 0;
  });
  return inner;
}

std::string textOf(const std::string &file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}
/// Of a trace's file, which is whole.
bool hasKernels(const std::string &file, int count) {
  std::string text = textOf(file), kernel = "\"cat\":\"kernel\"";
  for (size_t at = 0; (at = text.find(kernel, at)) != std::string::npos; ++at)
    --count;
  return count == 0 && text.size() > 3 &&
         text.compare(text.size() - 3, 3, "}}\n") == 0;
}

// A trace is its process's own: a forked child's end leaves the file alone.
FRESH_PROCESS_TEST(Process, ForkedChildWritesNoTrace) {
  const std::string file = testing::TempDir() + "gpuasync-process-" +
                           std::to_string(getpid()) + ".json";
  Context context;
  if (!Context::open("cpu", context).ok())
    return 1;
  ContextScope scope(context);
  TestProgram program;
  if (!Status(gpuasync_trace_start(file.c_str())).ok() || !work(program))
    return 2;
  std::string before = textOf(file);
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    FrameScope frame(program);
    (void)frame.leave();
    int code =
        Status(gpuasync_trace_stop()).code() == GPUASYNC_SHUT_DOWN ? 0 : 1;
#ifdef TEST_FINDS_LEAKS
    _exit(code); // what threads of the parent held would be leaks
#endif
    exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return 3;
  if (textOf(file) != before)
    return 4;
  if (!work(program) || !Status(gpuasync_trace_stop()).ok())
    return 5;
  bool right = hasKernels(file, 2);
  unlink(file.c_str());
  return right ? 0 : 6;
}

// So is its callback, of a frame that was open too.
FRESH_PROCESS_TEST(Process, ForkedChildCallsNoCallback) {
  Context context;
  if (!Context::open("cpu", context).ok())
    return 1;
  ContextScope scope(context);
  TestProgram program;
  int calls = 0;
  Status status(gpuasync_trace_subscribe(
      [](void *user, const gpuasync_trace_record *) {
        ++*static_cast<int *>(user);
      },
      &calls));
  gpuasync_frame frame;
  if (!status.ok() || gpuasync_frame_enter(&frame, &program.function))
    return 2;
  const int before = calls;
  pid_t child = fork();
  if (child == 0) {
    gpuasync_status_free(gpuasync_frame_leave(&frame));
    bool refused =
        Status(gpuasync_trace_unsubscribe()).code() == GPUASYNC_SHUT_DOWN;
    _exit(refused && calls == before ? 0 : 1);
  }
  int left = 0;
  waitpid(child, &left, 0);
  if (!WIFEXITED(left) || WEXITSTATUS(left) != 0)
    return 3;
  status = Status(gpuasync_frame_leave(&frame));
  if (!status.ok() || calls <= before)
    return 4;
  return Status(gpuasync_trace_unsubscribe()).ok() ? 0 : 5;
}

// exit() ends a trace that nobody else did.
TEST(ProcessBody, DISABLED_ExitsInATrace) {
  static auto *context = new Context;
  ASSERT_TRUE(Context::open("cpu", *context).ok());
  static auto *scope = new ContextScope(*context);
  (void)scope;
  static TestProgram program;
  ASSERT_TRUE(work(program));
  exit(0);
}
TEST(Process, TraceIsWholeAtExit) {
  const std::string name = testing::TempDir() + "gpuasync-exit-";
  int pid = 0;
  int code = inChild([&] {
    setenv("GPU_ASYNC_TRACE", (name + "%p.json").c_str(), 1);
    return inFreshProcess("Process", "ExitsInATrace", &pid)
               ? 1
               : !hasKernels(name + std::to_string(pid) + ".json", 1) +
                     unlink((name + std::to_string(pid) + ".json").c_str());
  });
  EXPECT_EQ(code, 0);
}

// A trace file that cannot be made is an error of what opens a context.
FRESH_PROCESS_TEST(Process, TraceNowhere) {
  setenv("GPU_ASYNC_TRACE", "/nowhere/to/be/found.json", 1);
  Context context;
  Status status = Context::open("cpu", context);
  return status.code() == GPUASYNC_INVALID_ARGUMENT &&
                 strstr(status.message(), "'/nowhere/to/be/found.json' cannot "
                                          "be written: No such file")
             ? 0
             : 1;
}

// The process may end with everything alive: no join, no call.
FRESH_PROCESS_TEST(Process, ExitWithoutShutdown_X11) {
  // Static, so that a leak checker sees that they are meant to stay.
  static auto *context = new Context;
  if (!Context::open("cpu", *context).ok())
    return 1;
  static auto *scope = new ContextScope(*context);
  (void)scope;
  static TestProgram program; // its destructor runs during exit
  static auto *frame = new FrameScope(program);
  gpuasync_stream *stream = frame->stream();
  auto *flag = frame->alloc(nullptr, 1, GPUASYNC_ALLOC_HOST_SHARED);
  *flag = 0;
  frame->launch(stream, Gate, 1, 1, GateParams{flag});
  fflush(nullptr);
  exit(0);
  return 2;
}

/// Destroyed during exit, after the runtime's own handler has run: it is older.
struct LastInExit {
  std::atomic<pid_t> thread{0};    ///< that is in a frame
  std::atomic<bool> exits{false};  ///< it may leave
  std::atomic<bool> leaves{false}; ///< it does
  std::thread joined;              ///< if it is to be joined
  /// Calls functions that abort on errors, for ever.
  [[noreturn]] void call(const Context &context, TestProgram &program) {
    while (true) {
      ContextScope scope(context);
      gpuasync_frame frame;
      gpuasync_frame_enter(&frame, &program.function);
      gpuasync_stream *stream =
          gpuasync_stream_create(&frame, 0, SITE("create"));
      thread = gettid();
      while (!exits)
        std::this_thread::yield();
      gpuasync_stream_synchronize(&frame, &stream, 1, SITE("wait"));
      leaves = true;
      gpuasync_frame_leave_or_abort(&frame);
    }
  }
  /// Whether the thread sleeps, or has ended alone, as it does after a while.
  bool isAtRest() const {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(stat, line);
    size_t name = line.rfind(')');
    return name == std::string::npos || line.compare(name, 3, ") S") == 0;
  }
  ~LastInExit() {
    exits = true;
    bool joins = joined.joinable();
    if (joins)
      joined.join();
    while (!joins && !(leaves && isAtRest()))
      std::this_thread::yield();
  }
};

// A thread in the middle of a function that aborts on errors goes no further
// when the process is in exit(), which ends as if it were not there.
FRESH_PROCESS_TEST(Process, ExitWhileOthersAreInFrames_X11) {
  static LastInExit last;
  static auto *context = new Context;
  if (!Context::open("cpu", *context).ok())
    return 1;
  static auto *program = new TestProgram;
  std::thread([] { last.call(*context, *program); }).detach();
  while (!last.thread)
    std::this_thread::yield();
  fflush(nullptr);
  exit(0);
  return 2;
}

// The same of the process's first thread.
FRESH_PROCESS_TEST(Process, ExitWhileTheFirstThreadIsInAFrame_X11) {
  static LastInExit last;
  static auto *context = new Context;
  if (!Context::open("cpu", *context).ok())
    return 1;
  static auto *program = new TestProgram;
  fflush(nullptr);
  std::thread([] {
    while (!last.thread)
      std::this_thread::yield();
    exit(0);
  }).detach();
  last.call(*context, *program);
}

// A destructor that joins such a thread goes on too.
FRESH_PROCESS_TEST(Process, ExitJoinsAThreadInAFrame_X11) {
#if __has_feature(thread_sanitizer)
  return 0; // it waits for a thread's end in its own books, besides the
            // kernel's
#endif
  static LastInExit last;
  static auto *context = new Context;
  if (!Context::open("cpu", *context).ok())
    return 1;
  static auto *program = new TestProgram;
  // What only the ended thread referred to.
  static auto *meant = new LeftBehind;
  (void)meant;
  last.joined = std::thread([] {
    const LeftBehind alsoMeant;
    last.call(*context, *program);
  });
  while (!last.thread)
    std::this_thread::yield();
  fflush(nullptr);
  exit(0);
  return 2;
}

/// A thread in a call that returns its errors, which another one's exit()
/// overtakes. Destroyed during exit, after the runtime's own handler has run.
struct OvertakenCall {
  std::thread thread;
  std::atomic<pid_t> id{0}; ///< of the thread, once the call's work is enqueued
  std::atomic<bool> exits{false}, returned{false};
  uint32_t gate = 0, begun = 0;
  bool holds = false;        ///< the kernels wait for the gate
  bool joins = false;        ///< the destructor joins the thread
  bool waits = false;        ///< the call is in its wait when exit begins
  int kernels = 20;          ///< large ones
  uint32_t blocks = 1 << 22; ///< of each

  /// Calls `call(context, memory, waitForExit)`, which enqueues, waits for exit
  /// to begin, and comes to its own wait only then. When it returns its memory
  /// goes.
  template <typename Call>
  void begin(Call call) {
    // Kernels begin before anybody waits for them.
    (void)Status(gpuasync_set_cpu_schedule("fair"));
    static auto *context = new Context;
    if (!Context::open("cpu", *context).ok())
      _exit(1);
    thread = std::thread([this, call] {
      const LeftBehind meant;
      constexpr size_t bytes = 1 << 20;
      void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      call(*context, static_cast<uint32_t *>(memory), [this] {
        id = gettid();
        while (!exits && !waits)
          std::this_thread::yield();
      });
      // The memory is the caller's again: nothing else writes it.
      auto *word = static_cast<uint32_t *>(memory);
      __atomic_store_n(word, 0, __ATOMIC_RELEASE);
      for (int looks = 0; looks < 10000; ++looks) {
        if (isSet(word))
          _exit(6);
        std::this_thread::yield();
      }
      munmap(memory, bytes);
      returned = true;
      while (!joins)
        pause();
    });
    if (!joins)
      thread.detach();
    while (!id)
      std::this_thread::yield();
    // One whose kernel is held comes to rest; another one runs blocks itself.
    for (int looks = 0; waits && looks < 1000; ++looks) {
      if (holds && !isAtRest())
        looks = 0;
      std::this_thread::yield();
    }
    fflush(nullptr);
  }
  /// Whether the thread sleeps, or has ended alone, as it does after a while.
  bool isAtRest() const {
    std::ifstream stat("/proc/self/task/" + std::to_string(id) + "/stat");
    std::string line;
    std::getline(stat, line);
    size_t name = line.rfind(')');
    return name == std::string::npos || line.compare(name, 3, ") S") == 0;
  }
  ~OvertakenCall() {
    if (!id)
      return;
    exits = true;
    if (joins) {
      thread.join();
      return;
    }
    // Kernels that are not held end, and then the call returns.
    while (!holds && !returned)
      std::this_thread::yield();
    for (int looks = 0; holds && looks < 100; ++looks) {
      if (returned)
        _exit(9); // while a kernel uses the memory
      if (!isAtRest())
        looks = 0;
      std::this_thread::yield();
    }
    openGate(&gate);
  }
  /// Large kernels, or what is held and large ones behind it.
  void enqueue(FrameScope &frame, gpuasync_stream *stream, uint32_t *memory) {
    // One that has not begun ends with exit().
    if (holds)
      frame.launch(stream, Meet, 1, 1, MeetParams{&begun, &gate});
    while (holds && !isSet(&begun))
      std::this_thread::yield();
    for (int i = 0; i < kernels; ++i)
      frame.launch(stream, Raise, blocks, 64, GateParams{memory});
  }
};
OvertakenCall overtaken;

/// A call with kernels on streams of its own.
int exitDuringACall() {
  static auto *program = new TestProgram;
  overtaken.begin([](Context &context, uint32_t *memory, auto waitForExit) {
    ContextScope scope(context);
    FrameScope frame(*program);
    gpuasync_stream *a = frame.stream(), *b = frame.stream();
    overtaken.enqueue(frame, a, memory);
    frame.waitEvent(b, frame.record(a));
    overtaken.enqueue(frame, b, memory);
    waitForExit();
    frame.wait({a, b});
    if (frame.leave().code() != GPUASYNC_SHUT_DOWN)
      _exit(8);
  });
  exit(0);
}

// The call returns once its kernels, which end early, use its memory no longer.
FRESH_PROCESS_TEST(Process, ExitDuringACall_X11) { return exitDuringACall(); }

// A call whose kernel does not end does not return.
FRESH_PROCESS_TEST(Process, ExitDuringACallThatIsHeld_X11) {
  overtaken.holds = true;
  return exitDuringACall();
}

// A destructor that joins such a thread goes on: exit() does not hang.
FRESH_PROCESS_TEST(Process, ExitJoinsACallThatIsHeld_X11) {
#if __has_feature(thread_sanitizer)
  return 0; // see ExitJoinsAThreadInAFrame_X11
#endif
  static auto *meant = new LeftBehind;
  (void)meant;
  overtaken.holds = overtaken.joins = true;
  return exitDuringACall();
}

// Nor does it where the call waits already.
FRESH_PROCESS_TEST(Process, ExitJoinsACallThatWaits_X11) {
#if __has_feature(thread_sanitizer)
  return 0; // see ExitJoinsAThreadInAFrame_X11
#endif
  static auto *meant = new LeftBehind;
  (void)meant;
  overtaken.holds = overtaken.joins = overtaken.waits = true;
  return exitDuringACall();
}

// A call that waits already, or runs blocks of its kernels itself, has these
// end early, too: in full they would take minutes.
FRESH_PROCESS_TEST(Process, ExitDuringACallThatWaits_X11) {
  overtaken.waits = true;
  overtaken.kernels = 2000;
  return exitDuringACall();
}

/// Work on a stream of the caller's, or behind a token, and a wait for it.
int exitDuringAWait(bool forToken) {
  // They do not end early, and are waited for with a limit: ThreadSanitizer
  // makes them slow.
  overtaken.kernels = 2;
  overtaken.blocks = 1 << 17;
  static auto *program = new TestProgram;
  overtaken.begin([forToken](Context &context, uint32_t *memory,
                             auto waitForExit) {
    ContextScope scope(context);
    gpuasync_stream *mine = nullptr;
    gpuasync_event *token = nullptr;
    if (gpuasync_context_stream_create(context.get(), &mine))
      _exit(7);
    {
      FrameScope frame(*program);
      gpuasync_stream *stream =
          forToken
              ? frame.stream()
              : gpuasync_stream_external(frame, 0,
                                         gpuasync_context_stream_native(mine),
                                         SITE("external"));
      overtaken.enqueue(frame, stream, memory);
      token =
          gpuasync_event_export(frame, frame.record(stream), SITE("return"));
      frame.destroy(stream, /*idle=*/false);
    }
    waitForExit();
    Status status(forToken ? gpuasync_event_wait(token)
                           : gpuasync_context_stream_synchronize(mine));
    if (status.code() != GPUASYNC_SHUT_DOWN)
      _exit(8);
  });
  exit(0);
}

FRESH_PROCESS_TEST(Process, ExitDuringAWaitForAStream_X11) {
  return exitDuringAWait(/*forToken=*/false);
}
FRESH_PROCESS_TEST(Process, ExitDuringAWaitForAToken_X11) {
  return exitDuringAWait(/*forToken=*/true);
}
FRESH_PROCESS_TEST(Process, ExitDuringAWaitThatIsHeld_X11) {
  overtaken.holds = true;
  return exitDuringAWait(/*forToken=*/true);
}

TEST(Process, DeviceListNamesEveryDriver) {
  std::string text;
  gpuasync_device_list(
      [](void *user, const char *device, const char *name, const char *,
         uint64_t, const char *why) {
        auto &out = *static_cast<std::string *>(user);
        out += std::string(device) + "|" + (name ? name : "-") + "|" +
               (why ? why : "") + "\n";
      },
      &text);
  EXPECT_NE(text.find("cpu|"), std::string::npos) << text;
  EXPECT_NE(text.find("cuda"), std::string::npos) << text;
}

// Programs for several devices can be tried on the CPU.
TEST(Process, CpuDevicesAreNumberedIfThereAreSeveral) {
  setenv("GPU_ASYNC_CPU_DEVICES", "3", 1);
  std::string listed;
  gpuasync_device_list(
      [](void *user, const char *device, const char *, const char *, uint64_t,
         const char *why) {
        if (!why && strncmp(device, "cpu", 3) == 0)
          static_cast<std::string *>(user)->append(device).append(" ");
      },
      &listed);
  EXPECT_EQ(listed, "cpu:0 cpu:1 cpu:2 ");
  TestProgram program;
  Context first, last, none;
  ASSERT_TRUE(Context::open("cpu", first).ok());
  ASSERT_TRUE(Context::open("cpu:2", last).ok());
  EXPECT_STREQ(gpuasync_context_device(first.get()), "cpu:0");
  EXPECT_STREQ(gpuasync_context_device(last.get()), "cpu:2");
  for (Context *context : {&first, &last}) {
    ContextScope scope(*context);
    EXPECT_TRUE(work(program));
  }
  EXPECT_STREQ(Context::open("cpu:3", none).message(),
               "there is no device cpu:3; cpu has 3");
  unsetenv("GPU_ASYNC_CPU_DEVICES");
  EXPECT_STREQ(Context::open("cpu:1", none).message(),
               "there is no device cpu:1; cpu has 1");
}

TEST(Process, StatsAsJson) {
  Context context;
  ASSERT_TRUE(Context::open("cpu", context).ok());
  {
    TestProgram program;
    ContextScope scope(context);
    EXPECT_TRUE(work(program));
  }
  EXPECT_TRUE(context.close().ok());
  char text[2000];
  uint64_t length = gpuasync_stats_json(context.get(), text, sizeof(text));
  EXPECT_EQ(length, strlen(text));
  EXPECT_NE(strstr(text, "{\"device\": \"cpu\", \"streams\": {\"created\": 1, "
                         "\"destroyed\": 1, \"live\": 0, \"peak\": 1, "
                         "\"physical\": 0}"),
            nullptr)
      << text;
}

} // namespace
