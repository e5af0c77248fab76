//===- InterruptTest.cpp - pthread_cancel, signals of writes --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an embedder does to its threads and files ends no entry in the middle
// and not the process. Each test is a process of its own.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "FreshProcess.h"
#include "gpuasync/DiskCache.h"
#include "gpuasync/Program.h"
#include "gpuasync/Trace.h"

#include <fcntl.h>
#include <functional>
#include <optional>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

//===----------------------------------------------------------------------===//
// Threads that are cancelled
//===----------------------------------------------------------------------===//

/// A thread that is cancelled while it is in `call`.
class CancelledThread {
public:
  explicit CancelledThread(std::function<void()> call) : call(std::move(call)) {
    pthread_create(
        &thread, nullptr,
        [](void *self) -> void * {
          static_cast<CancelledThread *>(self)->run();
          return nullptr;
        },
        this);
  }
  CancelledThread(const CancelledThread &) = delete;
  /// Until it waits for something; then it is cancelled, and goes on to wait.
  void cancel() {
    settle();
    EXPECT_FALSE(returned);
    pthread_cancel(thread);
    settle();
    EXPECT_FALSE(returned);
  }
  /// It comes back from its call, and ends then.
  void join() {
    void *result = nullptr;
    pthread_join(thread, &result);
    EXPECT_EQ(result, PTHREAD_CANCELED);
    EXPECT_TRUE(returned);
  }

private:
  void run() {
    id = static_cast<int>(syscall(SYS_gettid));
    call();
    returned = true;
    while (true)
      pause();
  }
  void settle() {
    for (int looks = 0; !returned && looks < 50; ++looks) {
      if (!isAsleep())
        looks = 0;
      std::this_thread::yield();
    }
  }
  bool isAsleep() const {
    char path[64], state = 'R';
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", id.load());
    FILE *file = id ? fopen(path, "r") : nullptr;
    if (file) {
      (void)!fscanf(file, "%*d (%*[^)]) %c", &state);
      fclose(file);
    }
    return state == 'S';
  }

  std::function<void()> call;
  std::atomic<int> id{0};
  std::atomic<bool> returned{false};
  pthread_t thread;
};

/// A context with work that a gate holds.
struct Held {
  Held() {
    EXPECT_TRUE(Context::open("cpu", context).ok());
    EXPECT_EQ(gpuasync_context_stream_create(context.get(), &mine), nullptr);
  }
  void enqueue(FrameScope &frame, gpuasync_stream *stream) {
    frame.launch(stream, Gate, 1, 1, GateParams{&gate});
  }
  void enqueueOnMine() {
    ContextScope scope(context);
    FrameScope frame(program);
    gpuasync_stream *stream = gpuasync_stream_external(
        frame, 0, gpuasync_context_stream_native(mine), SITE("external"));
    enqueue(frame, stream);
    frame.destroy(stream);
  }
  void finish(CancelledThread &thread) {
    thread.cancel();
    openGate(&gate);
    thread.join();
    gpuasync_context_stream_destroy(mine);
    // What it used is as ever.
    if (!closed) {
      ContextScope scope(context);
      FrameScope frame(program);
      gpuasync_stream *stream = frame.stream();
      uint32_t word = 0;
      frame.launch(stream, Store, 1, 1, StoreParams{&word, 5});
      EXPECT_EQ(frame.wait({stream}), 0);
      EXPECT_EQ(word, 5u);
    }
    EXPECT_EQ(gpuasync_program_release(&program.program), nullptr);
    Status status = context.close();
    EXPECT_TRUE(status.ok()) << status.message();
  }

  TestProgram program;
  Context context;
  gpuasync_stream *mine = nullptr;
  uint32_t gate = 0;
  bool closed = false;
};

/// Results of the test's own process.
int result() { return testing::Test::HasFailure() ? 1 : 0; }

FRESH_PROCESS_TEST(Interrupt, CancelledInAHostWait) {
  for (double limit : {0.0, 100.0}) {
    gpuasync_set_timeout(limit);
    Held held;
    CancelledThread thread([&] {
      ContextScope scope(held.context);
      FrameScope frame(held.program);
      gpuasync_stream *stream = frame.stream();
      held.enqueue(frame, stream);
      EXPECT_EQ(frame.wait({stream}), 0);
    });
    held.finish(thread);
  }
  return result();
}

// What an error leaves to its end is waited for.
FRESH_PROCESS_TEST(Interrupt, CancelledWhileAFrameIsLeft) {
  Held held;
  CancelledThread thread([&] {
    ContextScope scope(held.context);
    FrameScope frame(held.program);
    gpuasync_stream *stream = frame.stream();
    held.enqueue(frame, stream);
    frame.launch(stream, Store, -1, 1, StoreParams{nullptr, 1});
    EXPECT_FALSE(frame.leave().ok());
  });
  held.finish(thread);
  return result();
}

