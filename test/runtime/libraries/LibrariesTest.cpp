//===- LibrariesTest.cpp - Libraries that the runtime opens on demand -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shared runtime, with such a library next to it, without one, and with a
// wrong one. Each body is a process of its own, whose loader finds the runtime
// in a folder that the test made.
//===----------------------------------------------------------------------===//

#include "FreshProcess.h"
#include "Kernels.h"
#include "gpuasync/Context.h"
#include "gpuasync/DiskCache.h"
#include "gpuasync/Program.h"
#include "gpuasync/Trace.h"
#include "mock/Mock.h"
#include "services/trace/Interface.h"

#include <gtest/gtest.h>

#include <atomic>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gpuasync_test;
using gpuasync::Context;
using gpuasync::ContextScope;
using gpuasync::Status;

namespace {

std::string programFolder;

/// A folder with the runtime library, and with others on demand.
class OwnLibraries : public testing::Test {
protected:
  void SetUp() override {
    char name[] = "/tmp/gpu-async-libraries-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    std::filesystem::copy_file(RUNTIME_LIBRARY,
                               folder + "/libgpuasync_runtime.so.0");
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Runs a body, with variables of its own ("NAME=value").
  int run(const char *body, const std::vector<std::string> &variables = {}) {
    fflush(nullptr);
    pid_t child = fork();
    if (child == 0) {
      unsetenv("GPU_ASYNC_CACHE");
      unsetenv("GPU_ASYNC_CACHE_DIR");
      setenv("LD_LIBRARY_PATH", folder.c_str(), 1);
      setenv("HOME", folder.c_str(), 1);
      unsetenv("XDG_CACHE_HOME");
      for (const char *each :
           {"GPU_ASYNC_TRACE", "GPU_ASYNC_RANGES", "NVTX_INJECTION64_PATH"})
        unsetenv(each);
      for (const std::string &each : variables)
        putenv(strdup(each.c_str()));
      execl("/proc/self/exe", "self", "--gtest_also_run_disabled_tests",
            (std::string("--gtest_filter=OwnLibrariesBody.DISABLED_") + body)
                .c_str(),
            nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return exitCodeOf(status);
  }
  size_t entries(const std::string &cache) {
    size_t count = 0;
    std::error_code none;
    for (auto &entry : std::filesystem::directory_iterator(cache, none))
      count += entry.path().filename().string().size() == 64;
    return count;
  }
  void addDiskCache(const char *name) {
    std::filesystem::copy_file(DISKCACHE_LIBRARY, folder + "/" + name);
  }

  void addTrace() {
    std::filesystem::copy_file(TRACE_LIBRARY, folder + "/libgpuasync_trace.so");
  }

  std::string folder;
};

gpuasync_digest someKey() {
  return gpuasync::KeyBuilder().add("part", uint64_t(1)).key();
}

bool keepsBytes(gpuasync_disk_cache *cache) {
  gpuasync_digest key = someKey();
  gpuasync::DiskEntry entry;
  return gpuasync_disk_cache_store(cache, &key, "bytes", 5) == 1 &&
         entry.lookup(cache, key) && entry.bytes() == "bytes";
}

/// Whether the library is open in this process.
bool isOpen(const char *name) {
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "re");
  char line[4500];
  while (maps && fgets(line, sizeof(line), maps))
    found |= strstr(line, name) != nullptr;
  if (maps)
    fclose(maps);
  return found;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

// Nothing is found or stored, sums are sums, and the default cache warns as the
// environment variable EXPECTED says.
TEST(OwnLibrariesBody, DISABLED_CacheIsAbsent) {
  gpuasync_disk_cache *cache = gpuasync_disk_cache_default();
  ASSERT_NE(cache, nullptr);
  EXPECT_STREQ(gpuasync_disk_cache_folder(cache), "");
  EXPECT_FALSE(keepsBytes(cache));
  gpuasync_digest key = someKey();
  // Of `printf '\4\0\0\0\0\0\0\0part\1\0\0\0\0\0\0\0001' | sha256sum`.
  EXPECT_EQ(key.bytes[0], 0x94);
  gpuasync_disk_entry entry;
  entry.data = &key;
  EXPECT_EQ(gpuasync_disk_cache_lookup(cache, &key, &entry), 0);
  EXPECT_EQ(entry.data, nullptr);
  gpuasync_disk_cache_stats stats;
  stats.misses = 1;
  EXPECT_EQ(gpuasync_disk_cache_stats_read(cache, &stats), nullptr);
  EXPECT_EQ(stats.misses, 0u);
  Status said(gpuasync_disk_cache_take_warning(cache));
  const char *expected = getenv("EXPECTED");
  if (expected)
    EXPECT_NE(strstr(said.message(), expected), nullptr) << said.message();
  else
    EXPECT_STREQ(said.message(), "");
  EXPECT_TRUE(Status(gpuasync_disk_cache_take_warning(cache)).ok());
  gpuasync_disk_cache_close(cache);
}

// An embedder's own cache is asked for by name.
TEST(OwnLibrariesBody, DISABLED_OwnCacheIsAbsent) {
  gpuasync_disk_cache *cache = gpuasync_disk_cache_open("/tmp", 1 << 20);
  ASSERT_NE(cache, nullptr);
  EXPECT_FALSE(keepsBytes(cache));
  Status said(gpuasync_disk_cache_take_warning(cache));
  EXPECT_EQ(said.code(), uint32_t(GPUASYNC_UNAVAILABLE));
  EXPECT_EQ(strstr(said.message(),
                   "the disk cache needs libgpuasync_diskcache.so next to the "
                   "runtime library: "),
            said.message());
  gpuasync_disk_cache_close(cache);
}

// The library is open from the first use on.
TEST(OwnLibrariesBody, DISABLED_CacheKeepsBytes) {
  EXPECT_FALSE(isOpen("libgpuasync_diskcache"));
  EXPECT_TRUE(keepsBytes(gpuasync_disk_cache_default()));
  EXPECT_TRUE(isOpen("libgpuasync_diskcache"));
}

// The sum of what is loaded is the same before the first use and after it.
TEST(OwnLibrariesBody, DISABLED_CodeHasOneSum) {
  gpuasync_digest before = gpuasync::KeyBuilder().addCode().key();
  gpuasync_disk_cache_default();
  gpuasync_digest after = gpuasync::KeyBuilder().addCode().key();
  EXPECT_EQ(memcmp(&before, &after, sizeof(before)), 0);
}

// The child is the first to use the cache.
TEST(OwnLibrariesBody, DISABLED_ForkedChildKeepsBytes) {
  pid_t child = fork();
  if (child == 0)
    _exit(keepsBytes(gpuasync_disk_cache_default()) ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(exitCodeOf(status), 0);
}

//===--- Traces

/// One launch, and the host waits for it.
void launchOnce(TestProgram &program) {
  gpuasync_frame frame;
  ASSERT_EQ(gpuasync_frame_enter(&frame, &program.function), 0);
  gpuasync_stream *stream = gpuasync_stream_create(&frame, 0, 0);
  gpuasync_stream_synchronize(&frame, &stream, 1, 0);
  gpuasync_stream_destroy(&frame, stream, GPUASYNC_STREAM_IDLE, 0);
  Status status(gpuasync_frame_leave(&frame));
  EXPECT_TRUE(status.ok()) << status.message();
}

/// One call on the CPU device, in a context that opens.
void useTheDevice() {
  TestProgram program;
  Context context;
  Status status = Context::open("cpu", context);
  ASSERT_TRUE(status.ok()) << status.message();
  ContextScope scope(context);
  launchOnce(program);
}

std::string textOf(const std::string &file) {
  std::string text;
  FILE *opened = fopen(file.c_str(), "r");
  char part[4096];
  while (size_t bytes = opened ? fread(part, 1, sizeof(part), opened) : 0)
    text.append(part, bytes);
  if (opened)
    fclose(opened);
  return text;
}

void ignoreRecord(void *count, const gpuasync_trace_record *) {
  ++*static_cast<uint32_t *>(count);
}

// Questions about traces, and ends of none, need no library.
TEST(OwnLibrariesBody, DISABLED_RunsWithoutATrace) {
  useTheDevice();
  EXPECT_EQ(gpuasync_profile_list(nullptr, nullptr), 0u);
  Status stopped(gpuasync_trace_stop());
  EXPECT_STREQ(stopped.message(),
               "there is no trace; begin one first (gpuasync_trace_start)");
  Status removed(gpuasync_trace_unsubscribe());
  EXPECT_STREQ(removed.message(), "there is no callback; set one first "
                                  "(gpuasync_trace_subscribe)");
  EXPECT_FALSE(isOpen("libgpuasync_trace"));
}

// The library is open from the first trace on, also in a context that is open
// already. The sum of what is loaded stays as it is.
TEST(OwnLibrariesBody, DISABLED_TracesOnDemand) {
  TestProgram program;
  Context context;
  Status status = Context::open("cpu", context);
  ASSERT_TRUE(status.ok()) << status.message();
  ContextScope scope(context);
  const gpuasync_digest before = gpuasync::KeyBuilder().addCode().key();
  const std::string file = getenv("HOME") + std::string("/on-demand.json");
  EXPECT_FALSE(isOpen("libgpuasync_trace"));
  status = Status(gpuasync_trace_start(file.c_str()));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(isOpen("libgpuasync_trace"));
  launchOnce(program);
  status = Status(gpuasync_trace_stop());
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_NE(textOf(file).find("\"testFunction\""), std::string::npos);
  const gpuasync_digest after = gpuasync::KeyBuilder().addCode().key();
  EXPECT_EQ(memcmp(&before, &after, sizeof(before)), 0);
}

// A callback opens it as well, before there is a context.
TEST(OwnLibrariesBody, DISABLED_CallsBackOnDemand) {
  uint32_t count = 0;
  Status status(gpuasync_trace_subscribe(ignoreRecord, &count));
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(isOpen("libgpuasync_trace"));
  useTheDevice();
  EXPECT_GT(count, 0u);
  status = Status(gpuasync_trace_unsubscribe());
  EXPECT_TRUE(status.ok()) << status.message();
}

// The environment asks for something of the library.
TEST(OwnLibrariesBody, DISABLED_OpensTheTraceFirst) {
  useTheDevice();
  EXPECT_TRUE(isOpen("libgpuasync_trace"));
}

// ... and the first context does not open, with the text in EXPECTED.
TEST(OwnLibrariesBody, DISABLED_RefusesTheContext) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    Context context;
    Status status = Context::open("cpu", context);
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_UNAVAILABLE));
    EXPECT_EQ(strstr(status.message(), getenv("EXPECTED")), status.message())
        << status.message();
  }
}

