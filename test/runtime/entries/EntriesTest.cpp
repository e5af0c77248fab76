//===- EntriesTest.cpp - Each entry where it must not work ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every public entry in a forked child, during exit, on a closed context, on a
// lost device, without memory, and while nothing ends: each in a process of its
// own, none may crash or hang.
//===----------------------------------------------------------------------===//

#include "Entries.h"
#include "../../Inputs/TimeLimit.h"
#include "HostCalls.h"

#include <algorithm>
#include <errno.h>
#include <iterator>
#include <set>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

/// What a child tells, in shared memory.
struct Report {
  char entry[64];   ///< that is being called
  char text[2000];  ///< what is wrong
  uint64_t counted; ///< allocations
};
Report *report;

void complain(const char *entry, const char *what, const char *detail = "") {
  size_t used = strlen(report->text);
  snprintf(report->text + used, sizeof(report->text) - used, "%s: %s%s\n",
           entry, what, detail);
}

/// Runs `body` in a child of this process, which has used nothing of the
/// runtime. What is wrong, or "".
template <typename Body>
std::string inChild(Body body) {
  if (!report)
    report = static_cast<Report *>(mmap(nullptr, sizeof(Report),
                                        PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *report = {};
  int log = memfd_create("entries", 0);
  fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    dup2(log, 2);
    alarm(gpuasync_test::timeLimit(20)); // a hang ends it
    // What is thrown must not come back to this test.
    [&]() noexcept { body(); }();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::string wrong = report->text;
  if (WIFSIGNALED(status))
    wrong += std::string(report->entry) + ": signal " +
             std::to_string(WTERMSIG(status)) +
             (WTERMSIG(status) == SIGALRM ? ": a hang" : "") + "\n";
  else if (WEXITSTATUS(status))
    wrong += std::string(report->entry) + ": exit code " +
             std::to_string(WEXITSTATUS(status)) + "\n";
  if (!wrong.empty()) {
    char said[4000] = "";
    (void)!pread(log, said, sizeof(said) - 1, 0);
    wrong += said;
  }
  close(log);
  return wrong;
}

/// Calls an entry, with its name told to the parent.
Status call(const EntryCall &entry, World &world) {
  snprintf(report->entry, sizeof(report->entry), "%s", entry.name);
  return entry.call(world);
}

void makeWorld(World &world) {
  Status status = world.make();
  if (!status.ok()) {
    complain("setting up", status.message());
    _exit(1);
  }
}

/// Calls all entries where none works and most say so. What they were given
/// stays: they have not taken it.
void callAll(World &world) {
  const Handles kept = world;
  for (const EntryCall &entry : entryCalls()) {
    if (entry.kind > EntryCall::Ends)
      continue;
    Status status = call(entry, world);
    bool refused = status.code() == GPUASYNC_SHUT_DOWN;
    bool refuses =
        entry.kind == EntryCall::Refuses ||
        (entry.kind == EntryCall::Reads && gpuasync_process_forked());
    if (entry.kind != EntryCall::Ends && refused != refuses)
      complain(entry.name, "says ", status.message());
    static_cast<Handles &>(world) = kept;
  }
}

class Entries : public testing::TestWithParam<const char *> {
protected:
  const char *device = GetParam();
  Mock *mock = mockOf("cuda-on-mock");

  /// Each entry that is called in a process of its own, in a world that
  /// `change` has changed. `expected`: what it may say; 0 is success.
  template <typename Change>
  void callEach(Change change, std::set<uint32_t> expected,
                std::set<std::string> without = {}) {
    for (const EntryCall &entry : entryCalls()) {
      if (entry.kind > EntryCall::Ends || without.count(entry.name))
        continue;
      std::string wrong = inChild([&] {
        World world(device);
        makeWorld(world);
        change(world);
        Status status = call(entry, world);
        if (!expected.count(status.code()))
          complain(entry.name, "says ", status.message());
        gpuasync_set_timeout(0);
        snprintf(report->entry, sizeof(report->entry), "the end after %s",
                 entry.name);
        world.end();
      });
      EXPECT_EQ(wrong, "") << entry.name;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Entries, testing::Values("cuda", "cpu"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

// The list of entries is what the libraries export.
TEST(EntryList, IsComplete) {
  std::set<std::string> called, exported;
  for (const EntryCall &entry : entryCalls())
    EXPECT_TRUE(called.insert(entry.name).second) << entry.name;
  for (const char *library : {RUNTIME_LIBRARY, MGPU_LIBRARY, CHECK_LIBRARY})
    for (const std::string &name : exportsOf(library))
      EXPECT_TRUE(exported.insert(name).second) << name;
  EXPECT_GT(exported.size(), 100u);
  std::vector<std::string> missing, gone;
  std::set_difference(exported.begin(), exported.end(), called.begin(),
                      called.end(), std::back_inserter(missing));
  std::set_difference(called.begin(), called.end(), exported.begin(),
                      exported.end(), std::back_inserter(gone));
  EXPECT_EQ(missing, std::vector<std::string>())
      << "exported, and not called in Entries.cpp";
  EXPECT_EQ(gone, std::vector<std::string>())
      << "called in Entries.cpp, and not exported";
}

// All do what they are for, or the tests below show nothing.
TEST_P(Entries, Work) {
  callEach([](World &) {}, {GPUASYNC_OK});
}

//===----------------------------------------------------------------------===//
// Null
//===----------------------------------------------------------------------===//

// Null for each pointer is refused, or means what the headers say.
TEST_P(Entries, WithNull) {
  std::set<std::string> missing;
  for (const EntryCall &entry : entryCalls())
    if (entry.kind <= EntryCall::Aborts)
      missing.insert(entry.name);
  for (const NullCall &entry : nullCalls()) {
    EXPECT_EQ(missing.erase(entry.name), 1u) << entry.name;
    std::string wrong = inChild([&] {
      snprintf(report->entry, sizeof(report->entry), "%s", entry.name);
      World world(device);
      int which = 0;
      for (bool more = true; more; ++which) {
        char expected =
            which < int(strlen(entry.expected)) ? entry.expected[which] : 0;
        if (expected == '-')
          continue;
        makeWorld(world);
        Status said;
        more = entry.call(world, which, said);
        if (said.ok() && world.frame.failed) {
          world.open = false;
          said = Status(gpuasync_frame_leave(&world.frame));
        }
        if (said.ok())
          said = errorOfMgpu();
        snprintf(report->entry, sizeof(report->entry), "%s %d", entry.name,
                 which);
        if (more != (expected != 0))
          complain(report->entry, "has another number of pointers");
        bool refused = said.code() == GPUASYNC_INVALID_ARGUMENT ||
                       (!said.ok() && gpuasync_mgpu_error());
        if (more && (expected == 'r' ? !refused : !said.ok()))
          complain(report->entry, "says ", said.message());
        gpuasync_mgpu_close();
        world.mgpuStream = world.mgpuEvent = world.mgpuModule =
            world.mgpuFunction = world.mgpuMemory = nullptr;
      }
      world.end();
    });
    EXPECT_EQ(wrong, "") << entry.name;
  }
  EXPECT_EQ(missing, std::set<std::string>());
}

//===----------------------------------------------------------------------===//
// fork
//===----------------------------------------------------------------------===//

/// Takes all mutexes that the process's threads have ever locked, until its
/// life ends.
class HolderOfAll {
public:
  HolderOfAll()
      : thread([this] {
          std::vector<void *> held = HostCalls::lockAll();
          count = held.size();
          locked = true;
          while (!stop)
            std::this_thread::yield();
          HostCalls::unlockAll(held);
        }) {
    while (!locked)
      std::this_thread::yield();
  }
  ~HolderOfAll() {
    stop = true;
    thread.join();
  }
  size_t count = 0;

private:
  std::atomic<bool> locked{false}, stop{false};
  std::thread thread;
};

// In a child of a process whose other threads hold every lock there is, each
// entry comes back at once, and says why if it can.
TEST_P(Entries, RefuseInAForkedChild) {
  std::string wrong = inChild([&] {
    HostCalls::followLocks();
    World world(device);
    makeWorld(world);
    // So that all locks are known: each entry once, and what it used up.
    for (const EntryCall &entry : entryCalls())
      if (entry.kind <= EntryCall::Serves) {
        (void)call(entry, world);
        gpuasync_set_timeout(0);
        makeWorld(world);
      }
    pid_t child;
    {
      HolderOfAll holder;
      if (holder.count < 20)
        complain("test", "too few locks are known");
      child = fork();
      if (child == 0) {
        alarm(gpuasync_test::timeLimit(10));
        callAll(world);
        _exit(0);
      }
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status)
      _exit(9);
  });
  EXPECT_EQ(wrong, "");
}

//===----------------------------------------------------------------------===//
// exit
//===----------------------------------------------------------------------===//

World *lastWorld;
Mock *lastMock;

// While the process ends each entry comes back at once, and the vendor hears of
// none.
TEST_P(Entries, RefuseDuringExit) {
  std::string wrong = inChild([&] {
    // Registered first, so it runs last.
    atexit([] {
      uint64_t calls = lastMock->mock_calls(nullptr);
      callAll(*lastWorld);
      if (lastMock->mock_calls(nullptr) != calls)
        complain("exit", "the vendor was called");
    });
    lastMock = mock;
    lastWorld = new World(device);
    makeWorld(*lastWorld);
    fflush(nullptr);
    exit(0);
  });
  EXPECT_EQ(wrong, "");
}

// Upstream's symbols come back, too, while threads that go no further hold
// every lock there is.
TEST_P(Entries, OfUpstreamDuringExitTakeNoLock) {
  std::string wrong = inChild([&] {
    HostCalls::followLocks();
    atexit([] {
      HolderOfAll holder;
      if (holder.count < 20)
        complain("test", "too few locks are known");
      for (const EntryCall &entry : entryCalls())
        if (entry.kind <= EntryCall::Ends && strstr(entry.name, "mgpu") &&
            entry.kind != EntryCall::Reads)
          (void)call(entry, *lastWorld);
    });
    lastWorld = new World(device);
    makeWorld(*lastWorld);
    for (const EntryCall &entry : entryCalls())
      if (entry.kind <= EntryCall::Serves) {
        (void)call(entry, *lastWorld);
        gpuasync_set_timeout(0);
        makeWorld(*lastWorld);
      }
    fflush(nullptr);
    exit(0);
  });
  EXPECT_EQ(wrong, "");
}

//===----------------------------------------------------------------------===//
// What has ended, is lost, or does not end
//===----------------------------------------------------------------------===//

TEST_P(Entries, OnAClosedContext_E07) {
  callEach(
      [](World &world) {
        world.leave();
        gpuasync_status_free(gpuasync_context_close(world.context));
        // Entered again it has failed.
        gpuasync_frame_enter(&world.frame, &world.program.function);
        world.open = true;
        world.stream = nullptr;
        world.event = nullptr;
        world.x = world.flag = nullptr;
      },
      {GPUASYNC_OK, GPUASYNC_SHUT_DOWN});
}

TEST_P(Entries, AfterShutdown_E07) {
  callEach(
      [](World &world) {
        world.leave();
        gpuasync_status_free(gpuasync_shutdown());
        gpuasync_frame_enter(&world.frame, &world.program.function);
        world.open = true;
        world.stream = nullptr;
        world.event = nullptr;
        world.x = world.flag = nullptr;
      },
      {GPUASYNC_OK, GPUASYNC_SHUT_DOWN});
}

TEST_P(Entries, OnALostDevice) {
  if (!strcmp(device, "cpu"))
    return; // it cannot be lost
  callEach(
      [](World &world) {
        // Another thread's kernel does it; the frame of this one is open.
        std::thread([&] {
          ContextScope scope(world.context);
          gpuasync_frame frame;
          gpuasync_frame_enter(&frame, &world.program.function);
          gpuasync_stream *stream =
              gpuasync_stream_create(&frame, 0, SITE("op"));
          alignas(16) FailParams params = {1};
          gpuasync_launch_config block = makeLaunch(1, 1, params);
          gpuasync_launch(&frame, stream, world.program.launchSites[Fail],
                          &block);
          gpuasync_stream_synchronize(&frame, &stream, 1, SITE("op"));
          Status status(gpuasync_frame_leave(&frame));
          if (status.code() != GPUASYNC_DEVICE_LOST)
            complain("test", "the device is not lost: ", status.message());
        }).join();
      },
      {GPUASYNC_OK, GPUASYNC_DEVICE_LOST});
}

// With a time limit each entry ends, whatever does not, but for the vendor's
// own loading and unloading, which waits for kernels of any context
// (Runtime.md).
TEST_P(Entries, WhileNothingEnds) {
  std::set<std::string> without;
  if (strcmp(device, "cpu"))
    without = {"gpuasync_context_open", "gpuasync_mgpu_close", "mgpuModuleLoad",
               "mgpuModuleLoadJIT", "mgpuModuleUnload"};
  callEach(
      [](World &world) {
        __atomic_store_n(world.flag, 0, __ATOMIC_RELEASE);
        gpuasync_stream *callers = gpuasync_stream_external(
            &world.frame, 0, gpuasync_context_stream_native(world.callers),
            SITE("external"));
        for (gpuasync_stream *stream : {world.stream, callers}) {
          alignas(16) GateParams params = {world.flag};
          gpuasync_launch_config block = makeLaunch(1, 1, params);
          gpuasync_launch(&world.frame, stream, world.program.launchSites[Gate],
                          &block);
        }
        gpuasync_event_release(world.token);
        world.token = gpuasync_event_export(
            &world.frame,
            gpuasync_event_record(&world.frame, world.stream, SITE("op")),
            SITE("op"));
        world.event =
            gpuasync_event_record(&world.frame, world.stream, SITE("op"));
        gpuasync_set_timeout(0.02);
      },
      {GPUASYNC_OK, GPUASYNC_TIMEOUT}, without);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

const int *(*depthInMock)();
thread_local bool ours = false; ///< the caller's thread, and the runtime's own
std::atomic<uint64_t> allocations{0}, failAt{0};
std::atomic<bool> lasts{false};

// Each allocation of each entry fails, alone and with all that follow.
TEST_P(Entries, WithoutMemory_E05) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  constexpr uint64_t most = 3;
#else
  constexpr uint64_t most = UINT64_MAX;
#endif
#endif
  for (const EntryCall &entry : entryCalls()) {
    // The checker ends a program for whose books there is no memory (Check.md).
    if (entry.kind > EntryCall::Ends || strstr(entry.name, "check_"))
      continue;
    // Up to the first failure both rounds are the same: what the one does not
    // reach, the other need not try.
    uint64_t reached = most;
    for (bool lasting : {false, true})
      for (uint64_t number = 1; number <= reached; ++number) {
        std::string wrong = inChild([&] {
          World world(device);
          makeWorld(world);
          HostCalls::hook([](HostCall call, const char *) -> int {
            // What the fake library does is not the runtime's doing.
            if (call != HostCall::Allocation || !failAt || !ours ||
                *depthInMock())
              return HostCalls::Happens;
            uint64_t now = ++allocations;
            return now == failAt || (lasts && now > failAt)
                       ? ENOMEM
                       : HostCalls::Happens;
          });
          HostCalls::followThreads([] { return true; }, [] { ours = true; });
          ours = true;
          depthInMock = mock->mock_depth;
          lasts = lasting;
          failAt = number;
          Status status = call(entry, world);
          failAt = 0;
          HostCalls::hook(nullptr);
          report->counted = allocations;
          if (!status.ok() && status.code() != GPUASYNC_OUT_OF_MEMORY)
            complain(entry.name, "says ", status.message());
          snprintf(report->entry, sizeof(report->entry), "the end after %s",
                   entry.name);
          world.end();
          if (strcmp(device, "cpu") && mock->mock_live(nullptr))
            complain(entry.name, "objects of the driver are left");
        });
        EXPECT_EQ(wrong, "") << entry.name << ", allocation " << number
                             << (lasting ? " and later ones" : "");
        if (report->counted < number)
          reached = number - 1;
      }
  }
}

} // namespace
