//===- MemoryTest.cpp - Allocations under the checker ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels, copies and host code may touch, and when; what is kept of freed
// memory; several contexts.
//===----------------------------------------------------------------------===//

#include "gpuasync/Memory.h"
#include "Checked.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

using namespace gpuasync_test;

namespace {

/// Runs a kernel of one thread to its end.
void runOne(CheckedFrame &frame, gpuasync_stream *stream, const Body &body) {
  frame.launch(stream, OP("gpu_async.launch @k::@f"), body);
  frame.wait(stream);
}

TEST_F(CheckTest, AccessOutsideOfItsAllocationDoesNotHappen) {
  char *x = nullptr, *y = nullptr;
  uint32_t allocated = OP("gpu_async.alloc");
  bool before = true, beyond = true, far = true, shared = true, whole = false;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *workgroup) {
    before = access(x - 1, 1, checkRead, 100, 0, x);
    beyond = access(x + 14, 4, checkWrite, 101, 0, x);
    far = access(y, 4, checkRead, 102, 0, x);
    shared = access(workgroup + CheckedProgram::workgroupBytes - 2, 4,
                    checkWrite, 103, 0, workgroup);
    whole = access(x, 16, checkWrite, 104, 0, x);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  x = frame.alloc(s, 16, allocated);
  y = frame.alloc(s, 16);
  runOne(frame, s, body);
  EXPECT_FALSE(before || beyond || far || shared);
  EXPECT_TRUE(whole);
  std::vector<std::string> all = take();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].find("kernel.mlir:100:5: error: out of bounds: read of 1 "
                        "bytes at byte -1 of 16 bytes of device memory, in "
                        "block (0, 0, 0), thread (0, 0, 0) of kernel "
                        "@k::@f\nhost.mlir:" +
                        std::to_string(lineOf(allocated)) +
                        ":3: note: allocated here\n"),
            0u)
      << all[0];
  EXPECT_EQ(all[1].find("kernel.mlir:101:5: error: out of bounds: write of 4 "
                        "bytes at byte 14 of 16 bytes"),
            0u)
      << all[1];
  EXPECT_EQ(all[2].find("kernel.mlir:102:5: error: out of bounds"), 0u);
  EXPECT_EQ(all[3].find("kernel.mlir:103:5: error: out of bounds: write of 4 "
                        "bytes at byte 1022 of the block's 1024 bytes of "
                        "workgroup memory"),
            0u)
      << all[3];
  frame.dealloc(s, x);
  frame.dealloc(s, y);
  frame.destroy(s);
}

/// A strided copy or fill lies in the memory of its first element.
TEST_F(CheckTest, StridesThatLeaveTheirMemoryAreNamed) {
  auto *fill = STAND_IN(gpuasync_memset_strided);
  auto *copy = STAND_IN(gpuasync_memcpy_strided);
  char given[64] = {}, own[64] = {};
  gpuasync_status_free(
      gpuasync_host_memory_add(given, 64, "argument 0", nullptr));
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  // Both have neighbours.
  char *x[3];
  for (char *&part : x)
    part = frame.alloc(s, 256);
  const char one = 1;
  const int64_t sizes[] = {3, 2}, dense[] = {2, 1};
  // One place is reported once.
  unsigned line = 1000;
  auto site = [&](const char *op) {
    return testSite("host.mlir", op, ++line, 3);
  };
  for (char *device : {x[0], x[1]})
    for (int64_t stride : {-40, 124}) {
      const int64_t strides[] = {stride, 1};
      const std::string at = std::to_string(2 * std::abs(stride) + 2) +
                             " bytes at byte " + (stride < 0 ? "-72" : "8") +
                             " of 256 bytes of device memory";
      fill(&frame.frame, s, device + 8, strides, sizes, 2, &one, 1,
           site("memset"));
      EXPECT_NE(takeOne().find("memset writes " + at), std::string::npos);
      copy(&frame.frame, s, device + 8, strides, own, dense, sizes, 2, 1,
           site("memcpy"));
      EXPECT_NE(takeOne().find("memcpy writes " + at), std::string::npos);
      copy(&frame.frame, s, own, dense, device + 8, strides, sizes, 2, 1,
           site("memcpy"));
      EXPECT_NE(takeOne().find("memcpy reads " + at), std::string::npos);
    }
  const int64_t back[] = {-20, 1};
  fill(&frame.frame, s, given + 8, back, sizes, 2, &one, 1, OP("memset"));
  EXPECT_NE(takeOne().find("writes 42 bytes at byte -32 of 64 bytes of "
                           "argument 0"),
            std::string::npos);
  // Of a registered part the rest is the host's.
  frame.hostRegister(given + 16, 32);
  fill(&frame.frame, s, given + 60, back, sizes, 2, &one, 1, OP("memset"));
  fill(&frame.frame, s, given + 44, back, sizes, 2, &one, 1, OP("memset"));
  EXPECT_EQ(take(), std::vector<std::string>());
  fill(&frame.frame, s, given + 30, back, sizes, 2, &one, 1, OP("memset"));
  EXPECT_NE(takeOne().find("at byte -10 of 64 bytes of argument 0"),
            std::string::npos);
  frame.wait(s);
  frame.hostUnregister(given + 16);
  gpuasync_host_memory_remove(given);
  for (char *part : x)
    frame.dealloc(s, part);
  frame.destroy(s);
}

