//===- SweepTest.cpp - Each call that can fail does, in turn --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// E01, E03, E05, X01: for each program and device, each vendor call and each
// call of the host's (memory, threads, files) that the runtime makes fails, in
// a process of its own: no crash, hang, leak, lost first error or false
// success. GPUASYNC_SWEEP=full tries each call with every error.
//===----------------------------------------------------------------------===//

#include "../../Inputs/TimeLimit.h"
#include "Programs.h"

#include <algorithm>
#include <errno.h>
#include <filesystem>
#include <map>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
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

namespace {

#ifdef SWEEP_FINDS_LEAKS
constexpr uint64_t defaultStep = 23; // looking for leaks takes 50 ms each time
#else
constexpr uint64_t defaultStep = 1;
#endif

/// How the calls of one kind fail.
struct FaultKind {
  Fault fault;
  const char *name;
  std::vector<int> codes;
  bool lasts; ///< a failure that stays is tried too
};
const std::vector<FaultKind> &kinds() {
  static const std::vector<FaultKind> all = {
      {Fault::VendorCall, "vendor calls", {1, 2, deviceFault, 999}, false},
      {Fault::Allocation, "allocations", {ENOMEM}, true},
      {Fault::Mapping, "mappings", {ENOMEM}, true},
      {Fault::Thread, "threads", {EAGAIN}, true},
      {Fault::File,
       "file calls",
       {ENOSPC, EIO, EMFILE, HostCalls::Half},
       true}};
  return all;
}

class Sweep : public testing::TestWithParam<const char *> {
protected:
  using Body = void (*)(Life &);