// A program asks for a trace and for a callback; each error is about it.
TEST(OwnLibrariesBody, DISABLED_CannotTrace) {
  uint32_t count = 0;
  Status started(gpuasync_trace_start(nullptr));
  Status subscribed(gpuasync_trace_subscribe(ignoreRecord, &count));
  for (const Status *each : {&started, &subscribed}) {
    EXPECT_EQ(each->code(), uint32_t(GPUASYNC_UNAVAILABLE));
    EXPECT_NE(strstr(each->message(), getenv("EXPECTED")), nullptr)
        << each->message();
  }
  EXPECT_EQ(strstr(started.message(), "gpuasync_trace_start"),
            started.message());
  EXPECT_EQ(strstr(subscribed.message(), "gpuasync_trace_subscribe"),
            subscribed.message());
  useTheDevice();
  EXPECT_EQ(gpuasync_profile_list(nullptr, nullptr), 0u);
}

// A profiler is in the process, and nobody asked for ranges: one warning.
TEST(OwnLibrariesBody, DISABLED_WarnsOfRanges) {
  testing::internal::CaptureStderr();
  useTheDevice();
  useTheDevice();
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string expected = getenv("EXPECTED");
  EXPECT_EQ(said.find(expected), 0u) << said;
  EXPECT_EQ(said.find(expected, 1), std::string::npos) << said;
}