TEST_F(CheckTest, UseAfterFreeAndSecondFreeAreNamed) {
  char *x = nullptr;
  bool happened = true;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    happened = access(x, 4, checkRead, 110);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  x = frame.alloc(s, 16);
  uint32_t freed = OP("gpu_async.dealloc");
  frame.dealloc(s, x, freed);
  runOne(frame, s, body);
  EXPECT_FALSE(happened);
  std::string there =
      "host.mlir:" + std::to_string(lineOf(freed)) + ":3: note: ";
  std::string report = takeOne();
  EXPECT_EQ(report.find("kernel.mlir:110:5: error: use of freed device memory: "
                        "read of 4 bytes in block"),
            0u)
      << report;
  EXPECT_NE(report.find(there + "freed here"), std::string::npos);
  char host[16];
  frame.copy(s, host, x, 16);
  EXPECT_NE(takeOne().find("error: use of freed device memory"),
            std::string::npos);
  frame.dealloc(s, x);
  report = takeOne();
  EXPECT_NE(report.find("error: memory is freed a second time"),
            std::string::npos);
  EXPECT_NE(report.find(there + "it was freed here"), std::string::npos);
  frame.destroy(s);
}

TEST_F(CheckTest, TheNewestFreedMemoryIsWhatIsKept) {
  constexpr uint64_t bytes = 4u << 20;
  char *x = nullptr;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    access(x, 4, checkRead, 115);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  for (int i = 0; i < 10; ++i) {
    x = frame.alloc(s, bytes);
    frame.wait(s);
    frame.dealloc(s, x);
    frame.wait(s);
  }
  // Nothing else may lie there now.
  char *y = frame.alloc(s, bytes);
  EXPECT_NE(x, y);
  runOne(frame, s, body);
  EXPECT_EQ(takeOne().find("kernel.mlir:115:5: error: use of freed device "
                           "memory"),
            0u);
  frame.dealloc(s, y);
  frame.destroy(s);
}

TEST_F(CheckTest, UseThatOnlyChancePutsBeforeTheFreeIsNamed) {
  char *x = nullptr;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    access(x, 4, checkWrite, 120);
  };
  CheckedFrame frame(program);
  gpuasync_stream *a = frame.stream(), *b = frame.stream();
  x = frame.alloc(a, 16);
  frame.order(a, b);
  frame.launch(b, OP("gpu_async.launch @k::@f"), body);
  frame.dealloc(a, x, OP("gpu_async.dealloc"));
  frame.wait(a);
  frame.wait(b);
  std::string report = takeOne();
  EXPECT_NE(report.find("kernel.mlir:120:5"), std::string::npos) << report;
  frame.destroy(a);
  frame.destroy(b);
}

TEST_F(CheckTest, HostMemoryIsTheKernelsWhileItIsRegistered) {
  std::vector<char> host(64);
  bool happened = false;
  unsigned line = 130;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    happened = access(host.data() + 8, 4, checkWrite, line);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  runOne(frame, s, body);
  EXPECT_FALSE(happened);
  EXPECT_EQ(takeOne().find("kernel.mlir:130:5: error: kernel touches host "
                           "memory that is neither registered nor host-shared: "
                           "write of 4 bytes at 0x"),
            0u);
  // Twice registered, it stays so until both have ended, also where the second
  // one has more bytes.
  for (uint64_t first : {64, 4}) {
    frame.hostRegister(host.data(), first);
    frame.hostRegister(host.data(), 64);
    runOne(frame, s, body);
    EXPECT_TRUE(happened);
    frame.hostUnregister(host.data());
    runOne(frame, s, body);
    EXPECT_TRUE(happened);
    EXPECT_EQ(take(), std::vector<std::string>());
    frame.hostUnregister(host.data());
  }
  line = 131;
  runOne(frame, s, body);
  EXPECT_FALSE(happened);
  EXPECT_EQ(takeOne().find("kernel.mlir:131:5: error: kernel touches host"),
            0u);
  Body null = [&](const gpuasync_cpu_block_ctx *, char *) {
    happened = access(nullptr, 4, checkRead, 132);
  };
  runOne(frame, s, null);
  EXPECT_FALSE(happened);
  EXPECT_EQ(takeOne().find("kernel.mlir:132:5: error: null pointer: read"), 0u);
  frame.destroy(s);
}