FRESH_PROCESS_TEST(Interrupt, CancelledInWaitsOfCallers) {
  for (bool forToken : {false, true}) {
    Held held;
    gpuasync_event *token = nullptr;
    if (forToken) {
      ContextScope scope(held.context);
      FrameScope frame(held.program);
      gpuasync_stream *stream = frame.stream();
      held.enqueue(frame, stream);
      token =
          gpuasync_event_export(frame, frame.record(stream), SITE("return"));
      frame.destroy(stream, /*idle=*/false);
    } else {
      held.enqueueOnMine();
    }
    CancelledThread thread([&] {
      Status status(forToken ? gpuasync_event_wait(token)
                             : gpuasync_context_stream_synchronize(held.mine));
      EXPECT_TRUE(status.ok()) << status.message();
      gpuasync_event_release(token);
    });
    held.finish(thread);
  }
  return result();
}

// Of those that wait for frames and work of others.
FRESH_PROCESS_TEST(Interrupt, CancelledWhileThingsAreGivenBack) {
  for (int which = 0; which < 4; ++which) {
    Held held;
    held.enqueueOnMine();
    if (which == 3) { // a wait for abandoned work
      gpuasync_set_timeout(0.02);
      ContextScope scope(held.context);
      FrameScope frame(held.program);
      gpuasync_stream *stream = frame.stream();
      held.enqueue(frame, stream);
      EXPECT_EQ(frame.wait({stream}), 1);
      EXPECT_EQ(frame.leave().code(), uint32_t(GPUASYNC_TIMEOUT));
      gpuasync_set_timeout(0);
    }
    CancelledThread thread([&] {
      Status status =
          which == 0   ? held.context.trim()
          : which == 1 ? Status(gpuasync_program_release(&held.program.program))
          : which == 2 ? held.context.close()
                       : held.context.waitAbandoned();
      // A stream of the caller's is alive at the close.
      EXPECT_TRUE(status.ok() || which == 2) << status.message();
    });
    held.closed = which == 2;
    held.finish(thread);
  }
  return result();
}

//===----------------------------------------------------------------------===//
// Signals of writes
//===----------------------------------------------------------------------===//

/// What the process does about a signal, and what this thread has of it.
struct SignalState {
  explicit SignalState(int signal) {
    struct sigaction action;
    sigaction(signal, nullptr, &action);
    handler = action.sa_handler;
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, nullptr, &set);
    blocked = sigismember(&set, signal);
    sigpending(&set);
    pending = sigismember(&set, signal);
  }
  bool operator==(const SignalState &other) const {
    return handler == other.handler && blocked == other.blocked &&
           pending == other.pending;
  }
  void (*handler)(int);
  bool blocked, pending;
};

void work(const Context &context, TestProgram &program, int times) {
  ContextScope scope(context);
  for (int i = 0; i < times; ++i) {
    FrameScope frame(program);
    gpuasync_stream *stream = frame.stream();
    uint32_t word = 0;
    frame.launch(stream, Store, 1, 1, StoreParams{&word, 5});
    EXPECT_EQ(frame.wait({stream}), 0);
  }
}

/// While one lives the process writes no file beyond so many bytes. What tests
/// print may go into a longer one.
class FileLimit {
public:
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    rlimit limit = {bytes, before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  FileLimit(const FileLimit &) = delete;
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before); }

private:
  rlimit before;
};

std::string fileName(const char *what) {
  return testing::TempDir() + "gpuasync-interrupt-" + std::to_string(getpid()) +
         what;
}

// The limit of a process's files ends a trace, and not the process.
FRESH_PROCESS_TEST(Interrupt, TraceBeyondTheLimitOfFiles) {
  const std::string file = fileName(".json");
  for (bool blocked : {false, true}) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    pthread_sigmask(blocked ? SIG_BLOCK : SIG_UNBLOCK, &set, nullptr);
    if (blocked)
      raise(SIGXFSZ); // the caller's own stays
    const SignalState before(SIGXFSZ);
    EXPECT_EQ(before.pending, blocked);
    std::optional<FileLimit> limit(std::in_place, 20000);
    Context context;
    EXPECT_TRUE(Context::open("cpu", context).ok());
    TestProgram program;
    EXPECT_EQ(gpuasync_trace_start(file.c_str()), nullptr);
    work(context, program, 500);
    Status status(gpuasync_trace_stop());
    limit.reset();
    EXPECT_NE(
        std::string(status.message()).find("is not whole: File too large"),
        std::string::npos)
        << status.message();
    EXPECT_TRUE(SignalState(SIGXFSZ) == before);
    EXPECT_EQ(gpuasync_program_release(&program.program), nullptr);
    EXPECT_TRUE(context.close().ok());
  }
  unlink(file.c_str());
  return result();
}

