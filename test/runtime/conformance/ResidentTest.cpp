//===- ResidentTest.cpp - Constants and arguments that stay ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is uploaded once, when again, and that kernels and copies read it.
//===----------------------------------------------------------------------===//

#include "Fixture.h"
#include "gpuasync/Memory.h"
#include "gpuasync/Program.h"

#include <numeric>
#include <thread>

using namespace gpuasync_test;
using namespace gpuasync_test::detail;

namespace {

constexpr uint32_t count = 3 << 20; // more than one piece of staging
constexpr uint64_t bytes = count * sizeof(uint32_t);

/// A program with a constant array behind its kernels.
struct ConstantProgram : TestProgram {
  explicit ConstantProgram(const uint32_t *data, uint64_t hash) {
    image = {GPUASYNC_IMAGE_DATA, 0, "", data, bytes, {hash, hash}};
    modules[0] = module;
    modules[1] = {"w", nullptr, &image, 0, 1};
    program.modules = modules;
    program.moduleCount = 2;
    function.modules = indices;
    function.moduleCount = 2;
  }
  gpuasync_image image;
  gpuasync_module modules[2];
  const uint32_t indices[2] = {0, 1};
};

class Resident : public DeviceTest {
protected:
  void SetUp() override {
    DeviceTest::SetUp();
    std::iota(data.begin(), data.end(), 7u);
  }
  uint64_t once(uint64_t n = 1) const { return onCpu() ? 0 : n; }

  /// What is at `found`, by a copy and by a kernel.
  static void expect(FrameScope &frame, const void *found,
                     const std::vector<uint32_t> &wanted) {
    ASSERT_FALSE(frame.failed());
    gpuasync_stream *stream = frame.stream();
    std::vector<uint32_t> out(count);
    frame.copy(stream, out.data(), found, bytes);
    uint32_t last = 0;
    auto *x = frame.alloc(stream, 1);
    frame.launch(
        stream, AddUp, 1, 1,
        AddUpParams{x, static_cast<const uint32_t *>(found) + count - 1, 1, 5});
    frame.copy(stream, &last, x, sizeof(last));
    frame.dealloc(stream, x);
    ASSERT_EQ(frame.wait({stream}), 0);
    frame.destroy(stream);
    EXPECT_EQ(out, wanted);
    EXPECT_EQ(last, wanted.back() + 5);
  }
  void expectConstant(TestProgram &of) {
    FrameScope frame(of);
    expect(frame, gpuasync_constant(frame, 0, 1, SITE("constant")), data);
  }
  void expectResident(const std::vector<uint32_t> &wanted) {
    FrameScope frame(*program);
    expect(frame,
           gpuasync_resident(frame, 0, data.data(), bytes, SITE("resident")),
           wanted);
  }