TEST_F(CheckTest, HostCodeMayTouchHostSharedMemoryOnly) {
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  char *shared = frame.alloc(s, 16, OP("alloc"), GPUASYNC_ALLOC_HOST_SHARED);
  char *device = frame.alloc(s, 16), own[16];
  hostAccess(shared, 4, checkWrite, 140);
  hostAccess(own, 4, checkWrite, 141);
  EXPECT_EQ(take(), std::vector<std::string>());
  hostAccess(device + 12, 4, checkWrite, 142);
  EXPECT_EQ(takeOne().find("kernel.mlir:142:5: error: host code touches device "
                           "memory: write of 4 bytes in @f\n"),
            0u);
  frame.dealloc(s, shared);
  frame.dealloc(s, device);
  frame.destroy(s);
}

/// What host code has a pointer to it may touch, and no more.
TEST_F(CheckTest, HostCodeStaysInItsMemory) {
  auto *allocate = STAND_IN(gpuasync_check_host_alloc);
  auto *release = STAND_IN(gpuasync_check_host_free);
  const char *site = "kernel.mlir:200:5\nmemref.alloc\n@f";
  alignas(8) char own[64] = {}, given[16] = {};
  gpuasync_status_free(
      gpuasync_host_memory_add(given, 16, "argument 0", nullptr));
  allocate(own + 16, 16, site);
  EXPECT_TRUE(hostAccess(own + 16, 16, checkWrite, 201));
  EXPECT_TRUE(hostAccess(own + 31, 1, checkRead, 201, own + 16));
  EXPECT_TRUE(hostAccess(own, 16, checkRead, 201));      // unknown memory
  EXPECT_TRUE(hostAccess(own + 32, 16, checkRead, 201)); // and behind it
  EXPECT_EQ(take(), std::vector<std::string>());

  EXPECT_FALSE(hostAccess(reinterpret_cast<char *>(8), 4, checkRead, 202));
  EXPECT_EQ(takeOne(),
            "kernel.mlir:202:5: error: null pointer: read of 4 bytes in @f\n");
  EXPECT_FALSE(hostAccess(own + 30, 4, checkWrite, 202, own + 16));
  EXPECT_EQ(takeOne(),
            "kernel.mlir:202:5: error: out of bounds: write of 4 bytes at byte "
            "14 of 16 bytes of host memory in @f\n"
            "kernel.mlir:200:5: note: allocated here\n");
  EXPECT_FALSE(hostAccess(own + 40, 4, checkRead, 203, own + 16));
  EXPECT_NE(takeOne().find("read of 4 bytes at byte 24 of 16"),
            std::string::npos);
  EXPECT_FALSE(hostAccess(own + 15, 1, checkRead, 204, own + 16));
  EXPECT_NE(takeOne().find("at byte -1 of 16"), std::string::npos);
  // Without a pointer to it, where it begins.
  EXPECT_FALSE(hostAccess(own + 12, 8, checkRead, 205));
  EXPECT_NE(takeOne().find("read of 8 bytes at byte -4 of 16"),
            std::string::npos);
  EXPECT_FALSE(hostAccess(given, 17, checkRead, 206));
  EXPECT_NE(takeOne().find("17 bytes at byte 0 of 16 bytes of argument 0 in"),
            std::string::npos);
  auto *pointer = STAND_IN(gpuasync_check_host_pointer);
  void *elsewhere = pointer(own + 32, own + 16, 8 << 8 | checkRead, site);
  ASSERT_NE(elsewhere, own + 32);
  EXPECT_EQ(*static_cast<uint64_t *>(elsewhere), 0u);
  take();

  // It is freed by who allocated it; then the address means nothing.
  EXPECT_EQ(release(own + 16, site), own + 16);
  EXPECT_TRUE(hostAccess(own + 40, 4, checkRead, 207, own + 16));
  EXPECT_EQ(release(given, site), nullptr);
  EXPECT_EQ(takeOne(), "kernel.mlir:200:5: error: host code frees what it was "
                       "given: argument 0 in @f\n");
  gpuasync_host_memory_remove(given);
  EXPECT_EQ(release(nullptr, site), nullptr);

  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  char *shared = frame.alloc(s, 16, OP("alloc"), GPUASYNC_ALLOC_HOST_SHARED);
  EXPECT_FALSE(hostAccess(shared + 14, 4, checkWrite, 208));
  EXPECT_NE(takeOne().find("at byte 14 of 16 bytes of host-shared memory"),
            std::string::npos);
  EXPECT_EQ(release(shared, site), nullptr);
  EXPECT_NE(takeOne().find("host code frees host-shared memory as if it were"),
            std::string::npos);
  frame.dealloc(s, shared);
  EXPECT_FALSE(hostAccess(shared, 4, checkRead, 209));
  EXPECT_EQ(takeOne().find("kernel.mlir:209:5: error: use of freed host-shared "
                           "memory: read of 4 bytes in @f\n"),
            0u);
  frame.destroy(s);
}