std::function<void()> body;

std::string addressOfBody() {
  char address[32];
  snprintf(address, sizeof(address), "%llx",
           static_cast<unsigned long long>(
               reinterpret_cast<uintptr_t>(+[] { body(); })));
  return address;
}

/// Whether a thread of this process waits for something.
bool isAsleep(pid_t thread) {
  const std::string text =
      textOf("/proc/self/task/" + std::to_string(thread) + "/stat");
  const size_t end = text.rfind(')');
  return end != std::string::npos && text[end + 2] == 'S';
}

// Two threads are the first to use the runtime, which is to open the library.
// One of them is in dlopen. So the other waits for the loader, and must not
// have the first one wait for it. A hang ends the process.
TEST(OwnLibrariesBody, DISABLED_TracesBesideTheLoader) {
  alarm(60);
  std::atomic<pid_t> other{0};
  std::atomic<bool> held{false};
  body = [&] {
    held = true;
    while (!other || !isAsleep(other))
      std::this_thread::yield();
    useTheDevice();
  };
  setenv("GPUASYNC_TEST_INITIALISER", addressOfBody().c_str(), 1);
  std::thread holder([] {
    EXPECT_NE(dlopen(LOADER_LIBRARY, RTLD_NOW | RTLD_LOCAL), nullptr);
  });
  while (!held)
    std::this_thread::yield();
  other = pid_t(syscall(SYS_gettid));
  useTheDevice();
  holder.join();
  EXPECT_TRUE(isOpen("libgpuasync_trace"));
}

