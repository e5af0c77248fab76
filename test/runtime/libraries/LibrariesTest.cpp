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
#include "mock/Mock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <stdlib.h>
#include <string.h>
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

std::function<void()> body;

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
  char address[32];
  snprintf(address, sizeof(address), "%llx",
           static_cast<unsigned long long>(
               reinterpret_cast<uintptr_t>(+[] { body(); })));
  setenv("GPUASYNC_TEST_INITIALISER", address, 1);
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

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  programFolder =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  return RUN_ALL_TESTS();
}