TEST_F(CheckTest, WorkgroupMemoryIsUninitialisedInEachBlock) {
  Body body = [&](const gpuasync_cpu_block_ctx *ctx, char *shared) {
    access(shared, 4, checkWrite, 150);
    if (ctx->blockIdx[0] == 0)
      access(shared + 8, 8, checkWrite, 151);
    access(shared, 4, checkRead, 152);
    access(shared + 8, 8, checkRead, 153);
    // Half of it was written.
    access(shared, 8, checkRead, 154);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  frame.launch(s, OP("gpu_async.launch @k::@f"), body, 2);
  frame.wait(s);
  std::vector<std::string> all = take();
  ASSERT_EQ(all.size(), 2u);
  for (unsigned line : {153, 154}) {
    std::string start = "kernel.mlir:" + std::to_string(line) +
                        ":5: error: read of uninitialised workgroup memory";
    EXPECT_TRUE(all[0].find(start) == 0 || all[1].find(start) == 0) << line;
  }
  frame.destroy(s);
}

TEST_F(CheckTest, TheSamePlaceIsReportedOnceAndTwentyAreShown) {
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    for (unsigned again = 0; again < 100; ++again)
      for (unsigned line = 200; line < 225; ++line)
        access(nullptr, 4, checkRead, line);
  };
  CheckedFrame frame(program);
  gpuasync_stream *s = frame.stream();
  frame.launch(s, OP("gpu_async.launch @k::@f"), body, 4);
  frame.wait(s);
  frame.destroy(s);
  EXPECT_EQ(take().size(), 20u);
  uint64_t unprinted = 0;
  EXPECT_EQ(gpuasync_check_finish(&unprinted), 25u);
  EXPECT_EQ(unprinted, 5u);
}

TEST_F(CheckTest, ThreadsOfTheHostCheckAtTheSameTime) {
  constexpr unsigned count = 4;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 20; ++i) {
        char *x = nullptr;
        Body right = [&](const gpuasync_cpu_block_ctx *ctx, char *shared) {
          char *mine = x + 64 * ctx->blockIdx[0];
          access(mine, 8, checkWrite, 300, 0, x);
          access(mine, 8, checkRead, 301, 0, x);
          access(shared, 8, checkWrite, 302, 0);
          access(shared, 8, checkRead, 303, 0);
          access(x + 1020, 4, checkAtomic, 304, 0, x);
        };
        Body wrong = [&](const gpuasync_cpu_block_ctx *, char *) {
          access(x + 1024, 4, checkWrite, 310 + t, 0, x);
        };
        CheckedFrame frame(program);
        gpuasync_stream *s = frame.stream();
        x = frame.alloc(s, 1024);
        frame.fill(s, x, 1024);
        frame.launch(s, OP("gpu_async.launch @k::@f"), right, 15);
        frame.launch(s, OP("gpu_async.launch @k::@f"), wrong);
        frame.dealloc(s, x);
        frame.wait(s);
        frame.destroy(s);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  std::vector<std::string> all = take();
  EXPECT_EQ(all.size(), count);
  for (const std::string &report : all)
    EXPECT_EQ(report.find("kernel.mlir:31"), 0u) << report;
}