// A write of the embedder's own is as deadly as it was.
FRESH_PROCESS_TEST(Interrupt, WritesOfOthersRaiseTheSignal) {
  const std::string file = fileName(".txt");
  std::optional<FileLimit> limit(std::in_place, 4096);
  Context context;
  EXPECT_TRUE(Context::open("cpu", context).ok());
  TestProgram program;
  EXPECT_EQ(gpuasync_trace_start((file + ".json").c_str()), nullptr);
  work(context, program, 100);
  EXPECT_FALSE(Status(gpuasync_trace_stop()).ok());
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    std::string text(8192, 'x');
    for (int i = 0; i < 2; ++i)
      (void)!write(descriptor, text.data(), text.size());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  limit.reset();
  EXPECT_EQ(exitCodeOf(status), 128 + SIGXFSZ);
  unlink(file.c_str());
  unlink((file + ".json").c_str());
  return result();
}

// Another user's link in a folder for all leads a trace nowhere, an own one
// does.
FRESH_PROCESS_TEST(Interrupt, TraceThroughALink) {
  const std::string folder = fileName(".folder"), link = folder + "/t.json",
                    victim = fileName(".victim");
  EXPECT_EQ(mkdir(folder.c_str(), 0700), 0);
  EXPECT_EQ(chmod(folder.c_str(), 01777), 0);
  // The folder's owner may lead others elsewhere; only root can give it away.
  const bool isRoot = geteuid() == 0;
  if (isRoot)
    EXPECT_EQ(chown(folder.c_str(), 65533, 65533), 0);
  for (bool isOwn : {false, true}) {
    FILE *file = fopen(victim.c_str(), "w");
    fputs("precious", file);
    fclose(file);
    EXPECT_EQ(symlink(victim.c_str(), link.c_str()), 0);
    if (isRoot && !isOwn)
      EXPECT_EQ(lchown(link.c_str(), 65534, 65534), 0);
    Status status(gpuasync_trace_start(link.c_str()));
    EXPECT_EQ(status.ok(), isOwn || !isRoot) << status.message();
    if (status.ok())
      EXPECT_TRUE(Status(gpuasync_trace_stop()).ok());
    char text[16] = "";
    file = fopen(victim.c_str(), "r");
    EXPECT_TRUE(fgets(text, sizeof(text), file));
    fclose(file);
    EXPECT_EQ(std::string(text) == "precious", isRoot && !isOwn) << text;
    unlink(link.c_str());
  }
  unlink(victim.c_str());
  rmdir(folder.c_str());
  return result();
}

// A pipe as a trace's file is refused where nobody reads it, and ends the trace
// where its reader goes.
FRESH_PROCESS_TEST(Interrupt, TraceIntoAPipe) {
  const std::string pipe = fileName(".pipe");
  EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Context context;
  EXPECT_TRUE(Context::open("cpu", context).ok());
  TestProgram program;
  Status status(gpuasync_trace_start(pipe.c_str()));
  EXPECT_EQ(status.code(), uint32_t(GPUASYNC_INVALID_ARGUMENT));
  EXPECT_NE(std::string(status.message()).find("a pipe that nobody reads"),
            std::string::npos)
      << status.message();
  for (bool reads : {true, false}) {
    int reader = open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    status = Status(gpuasync_trace_start(pipe.c_str()));
    EXPECT_TRUE(status.ok()) << status.message();
    if (!reads)
      close(reader);
    const SignalState before(SIGPIPE);
    work(context, program, 10);
    status = Status(gpuasync_trace_stop());
    EXPECT_EQ(status.ok(), reads) << status.message();
    EXPECT_TRUE(SignalState(SIGPIPE) == before);
    if (reads) {
      char text[64] = "";
      EXPECT_GT(read(reader, text, sizeof(text) - 1), 0);
      EXPECT_EQ(std::string(text).find("{\"displayTimeUnit\""), 0u) << text;
      close(reader);
    } else {
      EXPECT_NE(std::string(status.message()).find("Broken pipe"),
                std::string::npos)
          << status.message();
    }
  }
  unlink(pipe.c_str());
  EXPECT_EQ(gpuasync_program_release(&program.program), nullptr);
  EXPECT_TRUE(context.close().ok());
  return result();
}

} // namespace