  void SetUp() override {
    for (const Expectation &gap : expectations(device, Expected::Unsupported))
      GTEST_SKIP() << gap.reason;
    outcome = static_cast<Outcome *>(mmap(nullptr, sizeof(Outcome),
                                          PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(static_cast<void *>(outcome), MAP_FAILED);
    log = memfd_create("sweep", 0);
    char name[] = "/tmp/gpu-async-sweep-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    work = name;
  }
  void TearDown() override {
    if (!outcome)
      return;
    munmap(outcome, sizeof(Outcome));
    close(log);
    std::filesystem::remove_all(work);
  }

  /// One life in a process of its own; what it was.
  Outcome live(Body body, const Injection &injection) {
    *outcome = {};
    (void)!ftruncate(log, 0);
    lseek(log, 0, SEEK_SET);
    std::string folder = work + "/files";
    std::filesystem::remove_all(folder);
    pid_t child = fork();
    if (child == 0) {
      dup2(log, 2);
      alarm(gpuasync_test::timeLimit(10)); // a hang ends it
      // One operation at a time, in an order that the seed gives.
      setenv("GPU_ASYNC_CPU_SCHEDULE",
             strstr(device, "adversarial") ? "adversarial:1" : "fair", 1);
      setenv("GPU_ASYNC_CACHE", "off", 1);
      {
        Life life(injection, device, folder, *outcome);
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

  /// What became of the injections of one kind.
  struct Tally {
    uint64_t injections = 0, fired = 0, errors = 0;
  };

  /// Whether the failure came to pass.
  bool inject(Body body, Injection injection, const FaultKind &kind,
              Tally &tally) {
    injection.fault = kind.fault;
    // Half of the callers have a context of their own.
    injection.callersContext = injection.index % 2;
    // How often a wait asks, and with it how many calls there are, depends on
    // the machine's load: a life may end before the call that was to fail.
    Outcome result;
    for (int life = 0; life < 3; ++life) {
      result = live(body, injection);
      if (result.fired || result.problem[0])
        break;
    }
    ++tally.injections;
    tally.fired += result.fired;
    tally.errors += result.failed;
    if (!result.problem[0])
      return result.fired;
    std::string problem = std::string(result.call) + ": " + result.problem;
    if (++problems[problem] > 2)
      return result.fired;
    ADD_FAILURE() << kind.name << " " << injection.index << " " << result.call
                  << " code " << injection.code
                  << (injection.lasting ? " and all after it" : "")
                  << "\n  problem: " << result.problem
                  << "\n  first error: " << result.first << "\n"
                  << childsLog();
    return result.fired;
  }

  struct Options {
    /// So many calls of a kind the program must come to at least.
    std::vector<std::pair<Fault, uint64_t>> reaches;
    uint64_t step = 1; ///< of slow programs only each step-th failure, unless
                       ///< all are wanted
    bool mayRunOutOfMemory = true; ///< a vendor call
    bool tells = true;             ///< failures come to errors
  };

  void sweep(Body body, const Options &options) {
    Outcome whole = live(body, {});
    ASSERT_STREQ(whole.problem, "") << childsLog();
    for (auto &[fault, least] : options.reaches)
      EXPECT_GE(whole.counts[int(fault)], least) << kinds()[size_t(fault)].name;
#ifdef SWEEP_IS_SLOW
    return; // the program alone
#endif
    // Calls that every life comes to. On a busy machine several in turn may map
    // memory for threads that most lives do without.
    for (int life = 0; life < 6; ++life) {
      Outcome other = live(body, {});
      ASSERT_STREQ(other.problem, "") << childsLog();
      for (unsigned i = 0; i < faultKinds; ++i) {
        whole.counts[i] = std::min(whole.counts[i], other.counts[i]);
        whole.inProgram[i] = std::min(whole.inProgram[i], other.inProgram[i]);
      }
    }
    const char *mode = getenv("GPUASYNC_SWEEP");
    bool full = mode && !strcmp(mode, "full");
    const uint64_t step = full ? 1 : options.step * defaultStep;
    // Calls behind the last one may not come again.
    const uint64_t enough = step > 1 ? 1 : 3;
    for (const FaultKind &kind : kinds()) {
      Tally tally;
      const size_t variants = kind.codes.size() * (1 + kind.lasts);
      uint64_t beyond = 0;
      uint64_t count = whole.counts[int(kind.fault)];
      for (uint64_t i = 1; i <= count && beyond < enough; i += step)
        for (uint64_t v = 0; v < (full ? variants : 1); ++v) {
          uint64_t variant = (i / step + v) % variants;
          Injection injection;
          injection.index = i;
          injection.code = kind.codes[variant % kind.codes.size()];
          injection.lasting = variant >= kind.codes.size();
          if (kind.fault == Fault::VendorCall && injection.code == 2 &&
              !options.mayRunOutOfMemory)
            continue;
          // What lasts ends with the program.
          if (i > whole.inProgram[int(kind.fault)]) {
            if (injection.lasting && v)
              continue;
            injection.lasting = false;
          }
          beyond = inject(body, injection, kind, tally) ? 0 : beyond + 1;
        }
      if (!count)
        continue;
      printf("%4llu %s: %llu injections, %llu came to pass, %llu reported\n",
             static_cast<unsigned long long>(count), kind.name,
             static_cast<unsigned long long>(tally.injections),
             static_cast<unsigned long long>(tally.fired),
             static_cast<unsigned long long>(tally.errors));
      // A sweep in which next to nothing fails is none. How many threads the
      // cpu device makes depends on whether one is idle just then: of few
      // injections some may not come to pass.
      uint64_t spare = kind.fault == Fault::Thread ? 2 : 0;
      EXPECT_GE(tally.fired + std::min(spare, tally.injections / 2),
                tally.injections * 9 / 10)
          << kind.name;
      if (options.tells &&
          (kind.fault == Fault::VendorCall || kind.fault == Fault::Allocation))
        EXPECT_GT(tally.errors, tally.injections / 4) << kind.name;
    }
  }

  /// Of a program that works on a device.
  Options onDevice() const {
    bool cpu = !strncmp(device, "cpu", 3);
    return {{{Fault::VendorCall, cpu ? 0 : 20},
             {Fault::Allocation, 20},
             {Fault::Mapping, cpu}}};
  }
  void sweep(Body body) { sweep(body, onDevice()); }
  /// Every fifth call only.
  void sweepSome(Body body) {
    Options options = onDevice();
    options.step = 5;
    sweep(body, options);
  }

  const char *device = GetParam();
  Outcome *outcome = nullptr;
  int log = -1;
  std::string work; ///< a folder of the test's own
  std::map<std::string, int> problems;
};

TEST_P(Sweep, OpenAndClose_E05) { sweep(openAndClose); }
TEST_P(Sweep, UseDefault_E05) {
  Options options = onDevice();
  options.reaches.push_back({Fault::Thread, 2}); // what a process registers
  sweep(useDefault, options);
}
TEST_P(Sweep, ForkAndJoin_E05) { sweep(forkAndJoin); }
TEST_P(Sweep, Traced_E05) {
  Options options = onDevice();
  options.tells =
      false; // to the trace they only mean that something is missing
  sweep(traced, options);
}
TEST_P(Sweep, HostShared_E05) { sweep(hostShared); }
TEST_P(Sweep, FillsAndStrides_E05) { sweep(fillsAndStrides); }
TEST_P(Sweep, ManyStreams_E05) {
  Options options = onDevice();
  options.step = 3;
  sweep(manyStreams, options);
}
TEST_P(Sweep, Regions_E05) {
  Options options = onDevice();
  options.tells = false; // without a graph all goes on on streams
  sweep(regions, options);
}
TEST_P(Sweep, Modules_E05) { sweep(modules); }
TEST_P(Sweep, CallersStream_E05) { sweep(callersStream); }
TEST_P(Sweep, Registrations_E05) { sweep(registrations); }
TEST_P(Sweep, Tokens_E05) { sweep(tokens); }
TEST_P(Sweep, Staging_E05) {
  Options options = onDevice();
  options.mayRunOutOfMemory = false;
  options.step = 5;
  sweep(staging, options);
}
TEST_P(Sweep, ErrorsAndLeaks_E05) { sweep(errorsAndLeaks); }
TEST_P(Sweep, DevicesAndThreads_E05) { sweep(devicesAndThreads); }
TEST_P(Sweep, SharedRegistration_E05) { sweepSome(sharedRegistration); }
TEST_P(Sweep, Trimmed_E05) { sweepSome(trimmed); }
TEST_P(Sweep, KernelAssert_E05) { sweepSome(kernelAssert); }
TEST_P(Sweep, Captured_E05) { sweepSome(captured); }
TEST_P(Sweep, MeetingKernels_E05) {
  Options options = onDevice();
  if (!strncmp(device, "cpu", 3))
    options.reaches.push_back({Fault::Thread, 2});
  sweep(meetingKernels, options);
}
TEST_P(Sweep, Prepared_E05) {
  Options options = onDevice();
  options.reaches.push_back({Fault::Thread, 1});
  sweep(prepared, options);
}
TEST_P(Sweep, PtxCache_E05) {
  Options options = onDevice();
  options.reaches.push_back({Fault::File, 40});
  options.step = 3;
  sweep(ptxCache, options);
}
TEST_P(Sweep, DiskCache_E05) {
  Options options;
  options.reaches = {{Fault::File, 200}, {Fault::Allocation, 20}};
  options.step = 5;
  options.tells = false;
  sweep(diskCache, options);
}

INSTANTIATE_TEST_SUITE_P(Devices, Sweep,
                         testing::Values("cuda-on-mock", "hip-on-mock",
                                         "cpu-fair", "cpu-adversarial"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

} // namespace