TEST_F(CheckTest, MemoryIsFreedInItsOwnContext) {
  gpuasync::Context contexts[2];
  for (gpuasync::Context &context : contexts)
    ASSERT_STREQ(gpuasync::Context::open("cpu", context).message(), "");
  // More than is kept, so that room is made for memory of one context when the
  // oldest is the other one's.
  for (int i = 0; i < 12; ++i) {
    gpuasync::ContextScope scope(contexts[i % 3 == 0]);
    CheckedFrame frame(program);
    gpuasync_stream *s = frame.stream();
    char *x = frame.alloc(s, 6u << 20);
    ASSERT_NE(x, nullptr) << i << ": " << frame.leave();
    frame.fill(s, x, 6u << 20);
    frame.dealloc(s, x);
    frame.wait(s);
    frame.destroy(s);
    EXPECT_EQ(frame.leave(), "") << i;
  }
  gpuasync_check_finish(nullptr);
  for (gpuasync::Context &context : contexts)
    EXPECT_STREQ(context.close().message(), "");
}

TEST_F(CheckTest, MemoryOfAFrameThatEndedWellOutlivesAnotherThatFails) {
  char *x = nullptr;
  bool happened = false;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    happened = access(x, 16, checkWrite, 160);
  };
  // The same bytes of the stack hold all three frames.
  for (int i = 0; i < 3; ++i) {
    CheckedFrame frame(program);
    gpuasync_stream *s = frame.stream();
    if (i == 0)
      x = frame.alloc(s, 16);
    if (i == 1) {
      frame.alloc(s, uint64_t(1) << 40);
      EXPECT_NE(frame.leave(), "");
      continue;
    }
    if (i == 2) {
      runOne(frame, s, body);
      EXPECT_TRUE(happened);
      frame.dealloc(s, x);
    }
    frame.wait(s);
    frame.destroy(s);
  }
}

static uint64_t residentBytes() {
  unsigned long total = 0, resident = 0;
  if (FILE *file = fopen("/proc/self/statm", "r")) {
    if (fscanf(file, "%lu %lu", &total, &resident) != 2)
      resident = 0;
    fclose(file);
  }
  return resident * static_cast<uint64_t>(getpagesize());
}

TEST_F(CheckTest, WhatIsKnownOfFreedMemoryIsGivenBack) {
#if defined(__SANITIZE_THREAD__) ||                                            \
    (defined(__has_feature) && __has_feature(thread_sanitizer))
  GTEST_SKIP() << "ThreadSanitizer's own memory counts too";
#endif
  constexpr uint64_t bytes = 4u << 20;
  char *x = nullptr;
  Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
    for (uint64_t at = 0; at < bytes; at += 512)
      access(x + at, 8, checkWrite, 170, 0, x);
  };
  uint64_t before = residentBytes();
  for (int i = 0; i < 50; ++i) {
    CheckedFrame frame(program);
    gpuasync_stream *s = frame.stream();
    x = frame.alloc(s, bytes);
    frame.launch(s, OP("gpu_async.launch @k::@f"), body);
    frame.dealloc(s, x);
    frame.wait(s);
    frame.destroy(s);
  }
  // 1.6 GB in all, of which four or five buffers' part is alive at a time.
  EXPECT_LT(residentBytes() - before, uint64_t(600) << 20);
}

TEST_F(CheckTest, WithoutMemoryForItselfItGoesOnAndSaysSo) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||           \
    (defined(__has_feature) &&                                                 \
     (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer)))
  GTEST_SKIP() << "sanitizers do not run with limited address space";
#else
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto child = [&] {
    char *x = nullptr;
    bool inside = false, beyond = true;
    Body body = [&](const gpuasync_cpu_block_ctx *, char *) {
      inside = access(x, 4, checkWrite, 180, 0, x) &&
               access(x, 4, checkWrite, 181, 1, x);
      beyond = access(x + 64, 4, checkWrite, 182, 0, x);
    };
    {
      CheckedFrame frame(program);
      gpuasync_stream *s = frame.stream();
      x = frame.alloc(s, 64);
      unsigned long pages = 0;
      FILE *file = fopen("/proc/self/statm", "r");
      if (!file || fscanf(file, "%lu", &pages) != 1)
        abort();
      rlimit limit = {pages * static_cast<uint64_t>(getpagesize()) +
                          (24u << 20),
                      RLIM_INFINITY};
      setrlimit(RLIMIT_AS, &limit);
      runOne(frame, s, body);
      frame.dealloc(s, x);
      frame.destroy(s);
    }
    for (const std::string &report : take())
      fputs(report.c_str(), stderr);
    _exit(inside && !beyond ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0),
              "warning: --check: out of memory.*races are "
              "missed\nkernel.mlir:182:5: error: out of bounds");
#endif
}

} // namespace
