//===- Checked.cpp - Programs under the checker ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See Checked.h.
//===----------------------------------------------------------------------===//

#include "Checked.h"

#include "gpuasync/Status.h"

#include <map>

using namespace gpuasync_test;

static void runBody(const gpuasync_cpu_block_ctx *ctx, const void *params,
                    void *workgroup) {
  (**static_cast<const Body *const *>(params))(ctx,
                                               static_cast<char *>(workgroup));
}

CheckedProgram::CheckedProgram() {
  cpu = cpuKernel("f", runBody, /*flags=*/0, workgroupBytes);
  kernel = {"f", &paramOffset, &paramSize, 1, 8};
  image = {GPUASYNC_IMAGE_CPU, 0, "", &cpu, sizeof(cpu), {0, 0}};
  module = {"k", &kernel, &image, 1, 1};
  program = {
      GPUASYNC_ABI_VERSION, 1, "checked", &module, &slot, testSites.data(),
      maxTestSites,         0};
  function = {"main", "host.mlir", 1, 1, &program, &moduleIndex, 1, 0, 1, 0};
}

std::string CheckedFrame::leave() {
  open = false;
  gpuasync::Status status(STAND_IN(gpuasync_frame_leave)(&frame));
  return status.message();
}

void CheckedFrame::launch(gpuasync_stream *stream, uint32_t site,
                          const Body &body, int64_t grid, int64_t block) {
  alignas(16) const Body *param = &body;
  gpuasync_launch_config launch = {
      {grid, 1, 1}, {block, 1, 1}, {1, 1, 1}, 0, 0, sizeof(param), &param};
  STAND_IN(gpuasync_launch)(&frame, stream, site, &launch);
}

void CheckedFrame::order(gpuasync_stream *first, gpuasync_stream *second) {
  gpuasync_event *event =
      STAND_IN(gpuasync_event_record)(&frame, first, OP("record"));
  STAND_IN(gpuasync_stream_wait)(&frame, second, event, OP("stream.wait"));
  STAND_IN(gpuasync_event_destroy)(&frame, event, OP("event.destroy"));
}

/// The text of a place, which lives as long as the process, as a program's do.
static const char *siteOf(unsigned line, const char *what) {
  static std::mutex mutex;
  static std::map<std::pair<unsigned, std::string>, std::string> texts;
  std::lock_guard<std::mutex> lock(mutex);
  std::string &text = texts[{line, what}];
  if (text.empty())
    text = "kernel.mlir:" + std::to_string(line) + ":5\n" + what + "\n@f";
  return text.c_str();
}

bool gpuasync_test::access(const void *memory, uint64_t bytes, unsigned flags,
                           unsigned line, uint32_t thread, const void *base) {
  return STAND_IN(gpuasync_check_access)(
             const_cast<void *>(memory),
             const_cast<void *>(base ? base : memory), bytes << 8 | flags,
             siteOf(line, "memref.load"), thread) != nullptr;
}

void gpuasync_test::barrier(unsigned line, uint32_t thread) {
  STAND_IN(gpuasync_check_arrive)(siteOf(line, "gpu.barrier"), thread);
}

bool gpuasync_test::hostAccess(const void *memory, uint64_t bytes,
                               unsigned flags, unsigned line,
                               const void *base) {
  return STAND_IN(gpuasync_check_host)(const_cast<void *>(memory),
                                       const_cast<void *>(base ? base : memory),
                                       bytes << 8 | flags,
                                       siteOf(line, "memref.load")) != nullptr;
}

void CheckTest::SetUp() {
  gpuasync_check_start(
      [](void *user, const char *text) {
        auto *test = static_cast<CheckTest *>(user);
        std::lock_guard<std::mutex> lock(test->mutex);
        test->reports.push_back(text);
      },
      this);
}

void CheckTest::TearDown() {
  EXPECT_EQ(take(), std::vector<std::string>());
  gpuasync_check_finish(nullptr);
}

std::vector<std::string> CheckTest::take() {
  std::lock_guard<std::mutex> lock(mutex);
  return std::move(reports);
}

std::string CheckTest::takeOne() {
  std::vector<std::string> all = take();
  EXPECT_EQ(all.size(), 1u);
  for (size_t i = 1; i < all.size(); ++i)
    ADD_FAILURE() << all[i];
  return all.empty() ? "" : all[0];
}