// Another thread is in dlopen while this one loads PTX, which the disk cache
// keeps. Its library was opened with the driver's, when no lock was held. A
// hang ends the process.
TEST(OwnLibrariesBody, DISABLED_LoadsBesideTheLoader) {
  alarm(60);
  const std::string cuda = programFolder + "/libmock_cuda.so";
  setenv("GPU_ASYNC_CUDA_LIBRARY", cuda.c_str(), 1);
  Mock mock(cuda.c_str());
  TestProgram program;
  mock.mock_kernels(program.cpu, NumKernels);
  gpuasync_device_list([](void *, const char *, const char *, const char *,
                          uint64_t, const char *) {},
                       nullptr);
  EXPECT_EQ(isOpen("libgpuasync_diskcache"), getenv("EXPECTED") != nullptr);
  Context context;
  Status status = Context::open("cuda", context);
  ASSERT_TRUE(status.ok()) << status.message();
  std::atomic<bool> held{false}, over{false};
  body = [&] {
    held = true;
    while (!over)
      std::this_thread::yield();
  };
  setenv("GPUASYNC_TEST_INITIALISER", addressOfBody().c_str(), 1);
  std::thread holder([] {
    EXPECT_NE(dlopen(LOADER_LIBRARY, RTLD_NOW | RTLD_LOCAL), nullptr);
  });
  while (!held)
    std::this_thread::yield();
  const gpuasync_program *programs[] = {&program.program};
  gpuasync_context *contexts[] = {context.get()};
  status = Status(gpuasync_prepare(programs, 1, contexts, 1, 1));
  EXPECT_TRUE(status.ok()) << status.message();
  over = true;
  holder.join();
  status = context.close();
  EXPECT_TRUE(status.ok()) << status.message();
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

TEST_F(OwnLibraries, WithoutTheDiskCacheNothingIsKept_C16) {
  EXPECT_EQ(run("CacheIsAbsent"), 0);
  const std::string said =
      "EXPECTED=the disk cache needs libgpuasync_diskcache.so next to the "
      "runtime library: ";
  EXPECT_EQ(run("CacheIsAbsent", {said, "GPU_ASYNC_CACHE=on"}), 0);
  EXPECT_EQ(run("CacheIsAbsent", {said, "GPU_ASYNC_CACHE_DIR=/tmp"}), 0);
  EXPECT_EQ(
      run("CacheIsAbsent", {"GPU_ASYNC_CACHE=off", "GPU_ASYNC_CACHE_DIR=/tmp"}),
      0);
  EXPECT_EQ(run("OwnCacheIsAbsent"), 0);
}

TEST_F(OwnLibraries, WrongDiskCacheIsNotUsed_C16) {
  std::filesystem::copy_file(CHECK_LIBRARY,
                             folder + "/libgpuasync_diskcache.so");
  EXPECT_EQ(run("CacheIsAbsent",
                {"EXPECTED=libgpuasync_diskcache.so is of another version",
                 "GPU_ASYNC_CACHE=on"}),
            0);
}

TEST_F(OwnLibraries, DiskCacheIsOpenedOnDemand_C16) {
  addDiskCache("libgpuasync_diskcache.so");
  EXPECT_EQ(run("CacheKeepsBytes"), 0);
  EXPECT_EQ(run("CodeHasOneSum"), 0);
  EXPECT_EQ(run("ForkedChildKeepsBytes"), 0);
  EXPECT_EQ(entries(folder + "/.cache/gpu-async"), 1u);
}

// As in the package for Python.
TEST_F(OwnLibraries, DiskCacheHasItsVersionInItsName) {
  addDiskCache("libgpuasync_diskcache.so.0");
  EXPECT_EQ(run("CacheKeepsBytes"), 0);
}

TEST_F(OwnLibraries, MachineCodeIsKeptBesideTheLoader_X11) {
  addDiskCache("libgpuasync_diskcache.so");
  EXPECT_EQ(run("LoadsBesideTheLoader", {"EXPECTED=open"}), 0);
  EXPECT_GE(entries(folder + "/.cache/gpu-async"), 1u);
}

TEST_F(OwnLibraries, WithoutTheDiskCacheImagesAreLoaded_C16) {
  EXPECT_EQ(run("LoadsBesideTheLoader"), 0);
  EXPECT_EQ(entries(folder + "/.cache/gpu-async"), 0u);
}

TEST_F(OwnLibraries, WithoutATraceItsLibraryStaysClosed) {
  EXPECT_EQ(run("RunsWithoutATrace"), 0);
  addTrace();
  EXPECT_EQ(run("RunsWithoutATrace"), 0);
  EXPECT_EQ(run("RunsWithoutATrace", {"GPU_ASYNC_RANGES=auto"}), 0);
  EXPECT_EQ(run("RunsWithoutATrace",
                {"GPU_ASYNC_RANGES=off", "NVTX_INJECTION64_PATH=/nowhere.so"}),
            0);
}

TEST_F(OwnLibraries, TracesAreOpenedOnDemand) {
  addTrace();
  addDiskCache("libgpuasync_diskcache.so");
  EXPECT_EQ(run("TracesOnDemand"), 0);
  EXPECT_EQ(run("CallsBackOnDemand"), 0);
  const std::string file = folder + "/trace.json";
  EXPECT_EQ(run("OpensTheTraceFirst", {"GPU_ASYNC_TRACE=" + file}), 0);
  const std::string text = textOf(file);
  EXPECT_NE(text.find("\"testFunction\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"otherData\""), std::string::npos) << text;
  EXPECT_EQ(run("OpensTheTraceFirst", {"NVTX_INJECTION64_PATH=" +
                                       programFolder + "/libfake_nvtx.so"}),
            0);
  EXPECT_EQ(run("OpensTheTraceFirst",
                {"GPU_ASYNC_RANGES=" + programFolder + "/libfake_roctx.so"}),
            0);
}

TEST_F(OwnLibraries, TracesAreOpenedBesideTheLoader_X11) {
  addTrace();
  EXPECT_EQ(run("TracesBesideTheLoader",
                {"GPU_ASYNC_TRACE=" + folder + "/trace.json"}),
            0);
}

TEST_F(OwnLibraries, AMissingTraceIsReported) {
  const std::string needs =
      " needs libgpuasync_trace.so next to the runtime library: " + folder +
      "/libgpuasync_trace.so: cannot open shared object file";
  EXPECT_EQ(run("RefusesTheContext", {"GPU_ASYNC_TRACE=trace.json",
                                      "EXPECTED=GPU_ASYNC_TRACE" + needs}),
            0);
  EXPECT_EQ(run("RefusesTheContext",
                {"GPU_ASYNC_RANGES=nvtx", "EXPECTED=GPU_ASYNC_RANGES" + needs}),
            0);
  EXPECT_EQ(run("CannotTrace", {"EXPECTED=" + needs}), 0);
  EXPECT_EQ(
      run("WarnsOfRanges",
          {"NVTX_INJECTION64_PATH=" + programFolder + "/libfake_nvtx.so",
           "EXPECTED=gpu-async: warning: a profiler in this process" + needs}),
      0);
}

TEST_F(OwnLibraries, AWrongTraceIsReported) {
  const std::string file = folder + "/libgpuasync_trace.so";
  std::filesystem::copy_file(CHECK_LIBRARY, file);
  EXPECT_EQ(run("CannotTrace",
                {"EXPECTED=: libgpuasync_trace.so is of another version; "}),
            0);
  std::filesystem::remove(file);
  std::filesystem::copy_file(programFolder + "/libother_trace.so", file);
  const std::string expected =
      ": libgpuasync_trace.so is of another version than the runtime library; "
      "install both from one package";
  EXPECT_EQ(run("CannotTrace", {"EXPECTED=" + expected}), 0);
  EXPECT_EQ(run("RefusesTheContext", {"GPU_ASYNC_TRACE=trace.json",
                                      "EXPECTED=GPU_ASYNC_TRACE" + expected}),
            0);
}

// The library itself refuses a runtime whose classes it does not know.
TEST(TraceVersions, DifferInEachPart) {
  void *library = dlopen(TRACE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  auto *make = reinterpret_cast<gpuasync::MakeTraceService *>(
      dlsym(library, "gpuasyncMakeTraceService"));
  ASSERT_NE(make, nullptr);
  using gpuasync::TraceVersion;
  for (size_t at = 0; at < sizeof(TraceVersion); at += sizeof(uint32_t)) {
    gpuasync::TraceHost host = {};
    ++*reinterpret_cast<uint32_t *>(reinterpret_cast<char *>(&host.version) +
                                    at);
    EXPECT_EQ(make(host), nullptr) << at;
  }
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  programFolder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  return RUN_ALL_TESTS();
}