  std::vector<uint32_t> data = std::vector<uint32_t>(count);
};
INSTANTIATE_OVER_DEVICES(Resident);

TEST_P(Resident, ConstantIsUploadedOnce_M10) {
  ConstantProgram constants(data.data(), 0x77);
  for (int i = 0; i < 20; ++i)
    expectConstant(constants);
  gpuasync_stats stats = readStats(context);
  EXPECT_EQ(stats.constantUploads, once());
  EXPECT_EQ(stats.uploadedBytes, once(bytes));
  EXPECT_EQ(stats.modules.created, 2u);
  EXPECT_EQ(gpuasync_leaks_list(context.get(), nullptr, nullptr), 0u);
  // Where the host's memory will do, nothing is copied.
  FrameScope frame(constants);
  void *found = gpuasync_constant(frame, 0, 1, SITE("constant"));
  EXPECT_EQ(found == data.data(), onCpu());
}

TEST_P(Resident, EqualConstantsOfProgramsAreOne_M10) {
  const std::vector<uint32_t> same = data;
  auto first = std::make_unique<ConstantProgram>(data.data(), 0x77);
  ConstantProgram second(same.data(), 0x77);
  expectConstant(*first);
  expectConstant(second);
  EXPECT_EQ(readStats(context).constantUploads, once());
  // One goes, with its memory; the other one's is still there.
  first.reset();
  std::fill(data.begin(), data.end(), 0);
  data = same;
  expectConstant(second);
  EXPECT_EQ(readStats(context).constantUploads, once());
}

TEST_P(Resident, ConstantGoesWithItsProgram_M10) {
  {
    FrameScope frame(*program); // what the context needs anyway
  }
  uint64_t before = readStats(context).modules.live;
  auto constants = std::make_unique<ConstantProgram>(data.data(), 0x77);
  expectConstant(*constants);
  EXPECT_GE(gpuasync_modules_release(context.get()), 2u);
  expectConstant(*constants); // uploaded again
  EXPECT_EQ(readStats(context).constantUploads, once(2));
  constants.reset();
  EXPECT_LE(readStats(context).modules.live, before);
  ASSERT_EQ(gpuasync_context_trim(context.get(), -1), nullptr);
  EXPECT_LT(readStats(context).deviceBytes, bytes);
}

TEST_P(Resident, ConstantThatIsNone_M10) {
  ConstantProgram constants(data.data(), 0x77);
  for (uint32_t index : {0u, 2u}) {
    FrameScope frame(constants);
    EXPECT_EQ(gpuasync_constant(frame, 0, index, SITE("constant")), nullptr);
    Status status = frame.leave();
    EXPECT_EQ(status.code(), uint32_t(GPUASYNC_NOT_FOUND));
    EXPECT_NE(std::string(status.message()).find("is no constant array"),
              std::string::npos);
  }
  // The function's table has to name it.
  ConstantProgram another(data.data(), 0x78);
  another.function.moduleCount = 1;
  FrameScope frame(another);
  EXPECT_EQ(gpuasync_constant(frame, 0, 1, SITE("constant")), nullptr);
  Status status = frame.leave();
  EXPECT_NE(std::string(status.message()).find("constant 'w' is not loaded"),
            std::string::npos)
      << status.message();
}

TEST_P(Resident, UploadedOnceUntilTheCallerSaysThatItChanged_M10) {
  const std::vector<uint32_t> old = data;
  for (int i = 0; i < 20; ++i)
    expectResident(old);
  EXPECT_EQ(readStats(context).residentUploads, once());
  uint64_t held = readStats(context).deviceBytes;
  data.back() = 1234;
  // Nobody has been told: the copy is what it was.
  expectResident(onCpu() ? data : old);
  // Of its last element only.
  gpuasync_host_memory_changed(&data.back(), 4);
  expectResident(data);
  EXPECT_EQ(readStats(context).residentUploads, once(2));
  gpuasync_host_memory_changed(data.data() + count, 4);
  gpuasync_host_memory_changed(data.data(), 0);
  expectResident(data);
  EXPECT_EQ(readStats(context).residentUploads, once(2));
  // What was given up is freed, not kept beside.
  EXPECT_EQ(readStats(context).deviceBytes, held);
  EXPECT_EQ(gpuasync_leaks_list(context.get(), nullptr, nullptr), 0u);
}

TEST_P(Resident, KnownMemoryThatIsForgottenHasChanged_M10) {
  gpuasync_status_free(
      gpuasync_host_memory_add(data.data(), bytes, "data", nullptr));
  expectResident(data);
  gpuasync_host_memory_remove(data.data());
  expectResident(data);
  EXPECT_EQ(readStats(context).residentUploads, once(2));
  gpuasync_status_free(
      gpuasync_host_memory_add(data.data(), bytes - 4, "data", nullptr));
  FrameScope frame(*program);
  gpuasync_resident(frame, 0, data.data(), bytes, SITE("resident"));
  EXPECT_EQ(frame.failed(), true);
  EXPECT_NE(std::string(frame.leave().message()).find("exceeds data"),
            std::string::npos);
  gpuasync_host_memory_remove(data.data());
}

TEST_P(Resident, FirstUseOnManyThreads_M10) {
  ConstantProgram constants(data.data(), 0x77);
  std::vector<std::thread> threads;
  std::atomic<int> ready{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      ContextScope own(context);
      for (++ready; ready < 8;)
        std::this_thread::yield();
      expectResident(data);
      expectConstant(constants);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(readStats(context).residentUploads, once());
  EXPECT_EQ(readStats(context).constantUploads, once());
}

/// One thread tells again and again that the memory has changed.
TEST_P(Resident, ChangesDuringCalls_M10) {
  std::atomic<bool> over{false};
  std::thread telling([&] {
    while (!over)
      gpuasync_host_memory_changed(data.data(), 1);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      ContextScope own(context);
      for (int round = 0; round < 5; ++round)
        expectResident(data);
    });
  for (std::thread &thread : threads)
    thread.join();
  over = true;
  telling.join();
}

TEST_P(Resident, OfMemoryThatTheDeviceReaches_M10) {
  FrameScope frame(*program);
  gpuasync_stream *stream = frame.stream();
  auto *x = frame.alloc(stream, count);
  EXPECT_EQ(gpuasync_resident(frame, 0, x, bytes, SITE("resident")), x);
  EXPECT_EQ(gpuasync_resident(frame, 0, nullptr, 0, SITE("resident")), nullptr);
  EXPECT_FALSE(frame.failed());
  frame.dealloc(stream, x);
  EXPECT_EQ(frame.wait({stream}), 0);
  EXPECT_EQ(readStats(context).residentUploads, 0u);
}

TEST_P(Resident, CopyIsNobodysToFree_M10) {
  if (onCpu())
    GTEST_SKIP() << "there is no copy";
  FrameScope frame(*program);
  void *found =
      gpuasync_resident(frame, 0, data.data(), bytes, SITE("resident"));
  gpuasync_dealloc(frame, 0, nullptr, found, SITE("dealloc"));
  Status status = frame.leave();
  EXPECT_NE(std::string(status.message()).find("was not allocated"),
            std::string::npos);
  expectResident(data);
}

} // namespace
